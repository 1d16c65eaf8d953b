import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { listSkills, loadSkill, type Client } from '../../src/index.ts';
import { makeUp, open } from './peers.ts';

const TEXT = '---\nname: pay\ndescription: Pays.\n---\nPay.\n';

function fileOf(uri: string): object {
  const digest = `sha256:${createHash('sha256').update(TEXT).digest('hex')}`;
  return { uri, digest, size: Buffer.byteLength(TEXT) };
}

function skillOf(folder: string, changes: object = {}): object {
  const uri = `skill://${folder}/SKILL.md`;
  const frontmatter = { name: folder.split('/').at(-1), description: 'Pays.' };
  return { uri, frontmatter, resources: [fileOf(uri)], ...changes };
}

async function serving(skills: readonly unknown[]): Promise<Client> {
  const server = await makeUp(({ body, reply }) => {
    switch (body['method']) {
      case 'skills/list':
        return reply({ skills, ttlMs: 0, cacheScope: 'private' });
      case 'resources/read': {
        const { uri } = body['params'] as { uri: string };
        return reply({ contents: [{ uri, text: TEXT }], ttlMs: 0, cacheScope: 'private' });
      }
      default:
        return false;
    }
  });
  return open(server.url);
}

const GOOD = skillOf('acme/pay');
const MAIN = 'skill://acme/bad/SKILL.md';
const flaws: readonly (readonly [string, unknown, string])[] = [
  [
    'another name than its folder',
    skillOf('acme/bad', { frontmatter: { name: 'other', description: 'Pays.' } }),
    'its name is not that of its folder',
  ],
  [
    'no SKILL.md among its files',
    skillOf('acme/bad', { resources: [fileOf('skill://acme/bad/a.md')] }),
    'it does not list its SKILL.md',
  ],
  [
    'one file twice',
    skillOf('acme/bad', { resources: [fileOf(MAIN), fileOf(MAIN)] }),
    'it lists a file twice',
  ],
  [
    'a file of another skill',
    skillOf('acme/bad', { resources: [fileOf(MAIN), fileOf('skill://acme/pay/SKILL.md')] }),
    'it lists a file that is not below it',
  ],
  ['files that are not described', skillOf('acme/bad', { resources: [{ uri: MAIN }] }), 'not described'],
  ['no address', { frontmatter: {} }, 'it has no address or no front matter'],
  ['no form at all', null, 'it has no address or no front matter'],
];

for (const [what, bad, why] of flaws)
  test(`a skill with ${what} is left out with a warning, and the others are listed`, async () => {
    const warnings: string[] = [];
    const client = await serving([bad, GOOD]);
    const skills = await listSkills(client, { onWarning: (text) => warnings.push(text) });
    expect(skills).toEqual([GOOD]);
    expect(warnings).toEqual([expect.stringContaining(why)]);
    expect((await loadSkill(client, skills[0]!)).text).toBe(TEXT);
  });

test('two skills with one address are both left out', async () => {
  const warnings: string[] = [];
  const client = await serving([GOOD, skillOf('acme/look'), GOOD]);
  const skills = await listSkills(client, { onWarning: (text) => warnings.push(text) });
  expect(skills).toEqual([skillOf('acme/look')]);
  expect(warnings).toEqual(['The skill "skill://acme/pay/SKILL.md" is left out: it is listed twice.']);
});

test('a server with many bad skills causes a few warnings only', async () => {
  const warnings: string[] = [];
  const client = await serving(Array.from({ length: 100 }, () => null));
  expect(await listSkills(client, { onWarning: (text) => warnings.push(text) })).toEqual([]);
  expect(warnings).toHaveLength(21);
});

test('a SKILL.md that is no text is an error of the server', async () => {
  const bytes = Buffer.from([0xff, 0xfe, 0xfd]);
  const uri = 'skill://acme/pay/SKILL.md';
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const skill = skillOf('acme/pay', { resources: [{ uri, digest, size: bytes.length }] });
  const server = await makeUp(({ body, reply }) => {
    const cached = { ttlMs: 0, cacheScope: 'private' };
    if (body['method'] === 'skills/list') return reply({ skills: [skill], ...cached });
    if (body['method'] !== 'resources/read') return false;
    return reply({ contents: [{ uri, blob: bytes.toString('base64') }], ...cached });
  });
  const client = await open(server.url);
  const [listed] = await listSkills(client);
  await expect(loadSkill(client, listed!)).rejects.toMatchObject({
    code: 'invalid_answer',
    message: 'The server sent a SKILL.md that is not UTF-8.',
  });
});
