import { describe, expect, test } from 'vitest';
import { areHarmless, isCostly, nestingCosts, type Costs } from './nesting-costs.ts';
import type { JsonSchema } from './schema.ts';

const self = { $ref: '#' };

describe('schemas that any value can be checked against', () => {
  test.each<[what: string, schema: JsonSchema]>([
    ['no reference', { properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] } } }],
    ['a list of itself', { properties: { children: { type: 'array', items: self } } }],
    ['two members that are itself', { properties: { left: self, right: self } }],
    [
      'branches that go on by different members',
      { anyOf: [{ properties: { not: self } }, { properties: { and: self } }] },
    ],
    ['all other members being itself', { properties: { name: {} }, additionalProperties: self }],
    ['one branch of four that goes on', { anyOf: [{}, {}, {}, { properties: { of: self } }] }],
    ['places of a list that are itself', { prefixItems: [self, self], items: self }],
    [
      'a reference many use',
      { properties: { a: { $ref: '#/$defs/w' }, b: { $ref: '#/$defs/w' } }, $defs: { w: {} } },
    ],
    ['definitions that use each other', pair({ properties: { b: { $ref: '#/$defs/b' } } })],
  ])('a schema with %s is harmless', (_what, schema) => {
    expect(areHarmless(nestingCosts(schema))).toBe(true);
  });
});

describe('schemas whose cost multiplies with every level', () => {
  const branches = (keyword: string, branch: object, count = 4): JsonSchema => ({
    [keyword]: Array.from({ length: count }, () => branch),
  });

  test('four branches that recurse through the same member cost four times as much on every level', () => {
    const { steps, beyond } = nestingCosts(branches('anyOf', { properties: { of: self } }));
    expect(steps).toEqual(Array.from({ length: 8 }, (_, level) => (level === 0 ? 9 : 10 * 4 ** level)));
    expect(beyond).toBe(Infinity);
  });

  test.each<[what: string, schema: JsonSchema, levels: number]>([
    ['any of', branches('anyOf', { properties: { of: self } }), 7],
    ['one of', branches('oneOf', { properties: { of: self } }), 7],
    ['all of', branches('allOf', { properties: { of: self } }), 7],
    ['two of', branches('anyOf', { properties: { of: self } }, 2), 16],
    ['a list in every branch', branches('anyOf', { properties: { of: { items: self } } }), 15],
    ['any other member', branches('anyOf', { additionalProperties: self }), 7],
    ['members by pattern', branches('anyOf', { patternProperties: { '^o': self } }), 7],
    ['members nobody looked at', branches('anyOf', { unevaluatedProperties: self }), 7],
    ['something in a list', branches('anyOf', { contains: self }), 7],
    ['the first of a list', branches('anyOf', { prefixItems: [self] }), 7],
    ['a member and the pattern it fits', { properties: { of: self }, patternProperties: { '^o': self } }, 15],
    ['a condition', { if: { properties: { of: self } }, then: { properties: { of: self } } }, 16],
    [
      'a member that is present',
      { properties: { of: self }, dependentSchemas: { of: { properties: { of: self } } } },
      15,
    ],
    [
      'definitions that use each other',
      pair(branches('anyOf', { properties: { b: { $ref: '#/$defs/b' } } })),
      15,
    ],
    ['a name for the place', { $anchor: 'me', anyOf: [0, 1].map(() => ({ items: { $ref: '#me' } })) }, 16],
    ['levels that are written out', doubling(20), 17],
  ])('the cost of a schema with %s multiplies with every level', (_what, schema, levels) => {
    const costs = nestingCosts(schema);
    expect(Math.abs(costs.steps.length - 1 - levels)).toBeLessThanOrEqual(1);
    expect(costs.steps.every((cost) => cost <= 500_000)).toBe(true);
    expect([costs.beyond, areHarmless(costs)]).toEqual([Infinity, false]);
  });

  test('chains of harmless recursions multiply only with the number of levels, and the levels are counted', () => {
    const { steps, beyond } = nestingCosts(chain(3));
    expect([steps.length, beyond]).toEqual([65, 1]);
    expect(steps.at(-1)).toBeLessThan(20_000);
    expect(nestingCosts(chain(6)).steps.length).toBeLessThan(65);
  });
});

