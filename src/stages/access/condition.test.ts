import { runInNewContext } from 'node:vm';
import * as cel from '@marcbachmann/cel-js';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { localCaller, type Caller } from '../../core/caller.ts';
import { callerScope, loadConditions, type AccessCondition } from './condition.ts';
import { toConditionValue } from './condition-values.ts';

const compile = await loadConditions();
const ada: Caller = {
  id: 'ada',
  tenant: { id: 'acme', name: 'Acme', data: { plan: 'gold', limit: 100 } },
  roles: ['clerk'],
  scopes: ['mail:read'],
};
const args = {
  amount: 5,
  price: 5.5,
  count: 2,
  name: 'hello',
  list: [5, 6],
  nested: { n: 5, tags: ['a'] },
  nothing: null,
  isUrgent: true,
  constructor: 1,
  mixed: [1, 'a'],
};

function ask(source: string, given: unknown = args, caller = ada): boolean | undefined {
  return holds(compile(source), given, caller);
}

function holds(condition: AccessCondition, given: unknown, caller = ada): boolean | undefined {
  expect(condition.problem).toBeUndefined();
  return condition.holds({
    args: toConditionValue(given),
    ...callerScope(caller),
    tool: new Map([['name', 'pay']]),
  });
}

describe('numbers in JSON compare with numbers in a condition by value', () => {
  test.each([
    'args.amount < 100',
    'args.amount == 5',
    '5 == args.amount',
    'args.amount == 5.0',
    'args.amount != 6',
    'args.amount >= 5 && args.amount <= 5',
    'args.amount in [1, 5, 7]',
    '5 in args.list',
    'args.list == [5, 6]',
    'args.nested == {"n": 5, "tags": ["a"]}',
    'args.amount + 1 == 6',
    '1 + args.amount == 6',
    '10 - args.amount == 5',
    'args.amount * 2 > 9',
    'args.amount * 1.5 > 7.4',
    'args.amount / 2 == 2.5',
    'args.amount % 2 == 1',
    '7 % args.amount == 2',
    'args.price % args.amount == 0.5',
    '-args.amount < 0',
    'args.price > 5',
    'args.price + 1 > 6',
    'args.list[0] == 5',
    'args.list[args.count - 1] == 6',
    'size(args.list) == args.count',
    'args.amount < tenant.data.limit',
    'args.amount == 5u',
  ])('%s', (source) => {
    expect(ask(source)).toBe(true);
  });

  test.each([
    'args.amount < 5',
    'args.amount == 6',
    'args.amount == "5"',
    'args.name == 5',
    'args.price == 5',
  ])('false: %s', (source) => {
    expect(ask(source)).toBe(false);
  });

  test.each([9_007_199_254_740_991, 1e300, -1e300, 0.1, -0])('%d equals itself', (amount) => {
    expect(ask('args.amount == args.same && args.amount <= args.same', { amount, same: amount })).toBe(true);
    expect(ask('args.amount < 10000000000000000 || args.amount > 1000000', { amount })).toBe(true);
  });
});

test('arithmetic gives the mathematical result, whichever operand is the argument', () => {
  const number = fc.oneof(
    fc.integer({ min: -1000, max: 1000 }),
    fc.double({ min: -1000, max: 1000, noNaN: true }),
  );
  const operator = fc.constantFrom(...Object.keys(paper));
  fc.assert(
    fc.property(number, fc.integer({ min: 1, max: 1000 }), operator, (a, b, sign) => {
      const given = { a, b, ab: paper[sign]!(a, b), ba: paper[sign]!(b, a), minus: -a };
      expect(ask(`args.a ${sign} ${b} == args.ab`, given)).toBe(true);
      expect(ask(`args.a ${sign} args.b == args.ab`, given)).toBe(true);
      expect(ask(`-args.a == args.minus && -(args.a) <= args.minus`, given)).toBe(true);
      if (a !== 0) expect(ask(`${b} ${sign} args.a == args.ba`, given)).toBe(true);
      if (Number.isSafeInteger(given.ab)) expect(ask(`args.a ${sign} ${b} == ${given.ab}`, given)).toBe(true);
      if (Number.isSafeInteger(given.ba)) expect(ask(`${b} ${sign} args.a == ${given.ba}`, given)).toBe(true);
      expect(ask(`args.a < ${b} == (args.a < args.b)`, given)).toBe(true);
    }),
    { numRuns: propertyRuns() },
  );
});

const paper: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
};

