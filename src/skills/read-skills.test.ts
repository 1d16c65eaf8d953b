import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { formatComplaint } from '../config/complaint.ts';
import { describeSkill } from '../core/resources/skill.ts';
import { defineSkill } from './define-skill.ts';
import { readSkills, type SkillsReading } from './read-skills.ts';

const good = (name: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\nDo it.\n`;

function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-skills-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

function complaintsOf({ complaints }: SkillsReading, folder: string): string[] {
  return complaints.map((one) => formatComplaint(one).replaceAll(`${folder}/`, ''));
}

test('each folder with a SKILL.md is a skill, with all its files, their sizes and their digests', async () => {
  const folder = folderOf({
    'README.md': 'Not a skill.',
    'a/SKILL.md': good('a'),
    'a/docs/größe 1.md': 'x',
    'a/.hidden': 'x',
    'a/.git/config': 'x',
    'a/inner/SKILL.md': good('inner'),
    'deep/down/b/SKILL.md': good('b'),
    'deep/down/b/c.bin': Uint8Array.of(0xff, 0),
  });
  const { skills, complaints, broken } = await readSkills(folder);
  expect([complaints, broken]).toEqual([[], []]);
  const [a, inner, b] = skills.map(describeSkill);
  expect(a).toEqual({
    uri: 'skill://a/SKILL.md',
    frontmatter: { name: 'a', description: 'Does a.' },
    resources: [
      { uri: 'skill://a/SKILL.md', size: 44, digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
      {
        uri: 'skill://a/docs/gr%C3%B6%C3%9Fe%201.md',
        size: 1,
        digest: 'sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881',
      },
      { uri: 'skill://a/inner/SKILL.md', size: 52, digest: expect.any(String) },
    ],
  });
  expect([inner?.['uri'], b?.['uri']]).toEqual(['skill://a/inner/SKILL.md', 'skill://deep/down/b/SKILL.md']);
  expect(skills[2]!.files.map(({ name, mimeType, description }) => [name, mimeType, description])).toEqual([
    ['b', 'text/markdown', 'Does b.'],
    ['c.bin', 'application/octet-stream', undefined],
  ]);
});

test('errors in front matter are reported with line and column', async () => {
  const long = 'x'.repeat(1_100);
  const folder = folderOf({
    'one/SKILL.md': '---\ndescription: No name.\n---\n',
    'two/SKILL.md': '---\nname: other\ndescription: ""\n---\n',
    'Three/SKILL.md': '---\nname: Three\ndescription: Does three.\n---\n',
    'four/SKILL.md': 'No front matter.\n',
    'five/SKILL.md': '---\nname: five\nname: five\ndescription: Does five.\n---\n',
    'six/SKILL.md': Uint8Array.of(0xff, 0xfe),
    'seven/SKILL.md': `---\nname: seven\ndescription: ${long}\n---\n`,
    'eight/SKILL.md': `---\nname: eight\ndescription: Does eight.\nmetadata: { io.modelcontextprotocol/x: 1 }\n---\n`,
    'nine/SKILL.md': '---\n- name\n---\n',
  });
  const reading = await readSkills(folder);
  expect(complaintsOf(reading, folder).toSorted()).toEqual([
    'Three/SKILL.md:2:7: name cannot be the name of a skill; use up to 64 small letters and digits, with single hyphens between them.',
    'eight/SKILL.md:4:13: warning: metadata["io.modelcontextprotocol/x"] begins with io.modelcontextprotocol/, which is reserved; choose another key.',
    'five/SKILL.md:3:1: The same key is here twice; keep one of the two.',
    'four/SKILL.md:1:1: The file has no front matter; begin it with two lines of "---", and name and description between.',
    'nine/SKILL.md:1:1: The file has front matter that is not a list of keys and values.',
    'one/SKILL.md:2:1: name is missing; use up to 64 small letters and digits, with single hyphens between them.',
    'seven/SKILL.md:3:14: description is longer than 1024 characters; shorten it.',
    'six/SKILL.md:1:1: The file is not text in UTF-8.',
    'two/SKILL.md:2:7: name is not the name of its folder, "two"; rename one of the two.',
    'two/SKILL.md:3:14: description must be a text; say what the skill is for and when to use it.',
  ]);
  expect(reading.skills.map(({ uri }) => uri)).toEqual(['skill://eight/SKILL.md']);
});

test('a symbolic link is followed only inside the folder, and only regular files are read', async () => {
  const outside = folderOf({ 'secret.txt': 'secret', 'more/SKILL.md': good('more') });
  const folder = folderOf({
    'inside/SKILL.md': good('inside'),
    'inside/real.md': 'x',
    'out/SKILL.md': good('out'),
    'folder/SKILL.md': good('folder'),
    'pipe/SKILL.md': good('pipe'),
  });
  symlinkSync('real.md', join(folder, 'inside/link.md'));
  symlinkSync(join(outside, 'secret.txt'), join(folder, 'out/link.txt'));
  symlinkSync(join(folder, 'inside'), join(folder, 'folder/other'));
  symlinkSync(join(outside, 'more'), join(folder, 'more'));
  execFileSync('mkfifo', [join(folder, 'pipe/wait')]);
  const reading = await readSkills(folder);
  expect(reading.skills.map(({ uri }) => uri)).toEqual(['skill://inside/SKILL.md']);
  expect(complaintsOf(reading, folder)).toEqual([
    'folder/other: The file is a link to a folder; put a copy there, or leave it out.',
    'out/link.txt: The file is a link that leads out of the folder; put a copy there, or leave it out.',
    'pipe/wait: The file is not a regular file; put a copy there, or leave it out.',
    'more: warning: The file is a link that leads out of the folder; put a copy there.',
  ]);
});

test('a skill has at most 512 files and 16,777,216 bytes', async () => {
  const many = Object.fromEntries(Array.from({ length: 512 }, (_, at) => [`many/${at}.md`, '']));
  const folder = folderOf({
    ...many,
    'many/SKILL.md': good('many'),
    'large/SKILL.md': good('large'),
  });
  truncateSync(join(folder, 'large/SKILL.md'), 16_777_217);
  expect(complaintsOf(await readSkills(folder), folder)).toEqual([
    expect.stringContaining(
      'large/SKILL.md: The file belongs to a skill of 16777217 bytes; keep at most 16777216.',
    ),
    'many/SKILL.md: The file belongs to a skill of 513 files; keep at most 512.',
  ]);
  rmSync(join(folder, 'many/0.md'));
  expect((await readSkills(folder)).skills).toHaveLength(1);
});

test('defineSkill reads the folder of one skill, and reports everything that is wrong with it', async () => {
  const folder = folderOf({
    'a/SKILL.md': good('a'),
    'a/inner/SKILL.md': good('inner'),
    'bad/SKILL.md': '---\nname: b\n---\n',
    'none/x.md': '',
  });
  expect(await defineSkill({ dir: join(folder, 'a') })).toMatchObject({ uri: 'skill://a/SKILL.md' });
  expect(await defineSkill({ dir: join(folder, 'a'), path: 'acme/ops' })).toMatchObject({
    uri: 'skill://acme/ops/a/SKILL.md',
  });
  await expect(defineSkill({ dir: join(folder, 'bad') })).rejects.toMatchObject({
    code: 'invalid_config',
    data: { complaints: [{ line: 2, path: 'name' }, { path: 'description' }] },
  });
  await expect(defineSkill({ dir: join(folder, 'none') })).rejects.toThrow('There is no SKILL.md');
  await expect(defineSkill({ dir: join(folder, 'absent') })).rejects.toThrow('ENOENT');
});
