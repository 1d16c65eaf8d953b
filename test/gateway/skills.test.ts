import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { runCommandLine } from '../behaviour/run-command-line.ts';
import type { Json, Peer } from '../behaviour/peer.ts';
import { openCrib, type Crib } from '../gateway.ts';
import { eventually } from '../faults/scenario.ts';

const skill = (name: string, body = 'Do it.'): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`;
const files = {
  'skills/open/SKILL.md': skill('open'),
  'skills/open/more/notes.md': 'Notes.\r\n',
  'skills/pay/SKILL.md': skill('pay'),
  'skills/pay/secret/limits.md': 'At most 50.',
};

const urisOf = async (peer: Peer): Promise<unknown[]> =>
  ((await peer.result('skills/list'))['skills'] as Json[]).map(({ uri }) => uri);
const read = async (peer: Peer, uri: string): Promise<Json> =>
  ((await peer.result('resources/read', { uri }))['contents'] as Json[])[0]!;

function write(crib: Crib, name: string, text: string): void {
  mkdirSync(dirname(crib.path(name)), { recursive: true });
  writeFileSync(crib.path(name), text);
}

test('B11 rules that hide resources hide skills in every method, separately for each tenant', async () => {
  const crib = await openCrib({
    files,
    config: {
      skills: './skills',
      access: [
        // Somebody who does not see one file of a skill does not see the skill.
        { callers: ['bob'], resources: ['skill://pay/secret/*'], effect: 'deny' },
        { tenants: ['north'], resources: ['skill://pay/*', 'skill://open/*'] },
        { tenants: ['south'], resources: ['skill://open/*'] },
        { roles: ['staff'], tools: ['*'] },
      ],
    },
  });
  const [ada, bob, cyn] = await Promise.all((['ada', 'bob', 'cyn'] as const).map((one) => crib.connect(one)));
  const both = ['skill://open/SKILL.md', 'skill://pay/SKILL.md'];
  expect(await urisOf(ada!)).toEqual(both);
  expect(await urisOf(bob!)).toEqual(both.slice(0, 1));
  expect(await urisOf(cyn!)).toEqual(both.slice(0, 1));
  expect(await read(ada!, 'skill://pay/secret/limits.md')).toMatchObject({ text: 'At most 50.' });
  // What is hidden is answered like what does not exist.
  for (const [peer, uri] of [
    [bob!, 'skill://pay/secret/limits.md'],
    [cyn!, 'skill://pay/SKILL.md'],
  ] as const) {
    const same = async (method: string, asked: string): Promise<string> => {
      const { code, message } = await peer.error(method, { uri: asked });
      return `${code} ${message.replace(asked, '')}`;
    };
    const absent = 'skill://absent/SKILL.md';
    expect(await same('resources/read', uri)).toBe(await same('resources/read', absent));
    expect(await same('skills/get', 'skill://pay/SKILL.md')).toBe(await same('skills/get', absent));
    const folder = 'skill://pay';
    expect(await same('resources/directory/read', folder)).toBe(
      await same('resources/directory/read', 'skill://absent'),
    );
  }
  const old = await crib.connect('cyn', { version: '2025-11-25' });
  expect(await old.error('resources/subscribe', { uri: 'skill://pay/SKILL.md' })).toMatchObject({
    code: -32002,
  });
  expect(await old.result('resources/subscribe', { uri: 'skill://open/SKILL.md' })).toEqual({});
  const rows = crib.rows().filter((row) => row['uri'] === 'skill://pay/secret/limits.md');
  expect(rows.map(({ caller, outcome }) => [caller, outcome])).toEqual([
    ['ada', 'done'],
    ['bob', 'unknown_resource'],
  ]);
});

test('a caller without access to any skill sees no skills capability', async () => {
  const crib = await openCrib({
    files,
    config: { skills: ['./skills'], access: [{ tenants: ['north'], resources: ['*'] }, { tools: ['*'] }] },
  });
  const extensionsOf = async (peer: Peer): Promise<Json> =>
    ((await peer.result('server/discover'))['capabilities'] as { extensions: Json }).extensions;
  expect(await extensionsOf(await crib.connect('ada'))).toHaveProperty(['io.modelcontextprotocol/skills']);
  const cyn = await crib.connect('cyn');
  expect(await extensionsOf(cyn)).not.toHaveProperty(['io.modelcontextprotocol/skills']);
  expect(await urisOf(cyn)).toEqual([]);
});

test('reads of skills are rate limited like other reads', async () => {
  const crib = await openCrib({
    files,
    config: { skills: './skills', stages: { rateLimit: { perMinute: 2, burst: 2 } } },
  });
  const ada = await crib.connect('ada');
  const uri = 'skill://open/SKILL.md';
  await read(ada, uri);
  await read(ada, uri);
  expect(await ada.error('resources/read', { uri })).toMatchObject({
    message: expect.stringContaining('Too many requests'),
  });
});

test('a file of a skill is served unchanged or not at all', async () => {
  const hidden = skill('hidden', 'Do it.\u200b\u{e0041}');
  const crib = await openCrib({
    files: { ...files, 'skills/hidden/SKILL.md': hidden, 'skills/open/page.html': '<b>&amp;</b>' },
    config: { skills: './skills', stages: { sanitize: { escapeHtml: true } } },
  });
  const ada = await crib.connect('ada');
  expect(await read(ada, 'skill://open/more/notes.md')).toMatchObject({ text: 'Notes.\r\n' });
  expect(await read(ada, 'skill://open/page.html')).toMatchObject({ text: '<b>&amp;</b>' });
  expect(await ada.error('resources/read', { uri: 'skill://hidden/SKILL.md' })).toMatchObject({
    message: expect.stringContaining('has invisible text or a secret in it'),
  });
});

test('a changed skill is served within moments, and a broken one keeps its last version', async () => {
  const crib = await openCrib({ files, watch: true, config: { skills: './skills' } });
  const ada = await crib.connect('ada');
  const digestOf = async (): Promise<unknown> =>
    ((await ada.result('skills/get', { uri: 'skill://open/SKILL.md' }))['skill'] as { resources: Json[] })
      .resources[1]!['digest'];
  const before = await digestOf();
  write(crib, 'skills/open/more/notes.md', 'Other notes.');
  await eventually('the new file', async () => (await digestOf()) !== before);
  expect(await read(ada, 'skill://open/more/notes.md')).toMatchObject({ text: 'Other notes.' });

  write(crib, 'skills/pay/SKILL.md', '---\nname: other\n---\n');
  await eventually('the complaint', async () =>
    crib.logged.some(({ message }) => /pay\/SKILL\.md:2:7: name is not the name of its folder/.test(message)),
  );
  expect(await read(ada, 'skill://pay/SKILL.md')).toMatchObject({ text: skill('pay') });
  await crib.reload();
  expect(await urisOf(ada)).toContain('skill://pay/SKILL.md');

  write(crib, 'skills/new/SKILL.md', skill('new'));
  rmSync(crib.path('skills/pay'), { recursive: true });
  await eventually(
    'what came and went',
    async () => (await urisOf(ada)).join() === 'skill://new/SKILL.md,skill://open/SKILL.md',
  );
  // A folder that is replaced as a whole is followed, too.
  write(crib, 'next/only/SKILL.md', skill('only'));
  renameSync(crib.path('skills'), crib.path('former'));
  renameSync(crib.path('next'), crib.path('skills'));
  await eventually('the new folder', async () => (await urisOf(ada)).join() === 'skill://only/SKILL.md');
}, 60_000);

test('toolcrib check reports errors in skills with line and column', async () => {
  const crib = await openCrib({ files, config: { skills: ['./skills', './more', './absent'] } });
  write(crib, 'more/open/SKILL.md', skill('open'));
  write(crib, 'more/wrong/SKILL.md', '---\nname: wrong\ndescription: 7\n---\n');
  write(crib, 'more/link/SKILL.md', skill('link'));
  symlinkSync('/etc/passwd', crib.path('more/link/passwd'));
  const { code, output } = await runCommandLine(['check', crib.path('toolcrib.yaml')]);
  expect(code).toBe(1);
  const lines = output.replaceAll(`${crib.folder}/`, '').trim().split('\n');
  expect(lines.slice(0, 4)).toEqual([
    'more/link/passwd: The file is a link that leads out of the folder; put a copy there, or leave it out.',
    'more/wrong/SKILL.md:3:14: description must be a text; say what the skill is for and when to use it.',
    'absent: The folder cannot be read (ENOENT).',
    'skill://open/SKILL.md: Another skill or resource has the address of one of its files; rename the folder of one of them.',
  ]);
});
