import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ToolRegistry, type ServedSkill } from '../../src/index.ts';
import { defineSkill } from '../../src/node.ts';
import { describeMatrix } from './matrix.ts';
import type { Json, Peer } from './peer.ts';

const folder = join(import.meta.dirname, '../../examples/skills');
const refunds = await defineSkill({ dir: join(folder, 'refund-requests') });
const trips = await defineSkill({ dir: join(folder, 'travel/booking-trips'), path: 'travel' });
const MAIN = 'skill://refund-requests/SKILL.md';
const EXTENSION = 'io.modelcontextprotocol/skills';

const withSkills = (...skills: readonly ServedSkill[]): { source: ToolRegistry } => ({
  source: new ToolRegistry().registerSkill(...skills),
});

function extensionsOf({ capabilities }: Json): Json {
  return ((capabilities as Json | undefined)?.['extensions'] as Json | undefined) ?? {};
}

describeMatrix(
  ({ era, connect }) => {
    test('each SKILL.md is a resource, and every file of a skill is served byte for byte', async () => {
      const peer = await connect(withSkills(refunds, trips));
      const { resources } = (await peer.result('resources/list')) as { resources: Json[] };
      expect(resources.map(({ uri, name, mimeType }) => [uri, name, mimeType])).toEqual([
        [MAIN, 'refund-requests', 'text/markdown'],
        ['skill://travel/booking-trips/SKILL.md', 'booking-trips', 'text/markdown'],
      ]);
      const read = async (uri: string): Promise<Json> => {
        const { contents } = (await peer.result('resources/read', { uri })) as { contents: Json[] };
        expect(contents).toHaveLength(1);
        return contents[0]!;
      };
      expect(await read('skill://refund-requests/references/limits.md')).toMatchObject({
        mimeType: 'text/markdown',
        text: expect.stringMatching(/^# Limits/),
      });
      expect(await read('skill://refund-requests/assets/stamp.png')).toMatchObject({
        mimeType: 'image/png',
        blob: 'iVBORw0KGgoAAf8=',
      });
      await peer.error('resources/read', { uri: 'skill://refund-requests/references' });
    });

    test('only the newest revision has the skill methods, and only on a server with skills', async () => {
      const peer = await connect(withSkills(refunds));
      const bare = await connect({ resources: [] });
      const introduce = async ({ introduction, result }: Peer): Promise<Json> =>
        introduction ?? (era === 'modern' ? result('server/discover') : {});
      const introduced = await introduce(peer);
      expect(extensionsOf(await introduce(bare))).not.toHaveProperty([EXTENSION]);
      expect(await bare.error('skills/list')).toMatchObject({ code: -32601 });
      if (era === 'modern') {
        expect(extensionsOf(introduced)).toHaveProperty([EXTENSION], { directoryRead: true });
        expect(introduced['capabilities']).toHaveProperty('resources');
        return;
      }
      expect(extensionsOf(introduced)).not.toHaveProperty([EXTENSION]);
      for (const method of ['skills/list', 'skills/get', 'resources/directory/read'])
        expect(await peer.error(method, { uri: MAIN })).toMatchObject({ code: -32601 });
    });
  },
  ({ transport }) => transport === 'in process' || transport === 'HTTP',
);

describeMatrix(
  ({ connect }) => {
    test('skills are listed in pages, with their files, and can be read one by one', async () => {
      const peer = await connect({ ...withSkills(refunds, trips), pageSize: 1 });
      const first = await peer.result('skills/list');
      expect(first).toMatchObject({
        resultType: 'complete',
        ttlMs: expect.any(Number),
        cacheScope: 'private',
      });
      const second = await peer.result('skills/list', { cursor: first['nextCursor'] });
      expect(second).not.toHaveProperty('nextCursor');
      const [skill] = first['skills'] as Json[];
      expect(skill).toEqual({
        uri: MAIN,
        frontmatter: {
          name: 'refund-requests',
          description: expect.stringContaining('refunds'),
          metadata: { team: 'support', version: 2 },
        },
        resources: [
          MAIN,
          'skill://refund-requests/assets/stamp.png',
          'skill://refund-requests/references/limits.md',
        ].map((uri) => ({
          uri,
          digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
          size: expect.any(Number),
        })),
      });
      expect(await peer.result('skills/get', { uri: MAIN })).toMatchObject({ skill, cacheScope: 'private' });
      for (const uri of ['skill://none/SKILL.md', 'skill://refund-requests', '', MAIN.toUpperCase()])
        expect(await peer.error('skills/get', { uri })).toMatchObject({ code: -32602 });
      expect(await peer.error('skills/get')).toMatchObject({ code: -32602 });
    });

    test('a folder of a skill lists its direct entries', async () => {
      const peer = await connect({ ...withSkills(refunds), pageSize: 2 });
      const read = (params: Json): Promise<Json> => peer.result('resources/directory/read', params);
      const first = await read({ uri: 'skill://refund-requests' });
      const second = await read({ uri: 'skill://refund-requests', cursor: first['nextCursor'] });
      const children = [...(first['resources'] as Json[]), ...(second['resources'] as Json[])];
      expect(children.map(({ uri, name, mimeType }) => [uri, name, mimeType])).toEqual([
        [MAIN, 'refund-requests', 'text/markdown'],
        ['skill://refund-requests/assets', 'assets', 'inode/directory'],
        ['skill://refund-requests/references', 'references', 'inode/directory'],
      ]);
      expect(await read({ uri: 'skill://refund-requests/references/' })).toMatchObject({
        resources: [{ uri: 'skill://refund-requests/references/limits.md', size: 62 }],
      });
      for (const uri of [
        MAIN,
        'skill://',
        'skill://none',
        'skill://refund-requests/references/..',
        'file:///',
      ])
        expect(await peer.error('resources/directory/read', { uri })).toMatchObject({ code: -32602 });
    });

    test('a page of large skills ends before the response is too large', async () => {
      const read = (): string => '';
      const skills = Array.from({ length: 20 }, (_, at): ServedSkill => {
        const uri = `skill://s${at}/SKILL.md`;
        const files = Array.from({ length: 512 }, (_file, number) => ({
          uri: number === 0 ? uri : `skill://s${at}/${'n'.repeat(80)}${number}.md`,
          name: 'n',
          size: 0,
          skillFile: { digest: `sha256:${'0'.repeat(64)}` },
          read,
        }));
        return { uri, frontmatter: { name: `s${at}`, description: 'Is large.' }, files };
      });
      const peer = await connect(withSkills(...skills));
      const pages: Json[] = [];
      for (
        let cursor: unknown;
        pages.length === 0 || cursor !== undefined;
        cursor = pages.at(-1)!['nextCursor']
      )
        pages.push(await peer.result('skills/list', cursor === undefined ? {} : { cursor }));
      expect(pages.length).toBeGreaterThan(1);
      expect(pages.flatMap((page) => page['skills'])).toHaveLength(20);
      for (const page of pages) expect(JSON.stringify(page).length).toBeLessThan(2_000_000);
    });
  },
  ({ era, transport }) => era === 'modern' && transport === 'in process',
);

test('skills can be added and removed, and each address is used once', async () => {
  const registry = new ToolRegistry().registerSkill(refunds);
  expect(() => registry.registerSkill(refunds)).toThrow('is registered already');
  expect(registry.resources?.size).toBe(1);
  expect(registry.removeSkill(MAIN)).toBe(true);
  expect(registry.removeSkill(MAIN)).toBe(false);
  expect(registry.resources?.skills).toBeUndefined();
  expect(registry.resources?.find('skill://refund-requests/references/limits.md')).toBeUndefined();
});
