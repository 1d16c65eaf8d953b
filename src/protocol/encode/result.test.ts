import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { content, type ContentBlock } from '../../core/content.ts';
import { toResult, type Done, type Failed } from '../../core/result.ts';
import type { JsonSchema } from '../../schema/schema.ts';
import type { Tool } from '../../core/tool.ts';
import { encodeBlock, writeToolResult, type ResultStyle } from './result.ts';
import { JsonScanner } from '../wire/json-scan.ts';
import { metaKeys } from '../wire/meta.ts';
import { revisionOf, revisions } from '../revisions/revisions.ts';
import { readJson } from '../../base/parse-json.ts';

type Ended = Done | Failed;

const info = { name: 'acme', version: '1' };
const legacy: ResultStyle = { revision: revisionOf('2025-06-18')!, info, jsonText: 'compact' };
const modern: ResultStyle = { ...legacy, revision: revisionOf('2026-07-28')! };
const odd: readonly [name: string, value: unknown][] = [
  ['undefined', undefined],
  ['a function', () => 1],
  ['a symbol', Symbol('x')],
  ['an object that has no JSON', { toJSON: () => undefined }],
  ['an object whose JSON is another', { toJSON: () => 'other' }],
];

describe('content', () => {
  test.each<[name: string, result: Ended, text: string]>([
    ['text is as it is', { kind: 'done', data: 'a"b\n' }, 'a"b\n'],
    ['data becomes its JSON', { kind: 'done', data: [1] }, '[1]'],
    ['null is a value', { kind: 'done', data: null }, 'null'],
    ['nothing is null', { kind: 'done' }, 'null'],
    ['a failure too has its data as text', { kind: 'failed', data: { error: 'x' } }, '{"error":"x"}'],
  ])('%s', (_name, result, text) => {
    expect(read(result)).toEqual({ content: [{ type: 'text', text }], isError: result.kind === 'failed' });
  });

  test('data is indented if pretty text is configured', () => {
    expect(read({ kind: 'done', data: { a: 1 } }, { ...legacy, jsonText: 'pretty' })).toMatchObject({
      content: [{ text: '{\n  "a": 1\n}' }],
    });
  });

  test('C5 an error envelope of a handler is sent with isError set', () => {
    for (const envelope of [{ error: 'No such page' }, { success: false, message: 'No such page' }])
      expect(read(toResult(envelope))).toMatchObject({
        isError: true,
        content: [{ text: JSON.stringify(envelope) }],
      });
    expect(read(toResult({ error: null, rows: 1 }))).toMatchObject({ isError: false });
  });
});

describe('what every revision adds to a result', () => {
  const result: Ended = { kind: 'done', content: [], meta: { a: 1 } };

  test.each(
    revisions.filter(({ era }) => era === 'legacy').map((revision) => [revision.version, revision] as const),
  )('on %s a result has only what the handler returned', (_version, revision) => {
    expect(read(result, { ...legacy, revision })).toEqual({ content: [], isError: false, _meta: { a: 1 } });
    expect(read({ kind: 'done', content: [] }, { ...legacy, revision })).not.toHaveProperty('_meta');
  });

  test('on 2026-07-28 a result has its type and the name of its server', () => {
    expect(read(result, modern)).toEqual({
      resultType: 'complete',
      content: [],
      isError: false,
      _meta: { a: 1, [metaKeys.serverInfo]: info },
    });
    expect(read({ kind: 'done', content: [] }, modern)).toMatchObject({
      resultType: 'complete',
      _meta: { [metaKeys.serverInfo]: info },
    });
  });

  test('a handler cannot name another server in a result', () => {
    const meta = { [metaKeys.serverInfo]: { name: 'other' } };
    expect(read({ kind: 'done', meta }, modern)).toMatchObject({ _meta: { [metaKeys.serverInfo]: info } });
  });
});

