import { describe, expect, test } from 'vitest';
import { namesModern } from '../wire/era.ts';
import { metaKeys } from '../wire/meta.ts';
import type { Introduction } from './revision.ts';
import { modernVersions, newestLegacy, revisionOf, revisions } from './revisions.ts';

const versions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const info = { name: 'acme', title: 'Acme', version: '1' };
const introduction: Introduction = {
  info,
  instructions: 'Ask nicely.',
  capabilities: { changes: true, resources: true, prompts: true, skills: true },
  supportedVersions: modernVersions,
};

test('five revisions are supported, listed newest first, each under its own version', () => {
  expect(revisions.map(({ version }) => version)).toEqual(versions);
  for (const revision of revisions) expect(revisionOf(revision.version)).toBe(revision);
});

test('the era of a revision follows from its version', () => {
  for (const { version, era } of revisions) expect(era).toBe(namesModern(version) ? 'modern' : 'legacy');
  expect(modernVersions).toEqual(['2026-07-28']);
  expect(newestLegacy.version).toBe('2025-11-25');
});

test.each(['', '2025-03-27', '2026-07-28 ', '2026-07-28\0', 'constructor', '__proto__', 'toString'])(
  'A14 %j is not a revision',
  (version) => {
    expect(revisionOf(version)).toBeUndefined();
  },
);

describe('methods', () => {
  const both = [
    'tools/list',
    'tools/call',
    'resources/list',
    'resources/templates/list',
    'resources/read',
    'prompts/list',
    'prompts/get',
    'completion/complete',
  ];
  const handshake = [
    'initialize',
    'ping',
    'resources/subscribe',
    'resources/unsubscribe',
    'logging/setLevel',
  ];
  const skills = ['skills/list', 'skills/get', 'resources/directory/read'];
  const tasks = ['tasks/get', 'tasks/update', 'tasks/cancel'];
  const stateless = ['server/discover', 'subscriptions/listen', ...tasks, ...skills];

  test.each(versions)('%s has the methods of its era and not those of the other era', (version) => {
    const own = namesModern(version) ? stateless : handshake;
    expect([...revisionOf(version)!.methods].toSorted()).toEqual([...both, ...own].toSorted());
  });

  test.each(['tasks/result', 'tasks/list', 'elicitation/create', 'sampling/createMessage', 'constructor'])(
    'no revision has the method %s',
    (method) => {
      for (const { methods } of revisions) expect(methods.has(method)).toBe(false);
    },
  );
});

describe('what each revision can express', () => {
  test.each<[feature: string, values: readonly unknown[]]>([
    ['toolAnnotations', [true, true, true, true, false]],
    ['titles', [true, true, true, false, false]],
    ['structured', ['any', 'objects', 'objects', 'none', 'none']],
    ['icons', [true, true, false, false, false]],
    ['audio', [true, true, true, true, false]],
    ['resourceLinks', [true, true, true, false, false]],
    ['paramHeaders', [true, false, false, false, false]],
    ['progressMessages', [true, true, true, true, false]],
    ['completionsCapability', [true, true, true, true, false]],
    ['elicitation', ['modes', 'modes', 'forms', 'none', 'none']],
    ['batches', [false, false, false, true, false]],
    ['resumableFromStart', [false, true, false, false, false]],
  ])('the values of %s, newest revision first, are %j', (feature, values) => {
    expect(
      revisions.map(({ features }) => (features as unknown as Record<string, unknown>)[feature]),
    ).toEqual(values);
  });

  test('control: the table of features is complete', () => {
    for (const { features } of revisions) expect(Object.keys(features)).toHaveLength(12);
  });
});

describe('what is added to a result', () => {
  const body = { tools: [], _meta: { a: 1 } };

  test.each(versions.slice(1))(
    'on %s nothing is added to a result, because strict clients refuse unknown fields',
    (version) => {
      const revision = revisionOf(version)!;
      expect(revision.frame(body, info, 'cacheable')).toEqual(body);
      expect(revision.lead).toBe('');
      expect(revision.writeMeta(undefined, info)).toBeUndefined();
      expect(revision.writeMeta({ a: 1 }, info)).toBe('{"a":1}');
    },
  );

  test('on 2026-07-28 every result has its type and its server, and a list has its lifetime', () => {
    const { frame, lead, writeMeta } = revisionOf('2026-07-28')!;
    const _meta = { a: 1, [metaKeys.serverInfo]: info };
    expect(frame(body, info)).toEqual({ resultType: 'complete', tools: [], _meta });
    expect(frame(body, info, 'cacheable')).toEqual({
      resultType: 'complete',
      tools: [],
      ttlMs: expect.any(Number) as number,
      cacheScope: 'private',
      _meta,
    });
    expect(lead).toBe('"resultType":"complete",');
    expect(JSON.parse(writeMeta(undefined, info)!)).toEqual({ [metaKeys.serverInfo]: info });
    expect(JSON.parse(writeMeta({ a: 1 }, info)!)).toEqual(_meta);
  });

  test('a result of another type keeps it on 2026-07-28', () => {
    expect(revisionOf('2026-07-28')!.frame({ resultType: 'input_required' }, info)).toMatchObject({
      resultType: 'input_required',
    });
  });
});

describe('introductions', () => {
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    completions: {},
    logging: {},
  };

  test.each(versions.slice(1))('on %s a server answers the handshake', (version) => {
    const { title: _title, ...untitled } = info;
    const { completions, ...older } = capabilities;
    expect(revisionOf(version)!.introduce(introduction)).toEqual({
      protocolVersion: version,
      capabilities: version === '2024-11-05' ? older : { ...older, completions },
      serverInfo: version >= '2025-06-18' ? info : untitled,
      instructions: 'Ask nicely.',
    });
  });

  test('on 2026-07-28 a server can be discovered', () => {
    expect(revisionOf('2026-07-28')!.introduce(introduction)).toEqual({
      resultType: 'complete',
      supportedVersions: modernVersions,
      capabilities: {
        ...capabilities,
        extensions: {
          'io.modelcontextprotocol/tasks': {},
          'io.modelcontextprotocol/skills': { directoryRead: true },
        },
      },
      instructions: 'Ask nicely.',
      ttlMs: expect.any(Number) as number,
      cacheScope: 'private',
      _meta: { [metaKeys.serverInfo]: info },
    });
  });

  test.each(versions)('on %s a server announces only the capabilities that it has', (version) => {
    const shy = {
      ...introduction,
      capabilities: { changes: false, resources: false, prompts: false, skills: false },
    };
    const { capabilities: promised } = revisionOf(version)!.introduce(shy);
    expect(promised).toMatchObject({ tools: {} });
    for (const name of ['resources', 'prompts', 'completions']) expect(promised).not.toHaveProperty(name);
    expect(JSON.stringify(promised)).not.toContain('listChanged');
  });
});