describe('schemas that take long for every value', () => {
  const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`);
  const each = <T>(value: T, count = 100): Record<string, T> =>
    Object.fromEntries(names(count).map((name) => [name, value]));

  test.each<[what: string, member: JsonSchema]>([
    ['many branches', { anyOf: names(100).map((name) => ({ const: name })) }],
    ['many known members', { properties: each({}) }],
    ['many members that must be there', { required: names(100) }],
    ['many members that need others', { dependentRequired: each(['x']) }],
    ['many members that bring schemas', { dependentSchemas: each({}) }],
  ])('%s of every item are counted, and those of the value itself are not', (_what, member) => {
    const costs = nestingCosts({ items: { items: member } });
    expect(costs.steps[2]).toBeGreaterThanOrEqual(100);
    expect([areHarmless(costs), areHarmless(nestingCosts(member))]).toEqual([false, true]);
    const row = (length: number): unknown[] => Array.from({ length }, () => ({}));
    expect([isCostly([row(10_000)], costs), isCostly([row(1_000)], costs)]).toEqual([true, false]);
  });

  test('patterns for the names of members are counted for each member', () => {
    const patterns = each({}, 20);
    expect(nestingCosts({ patternProperties: patterns }).steps).toEqual([1, 60, 0]);
    const named = nestingCosts({ propertyNames: { anyOf: [{ pattern: 'a' }, { pattern: 'b' }] } });
    expect([named.steps, named.patterns]).toEqual([
      [1, 3, 0],
      [0, 2, 0],
    ]);
  });

  test('patterns for one long text are counted by its length', () => {
    const tried = (count: number): Costs =>
      nestingCosts({ properties: { a: { allOf: names(count).map((pattern) => ({ pattern })) } } });
    const long = 'a'.repeat(1_000_000);
    expect([areHarmless(tried(3)), areHarmless(tried(10))]).toEqual([true, false]);
    expect([isCostly({ a: long }, tried(10)), isCostly({ b: 1 }, tried(10))]).toEqual([true, false]);
    const byName = nestingCosts({ patternProperties: each({}, 10) });
    expect([isCostly({ [long]: 1 }, byName), isCostly({ a: 1 }, byName)]).toEqual([true, false]);
  });
});

describe('the cost of a value', () => {
  const costs: Costs = { steps: [1, 4, 16], patterns: [], beyond: Infinity };
  const plain: Costs = { steps: [], patterns: [], beyond: 1 };

  test('the cost of a value is the sum of its parts, each with the cost of its level', () => {
    const value = { a: [1, 2], b: 3 };
    expect(isCostly(value, costs, 1 + 4 + 16 + 16 + 4)).toBe(false);
    expect(isCostly(value, costs, 1 + 4 + 16 + 16 + 4 - 1)).toBe(true);
  });

  test('a value deeper than the last known level costs too much', () => {
    expect(isCostly([[1]], costs)).toBe(false);
    expect(isCostly([[[]]], costs)).toBe(false);
    expect(isCostly([[[1]]], costs)).toBe(true);
  });

  test('the cost of a value is its number of parts where levels cost nothing', () => {
    expect(isCostly([[[[1]]]], plain, 5)).toBe(false);
    expect(isCostly([[[[1]]]], plain, 4)).toBe(true);
  });

  test('a circular value costs too much, and is detected in limited time', () => {
    const circle: unknown[] = [];
    circle.push(circle, circle);
    expect(isCostly(circle, plain, 1_000)).toBe(true);
    expect(isCostly(circle, costs)).toBe(true);
  });
});

/** Two definitions, of which the second refers back to the first. */
function pair(a: JsonSchema): JsonSchema {
  return { $ref: '#/$defs/a', $defs: { a, b: { properties: { b: { $ref: '#/$defs/a' } } } } };
}

/** Each of so many recursions leads to itself and to the next, by the same member. */
function chain(length: number): JsonSchema {
  const at = (index: number): object => ({ properties: { x: { $ref: `#/$defs/d${index}` } } });
  const $defs = Object.fromEntries(
    Array.from({ length }, (_, index) => [
      `d${index}`,
      { allOf: index === length - 1 ? [at(index)] : [at(index), at(index + 1)] },
    ]),
  );
  return { $ref: '#/$defs/d0', $defs };
}

/** Every level applies the next one twice to the same member; nothing refers back. */
function doubling(levels: number): JsonSchema {
  const step = (index: number): object => ({ properties: { x: { $ref: `#/$defs/level${index}` } } });
  const $defs = Object.fromEntries(
    Array.from({ length: levels }, (_, index) => [
      `level${index}`,
      index === levels - 1 ? {} : { allOf: [step(index + 1), step(index + 1)] },
    ]),
  );
  return { ...step(0), $defs };
}
