import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ContentBlock } from '../core/content.ts';
import type { Result } from '../core/result.ts';
import { JsonScanner } from './json-scan.ts';
import { dataOf, writeToolResult, type Surroundings } from './tool-result.ts';

const plain: Surroundings = { lead: '', data: undefined, meta: undefined, jsonText: 'compact' };
const odd: readonly [name: string, value: unknown][] = [
  ['undefined', undefined],
  ['a function', () => 1],
  ['a symbol', Symbol('x')],
  ['an object that has no JSON', { toJSON: () => undefined }],
  ['an object whose JSON is another', { toJSON: () => 'other' }],
];

describe('content', () => {
  test.each<[name: string, result: Result, text: string]>([
    ['text is as it is', { kind: 'done', data: 'a"b\n' }, 'a"b\n'],
    ['data becomes its JSON', { kind: 'done', data: { a: [1] } }, '{"a":[1]}'],
    ['null is a value', { kind: 'done', data: null }, 'null'],
    ['nothing is null', { kind: 'done' }, 'null'],
    ['a failure too has its data as text', { kind: 'failed', data: { error: 'x' } }, '{"error":"x"}'],
  ])('%s', (_name, result, text) => {
    expect(read(result)).toEqual({ content: [{ type: 'text', text }], isError: result.kind === 'failed' });
  });

  test('data is indented where people read it', () => {
    const written = writeToolResult({ kind: 'done', data: { a: 1 } }, { ...plain, jsonText: 'pretty' });
    expect(JSON.parse(written)).toMatchObject({ content: [{ text: '{\n  "a": 1\n}' }] });
  });

  test('a failure carries no structured data, because clients hold it against the output schema', () => {
    expect(dataOf({ kind: 'failed', data: 1 })).toBeUndefined();
    expect(dataOf({ kind: 'done', data: 1 })).toBe(1);
  });
});

describe('what is written is JSON', () => {
  test('every result reads back as the object it stands for, with no member twice', () => {
    fc.assert(
      fc.property(
        anyResult,
        fc.option(fc.jsonValue(), { nil: undefined }),
        anyObject,
        (result, data, meta) => {
          const written = writeToolResult(result, {
            ...plain,
            lead: '"resultType":"complete",',
            data,
            meta: JSON.stringify(meta),
          });
          expect(new JsonScanner().scan(Buffer.from(written))).not.toBe('repeats a key within one object');
          const expected = {
            ...result.extra,
            resultType: 'complete',
            content: result.content ?? [{ type: 'text', text: textOf(result.data) }],
            structuredContent: data,
            isError: result.kind === 'failed',
            _meta: meta,
          };
          expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(expected)));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test.each(odd)('a block whose text is %s is left out or left as JSON has it', (_name, text) => {
    const content = [{ type: 'text', text }] as unknown as ContentBlock[];
    expect(read({ kind: 'done', content })).toEqual({ ...asJson({ content }), isError: false });
  });

  test.each(odd)('structured data of %s is left out or left as JSON has it', (_name, data) => {
    const written = writeToolResult({ kind: 'done', content: [] }, { ...plain, data });
    expect(JSON.parse(written)).toEqual({
      content: [],
      ...asJson({ structuredContent: data }),
      isError: false,
    });
  });

  test.each(odd)('an unknown field of %s is left out or left as JSON has it', (_name, field) => {
    const extra = { field, toJSON: () => 'nothing of this', other: 1 };
    expect(read({ kind: 'done', content: [], extra })).toEqual({
      content: [],
      isError: false,
      ...asJson({ field }),
      other: 1,
    });
  });

  test('a handler does not set what the protocol itself writes', () => {
    const extra = { resultType: 'task', ttlMs: 1, cacheScope: 'public', kept: true };
    expect(read({ kind: 'done', content: [], extra })).toEqual({ content: [], isError: false, kept: true });
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
const anyResult: fc.Arbitrary<Result> = fc.record(
  {
    kind: fc.constantFrom('done' as const, 'failed' as const),
    content: fc.array(anyBlock, { maxLength: 3 }),
    data: fc.jsonValue(),
    extra: anyExtra,
  },
  { requiredKeys: ['kind'] },
);

function read(result: Result): unknown {
  return JSON.parse(writeToolResult(result, plain));
}

function textOf(data: unknown): string {
  return typeof data === 'string' ? data : (JSON.stringify(data) ?? 'null');
}

function asJson(value: object): object {
  return JSON.parse(JSON.stringify(value)) as object;
}