describe('structured data', () => {
  const list: JsonSchema = { type: 'array' };
  const object: JsonSchema = { type: 'object' };

  test.each<[version: string, promise: readonly [data: unknown, schema?: JsonSchema], sent: unknown]>([
    ['2024-11-05', [{ a: 1 }, object], undefined],
    ['2025-03-26', [{ a: 1 }, object], undefined],
    ['2025-06-18', [{ a: 1 }, object], { a: 1 }],
    ['2025-06-18', [{ a: 1 }], { a: 1 }],
    ['2025-06-18', [[1], list], { result: [1] }],
    ['2025-06-18', [null, { type: 'null' }], { result: null }],
    ['2025-06-18', [{ a: 1 }, { anyOf: [object, list] }], { result: { a: 1 } }],
    ['2025-06-18', [[1]], undefined],
    ['2025-06-18', [7], undefined],
    ['2025-11-25', [[1], list], { result: [1] }],
    ['2025-11-25', [{ a: 1 }, object], { a: 1 }],
    ['2026-07-28', [[1], list], [1]],
    ['2026-07-28', [null], null],
    ['2026-07-28', [false], false],
  ])('on %s the data and output schema %j are sent as %j', (version, [data, outputSchema], sent) => {
    const style = { ...legacy, revision: revisionOf(version)! };
    const written = read({ kind: 'done', data }, style, outputSchema);
    expect(written['structuredContent']).toEqual(sent);
    expect(written['content']).toEqual([{ type: 'text', text: JSON.stringify(data) }]);
  });

  test.each(revisions.map(({ version }) => version))(
    'a failure has no structured content on %s, because clients check it against the output schema',
    (version) => {
      const style = { ...legacy, revision: revisionOf(version)! };
      expect(read({ kind: 'failed', data: { error: 'x' } }, style, object)).not.toHaveProperty(
        'structuredContent',
      );
    },
  );
});

describe('content blocks', () => {
  const link = content.resourceLink({ uri: 'note://a', name: 'A', description: 'A note.' });
  const bare = content.resourceLink({ uri: 'note://a', name: 'A' });
  const sound = content.audio('AAAA', 'audio/wav');

  test('C2 a resource link is sent as resource_link', () => {
    for (const version of ['2025-06-18', '2025-11-25', '2026-07-28'])
      expect(blockOn(version, link)).toEqual({
        type: 'resource_link',
        uri: 'note://a',
        name: 'A',
        description: 'A note.',
      });
  });

  test.each(['2024-11-05', '2025-03-26'])('a resource link is sent as text on %s', (version) => {
    expect(blockOn(version, link)).toEqual({ type: 'text', text: '[A](note://a): A note.' });
    expect(blockOn(version, bare)).toEqual({ type: 'text', text: '[A](note://a)' });
  });

  test('audio is sent as text on 2024-11-05, and unchanged from 2025-03-26 on', () => {
    expect(blockOn('2024-11-05', sound)).toEqual({
      type: 'text',
      text: "[audio, audio/wav: this client's protocol version cannot carry sound]",
    });
    expect(blockOn('2025-03-26', sound)).toEqual(sound);
  });

  test.each(revisions.map(({ version }) => version))(
    'text, images and embedded resources are sent unchanged on %s',
    (version) => {
      const blocks = [
        content.text('a', { priority: 1 }),
        content.image('AAAA', 'image/png'),
        content.resource({ uri: 'x:a', text: 'b' }),
      ];
      for (const block of blocks) expect(blockOn(version, block)).toEqual(block);
    },
  );

  test('a content block of an unknown type is passed on', () => {
    const later = { type: 'hologram', data: 1 } as unknown as ContentBlock;
    for (const { version } of revisions) expect(blockOn(version, later)).toEqual(later);
  });

  test('all blocks of a result have the form of the revision', () => {
    const style = { ...legacy, revision: revisionOf('2024-11-05')! };
    const written = read({ kind: 'done', content: [content.text('a'), bare, sound] }, style);
    expect((written['content'] as ContentBlock[]).map(({ type }) => type)).toEqual(['text', 'text', 'text']);
  });
});