describe('a condition sees', () => {
  test.each([
    'caller.id == "ada" && tenant.id == "acme" && tenant.name == "Acme" && tool.name == "pay"',
    '"clerk" in caller.roles && "mail:read" in caller.scopes && tenant.data.plan == "gold"',
    'has(args.nested.n) && !has(args.nested.x) && !has(args.missing)',
    'args["name"].startsWith("he") && args.name.size() == 5',
    'args.nothing == null && args.isUrgent',
    'args.constructor == 1',
    '"a" in args.mixed && args.mixed[1] == "a"',
    'args.list.all(x, x > 4) && args.list.exists(x, x == 6) && args.list.exists_one(x, x == 5)',
    'args.list.filter(x, x > 5) == [6]',
    'args.nested.tags.exists(t, args.list.exists(x, x == args.amount && t == "a"))',
    'args.missing == 1 || args.amount == 5',
  ])('%s', (source) => {
    expect(ask(source)).toBe(true);
  });

  test('keys that have a meaning in JavaScript are ordinary keys', () => {
    const hostile = JSON.parse(
      '{"a":{"constructor":{"name":"Map"},"__proto__":{"x":1},"hasOwnProperty":2},"toString":3}',
    ) as unknown;
    expect(ask('args.a.constructor.name == "Map" && args.a.hasOwnProperty == 2', hostile)).toBe(true);
    expect(ask('has(args.a.x)', hostile)).toBe(false);
    expect(ask('args.toString == 3', hostile)).toBe(true);
    expect(ask('has(args.valueOf)', hostile)).toBe(false);
  });
});

test.each([
  'args.missing < 5',
  'args.name < 5',
  'args.nothing < 3',
  'args.amount',
  'args.nested.n.deeper == 1',
  'args.list[7] == 1',
  'size(args.list) % 0 == 1',
  'timestamp(args.name) < timestamp("2026-01-01T00:00:00Z")',
  'int(args.name) == 1',
])('a condition that cannot be evaluated is neither true nor false: %s', (source) => {
  expect(ask(source)).toBeUndefined();
});

describe('a condition that is refused at load', () => {
  test.each([
    ['args.amount <', /cannot be read/],
    ['', /cannot be read/],
    ['args.amount < 100 )', /cannot be read/],
    [`${'('.repeat(60)}true${')'.repeat(60)}`, /cannot be read/],
    [Array.from({ length: 400 }, () => 'true').join('||'), /cannot be read/],
    ['user.id == "ada"', /Unknown variable: user/],
    ['amount < 100', /Unknown variable: amount/],
    ['process.exit()', /Unknown variable: process/],
    ['args.amount.nope()', /does not make sense/],
    ['nope(args)', /does not make sense/],
    ['1 + 2', /not true or false but a value of type int/],
    ['args', /not true or false but a value of type map/],
    ['caller.roels == []', /"caller" has no field "roels"/],
    ['caller["tenant"] == "x"', /"caller" has no field "tenant"/],
    ['tool.annotations.readOnlyHint', /"tool" has no field "annotations"/],
    ['tenant.secret == 1', /"tenant" has no field "secret"/],
    ['args.list.all(caller, caller > 1)', /"caller" has a meaning of its own/],
    ['args.list.map(x, [x, x]) == []', /"map" cannot be used/],
    ['cel.bind(x, args.list, x == x)', /"bind" cannot be used/],
    ['bytes(args.name).json() == {}', /"json" cannot be used/],
    ['duration(args.name) < duration("1h")', /"duration" is not fixed/],
    ['args.name.matches(args.name)', /"matches" is not a fixed text/],
    ['args.name.matches("(a)\\\\1")', /cannot be tested in linear time/],
    ['args.name.matches("(")', /cannot be tested in linear time/],
    ['args.list.exists(x, has(args.y) && x.matches("(?=a)b"))', /cannot be tested in linear time/],
  ])('%s', (source, message) => {
    const condition = compile(source);
    expect(condition.problem?.message).toMatch(message);
    expect(condition.problem?.remedy).toMatch(/^[A-Z].*\.$/);
    const scope = { args: toConditionValue(args), ...callerScope(localCaller), tool: new Map() };
    expect(condition.holds(scope)).toBeUndefined();
  });
});

