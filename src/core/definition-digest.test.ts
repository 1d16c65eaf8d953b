import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { localCaller, type Caller } from './caller.ts';
import { digest } from '../base/digest.ts';
import { ownerOf } from './caller.ts';
import { definitionDigest } from './definition-digest.ts';
import type { Tool } from './tool.ts';

test('the order of keys does not matter, at any depth', () => {
  expect(digest({ a: 1, b: { c: 2, d: [3] } })).toBe(digest({ b: { d: [3], c: 2 }, a: 1 }));
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      expect(digest(Object.fromEntries(Object.entries(value).toReversed()))).toBe(digest(value));
    }),
  );
});

test.each<[one: unknown, other: unknown]>([
  [{ a: 1 }, { a: 2 }],
  [{ a: 1 }, { a: '1' }],
  [{ a: null }, {}],
  [
    [1, 2],
    [2, 1],
  ],
  [[], {}],
  ['1', 1],
])('%j and %j have different digests', (one, other) => {
  expect(digest(one)).not.toBe(digest(other));
});

test('a digest is short and uses only safe characters', () => {
  expect(digest({ any: 'thing' })).toMatch(/^[\w-]{22}$/);
});

test('the digest of a definition changes with every listed member, and with nothing else', () => {
  const tool: Tool = {
    name: 'a',
    description: 'Does a.',
    inputSchema: { type: 'object', properties: {} },
    handler: () => 1,
  };
  const first = definitionDigest(tool);
  expect(definitionDigest(tool)).toBe(first);
  expect(definitionDigest({ ...tool, handler: () => 2 })).toBe(first);
  for (const change of [
    { description: 'Does b.' },
    { title: 'A' },
    { annotations: { readOnlyHint: true } },
    { inputSchema: { type: 'object', properties: { x: {} } } },
    { outputSchema: {} },
  ] satisfies Partial<Tool>[])
    expect(definitionDigest({ ...tool, ...change })).not.toBe(first);
});

test('B9 storage keys of different callers are always different', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '/', ':', '1', '2', ''), maxLength: 6 });
  fc.assert(
    fc.property(fc.tuple(text, text), fc.tuple(text, text), (one, other) => {
      const isSame = one[0] === other[0] && one[1] === other[1];
      expect(ownerOf(callerOf(...one)) === ownerOf(callerOf(...other))).toBe(isSame);
    }),
    { numRuns: propertyRuns(5_000) },
  );
});

test('B9 control: keys that are simply joined can be equal', () => {
  const join = ({ tenant, id }: Caller): string => `${tenant.id}/${id}`;
  expect(join(callerOf('a/b', 'c'))).toBe(join(callerOf('a', 'b/c')));
  expect(ownerOf(callerOf('a/b', 'c'))).not.toBe(ownerOf(callerOf('a', 'b/c')));
});

function callerOf(tenant: string, id: string): Caller {
  return { ...localCaller, id, tenant: { ...localCaller.tenant, id: tenant } };
}