describe('the JSON of a result', () => {
  test('every result can be parsed back to the same object, with no repeated members', () => {
    fc.assert(
      fc.property(anyResult, anyObject, (result, meta) => {
        const written = writeToolResult({ ...result, meta }, toolOf(), modern);
        expect(new JsonScanner().scan(Buffer.from(written))).not.toBe('repeats a key within one object');
        const expected = {
          ...result.extra,
          resultType: 'complete',
          content: result.content ?? [{ type: 'text', text: textOf(result.data) }],
          structuredContent: result.kind === 'done' ? result.data : undefined,
          isError: result.kind === 'failed',
          _meta: { ...meta, [metaKeys.serverInfo]: info },
        };
        expect(readJson(written)).toEqual(readJson(JSON.stringify(expected)));
      }),
      { numRuns: propertyRuns() },
    );
  });

  test.each(odd)('a block whose text is %s is written as JSON.stringify writes it', (_name, text) => {
    const blocks = [{ type: 'text', text }] as unknown as ContentBlock[];
    expect(read({ kind: 'done', content: blocks })).toEqual({
      ...asJson({ content: blocks }),
      isError: false,
    });
  });

  test.each(odd)('structured data of %s is written as JSON.stringify writes it', (_name, data) => {
    const { resultType: _type, _meta, ...written } = read({ kind: 'done', content: [], data }, modern);
    expect(written).toEqual({ content: [], ...asJson({ structuredContent: data }), isError: false });
  });

  test.each(odd)('an unknown field of %s is written as JSON.stringify writes it', (_name, field) => {
    const extra = { field, toJSON: () => 'nothing of this', other: 1 };
    expect(read({ kind: 'done', content: [], extra })).toEqual({
      content: [],
      isError: false,
      ...asJson({ field }),
      other: 1,
    });
  });

  test('a handler cannot set the fields that the protocol writes', () => {
    const extra = { resultType: 'task', ttlMs: 1, cacheScope: 'public', kept: true };
    expect(read({ kind: 'done', content: [], extra })).toEqual({ content: [], isError: false, kept: true });
    expect(read({ kind: 'done', content: [], extra }, modern)).toMatchObject({
      resultType: 'complete',
      kept: true,
    });
  });
});

const anyObject = fc.dictionary(
  fc.string().filter((key) => key !== '__proto__'),
  fc.jsonValue(),
  { maxKeys: 4 },
);
const anyBlock = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: fc.string({ unit: 'binary' }) }),
  fc.record({
    type: fc.constant('text' as const),
    text: fc.string(),
    annotations: fc.constant({ priority: 1 }),
  }),
  fc.record({ type: fc.constant('image' as const), data: fc.base64String(), mimeType: fc.string() }),
);
const reserved = new Set([
  'content',
  'structuredContent',
  'isError',
  '_meta',
  'resultType',
  'ttlMs',
  'cacheScope',
  'toJSON',
]);
const anyExtra = anyObject.map((extra) =>
  Object.fromEntries(Object.entries(extra).filter(([key]) => !reserved.has(key))),
);
const anyResult: fc.Arbitrary<Ended> = fc.record(
  {
    kind: fc.constantFrom('done' as const, 'failed' as const),
    content: fc.array(anyBlock, { maxLength: 3 }),
    data: fc.jsonValue(),
    extra: anyExtra,
  },
  { requiredKeys: ['kind'] },
);

function read(result: Ended, style = legacy, outputSchema?: JsonSchema): Record<string, unknown> {
  return JSON.parse(writeToolResult(result, toolOf(outputSchema), style)) as Record<string, unknown>;
}

function blockOn(version: string, block: ContentBlock): ContentBlock {
  return encodeBlock(block, revisionOf(version)!.features);
}

function toolOf(outputSchema?: JsonSchema): Tool {
  const inputSchema = { type: 'object', properties: {} } as const;
  return {
    name: 'a',
    description: 'Does a.',
    inputSchema,
    ...(outputSchema && { outputSchema }),
    handler: () => 1,
  };
}

function textOf(data: unknown): string {
  return typeof data === 'string' ? data : (JSON.stringify(data) ?? 'null');
}

function asJson(value: object): object {
  return JSON.parse(JSON.stringify(value)) as object;
}