const catastrophic: readonly (readonly [pattern: string, text: string])[] = [
  ['^(a|a)*$', `${'a'.repeat(60)}!`],
  ['^(a+)+$', `${'a'.repeat(60)}!`],
  ['^(a*)*$', `${'a'.repeat(60)}!`],
  ['^(a|aa)+$', `${'a'.repeat(90)}!`],
  ['^(a|a?)+$', `${'a'.repeat(60)}!`],
  ['^([a-zA-Z]+)*$', `${'a'.repeat(60)}!`],
  ['^(.*a){20}$', `${'a'.repeat(60)}!`],
  ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(80)],
  ['^(x+x+)+y$', 'x'.repeat(60)],
  ['^([0-9]+)*[^0-9]$', '1'.repeat(60)],
  ['^(([^@]+)*)@$', 'a'.repeat(60)],
  ['^(?:(?:a+)|(?:b+)|(?:ab)+)*c$', 'ab'.repeat(40)],
  ['^(a{1,9}){1,9}$', `${'a'.repeat(60)}!`],
  ['^(([a-c])+)*d$', 'abc'.repeat(25)],
  ['^(.+)+[0-9]$', 'b'.repeat(60)],
  ['(z|z)*y', 'z'.repeat(60)],
  ['^((ab)*)*c$', 'ab'.repeat(40)],
  ['^(1|11|111)*$', `${'1'.repeat(60)}!`],
  ['^([a-z0-9]+[.]?)*@$', 'a'.repeat(60)],
  ['(.*)*=.*', 'q'.repeat(60)],
];

describe('A15 patterns', () => {
  test.each(catastrophic)('A15 the pattern %s gives an answer on a hostile text', (pattern, text) => {
    const source = `args.text.matches(${JSON.stringify(pattern)})`;
    for (const hidden of [
      source,
      `!(${source})`,
      `args.list.exists(t, t.matches(${JSON.stringify(pattern)}))`,
    ])
      expect(ask(hidden, { text, list: [text] })).toBeTypeOf('boolean');
  });

  test('A15 control: the evaluator’s own engine does not finish on the same pattern', () => {
    const text = `${'a'.repeat(60)}!`;
    const evaluate = (): unknown => cel.evaluate('text.matches("^(a+)+$")', { text });
    expect(() => runInNewContext('evaluate()', { evaluate }, { timeout: 100 })).toThrow(/timed out/);
  });

  test('matches() searches a text for a pattern', () => {
    expect(ask('args.name.matches("^h.*o$")')).toBe(true);
    expect(ask('args.name.matches("ell")')).toBe(true);
    expect(ask('args.name.matches("^ell")')).toBe(false);
  });
});

describe('A15 the evaluation time of a condition is limited', () => {
  const long = Array.from({ length: 9_000 }, (_, index) => index);
  const text = 'a'.repeat(400_000);

  test.each([
    [
      'loops over the arguments inside one another',
      'args.list.all(x, args.list.all(y, args.list.all(z, x + y + z >= 0)))',
    ],
    ['a loop that looks at all arguments each time', 'args.list.all(x, x in args.list)'],
    ['one argument sought in another', 'args.text.contains(args.part)'],
    ['a search in every round', 'args.list.all(x, args.text.contains("b") || x >= 0)'],
    ['a loop over what a loop found', 'args.list.filter(x, x >= 0).all(y, args.list.exists(z, z == y))'],
    [
      'text taken apart',
      'args.text.split("").all(x, args.text.split("").exists(y, y == x) || args.list.size() > 0)',
    ],
  ])('A15 %s: has no result with large arguments, and a result with small ones', (_what, source) => {
    expect(ask(source, { list: long, text, part: `b${'a'.repeat(100_000)}` })).toBeUndefined();
    expect(ask(source, { list: [1, 2, 3], text: 'ab', part: 'b' })).toBe(true);
  });

  test.each([
    'args.list.all(x, x >= 0)',
    'args.list.all(x, x in [1, 2] || "clerk" in caller.roles)',
    'caller.roles.exists(r, !args.text.contains(r))',
    '["x", "y"].all(t, !args.text.contains(t))',
    'args.rows.all(row, row.cells.all(cell, cell < 10))',
    '!args.text.contains("b") && 8999 in args.list',
  ])('a condition that takes linear time has a result for arguments of any size: %s', (source) => {
    const rows = Array.from({ length: 3_000 }, () => ({ cells: [1, 2, 3] }));
    expect(ask(source, { list: long, text, rows })).toBe(true);
  });

  test('arguments that are nested too deeply are refused', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 200; level++) deep = [deep];
    expect(() => toConditionValue(deep)).toThrow(RangeError);
  });
});

test('the type that a schema gave to an argument is kept', () => {
  const given = { at: new Date('2026-01-01T00:00:00Z'), left: undefined };
  expect(ask('args.at < timestamp("2026-02-01T00:00:00Z") && !has(args.left)', given)).toBe(true);
});
