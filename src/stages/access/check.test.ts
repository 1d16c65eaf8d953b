import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.ts';
import { accessOptions } from './rules.ts';
import { createAccess } from './authorize.ts';
import { anyItem, canHaveField, type FieldStep } from './reachable-field.ts';

const pay = toolWith('pay', {
  type: 'object',
  properties: {
    amount: { type: 'number' },
    sure: { type: 'boolean' },
    maybe: { type: ['boolean', 'null'] },
    either: { anyOf: [{ type: 'boolean' }, { type: 'string' }] },
    to: { type: 'object', properties: { country: { type: 'string' } } },
    lines: { type: 'array', items: { type: 'object', properties: { price: { type: 'number' } } } },
  },
});
const note = toolWith('note', { type: 'object', properties: { text: { type: 'string' } } });
const anything = toolWith('anything', { type: 'object', properties: {}, additionalProperties: true });

function toolWith(name: string, input: Tool['inputSchema']): Tool {
  return defineTool({ name, description: `Does ${name}.`, input }, () => 'done');
}

async function complaints(when: string, tools: string[] = ['*'], known: readonly Tool[] = [pay, note]) {
  return (await createAccess([{ tools, when }])).check(known);
}

test.each([
  'args.amount < 5',
  'args["amount"] < 5',
  'has(args.amount) && args.to.country == "NL"',
  'args.to["country"] == "NL" && args.lines[0].price < 3',
  'args.lines.all(line, line.price < 3)',
  'args.text == "x"',
  '!has(args.text) || args.text == "x"',
  'args[caller.id] == 1',
  'args == {"nope": 1}',
])('a condition on existing fields is accepted: %s (000-40)', async (when) => {
  expect(await complaints(when)).toEqual([]);
});

test.each([
  ['args.amuont < 5', 'args.amuont'],
  ['args["amuont"] < 5', 'args.amuont'],
  ['args["two words"] == 5', 'args["two words"]'],
  ['has(args.amuont)', 'args.amuont'],
  ['args.to.contry == "NL"', 'args.to.contry'],
  ['has(args.to.contry)', 'args.to.contry'],
  ['args.lines[0].prize < 3', 'args.lines[].prize'],
  ['args.amount.value < 3', 'args.amount.value'],
  ['args.amount[0] < 3', 'args.amount[]'],
  ['args.lines.all(line, line.price < args.limit)', 'args.limit'],
  ['args.amount < 5 ? true : args.nope', 'args.nope'],
  ['[args.nope] == [1] || {"a": args.amount}.a == 1', 'args.nope'],
  ['!(-args.nope > 1)', 'args.nope'],
  ['args.nope[args.amount] == 1', 'args.nope'],
  ['args.lines[args.nope].price == 1', 'args.nope'],
  ['args.constructor == 1', 'args.constructor'],
])('a condition on a field that cannot exist is refused at load: %s (000-40)', async (when, field) => {
  expect(await complaints(when, ['pay'])).toEqual([
    {
      severity: 'error',
      rule: 0,
      path: ['when'],
      message: `The condition names ${field}, which the tool "pay" does not have.`,
      remedy: 'Use a field of the input schema, or declare this one there.',
    },
  ]);
});

test.each([
  ['args.node.w == 1', 'args.node.w'],
  ['args.node.next.next.w == 1', 'args.node.next.next.w'],
  ['args.way.r == 1', 'args.way.r'],
  ['args.r == 1', 'args.r'],
  ['args.node.v', 'args.node.v'],
])(
  'a field that cannot exist is detected through references and branches: %s (000-40)',
  async (when, field) => {
    const walk = toolWith('walk', {
      type: 'object',
      properties: {
        node: { $ref: '#/$defs/node' },
        way: { anyOf: [{ type: 'string' }, { type: 'object', properties: { km: { type: 'number' } } }] },
      },
      anyOf: [{ required: ['node'] }, { properties: { by: { type: 'string' } } }],
      $defs: {
        node: {
          type: 'object',
          properties: { v: { type: 'number' }, next: { $ref: '#/$defs/node' } },
          additionalProperties: false,
        },
      },
    });
    const good = 'args.node.next.next.v == 1 && args.way.km == 1 && args.way == "x" && args.by == "foot"';
    expect(await complaints(good, ['walk'], [walk])).toEqual([]);
    const found = await complaints(when, ['walk'], [walk]);
    expect(found).toMatchObject([{ severity: 'error', path: ['when'] }]);
    expect(found[0]!.message).toContain(` ${field}`);
  },
);

test('a schema that several branches refer to is checked once', () => {
  const branches = Array.from({ length: 100 }, () => ({ properties: { a: { $ref: '#/$defs/x' } } }));
  const schema = { $ref: '#/$defs/x', $defs: { x: { anyOf: branches } } };
  expect(canHaveField(schema, [...Array.from({ length: 20 }, () => 'a'), 'b'])).toBe(false);
});

test.each([
  ['args.amount', 'args.amount'],
  ['args["amount"]', 'args.amount'],
  ['!args.amount', 'args.amount'],
  ['args.sure && args.to.country', 'args.to.country'],
  ['args.amount > 1 || (args.to && args.sure)', 'args.to'],
  ['args.amount ? true : args.sure', 'args.amount'],
  ['args.sure ? args.lines : true', 'args.lines'],
  ['args.lines[0].price', 'args.lines[].price'],
])(
  'a condition that uses a field of another type as a boolean is refused at load: %s',
  async (when, field) => {
    expect(await complaints(when, ['pay'])).toEqual([
      {
        severity: 'error',
        rule: 0,
        path: ['when'],
        message: `The condition takes ${field} for true or false, which it is not.`,
        remedy: 'Compare it with something, or ask whether it is there with has(...).',
      },
    ]);
  },
);

test.each([
  'args.sure',
  '!args.sure || args.amount > 1',
  'args.maybe && args.either',
  'has(args.amount)',
  'args.to[caller.id]',
])('a condition that uses a possible boolean is accepted: %s', async (when) => {
  expect(await complaints(when, ['pay'])).toEqual([]);
});

test('a field needs to be a boolean in only one of the tools', async () => {
  const flag = toolWith('flag', { type: 'object', properties: { amount: { type: 'boolean' } } });
  expect(await complaints('args.amount', ['*'], [pay, flag])).toEqual([]);
  expect(await complaints('args.amount', ['*'], [pay, anything])).toEqual([]);
  expect(await complaints('args.amount', ['*'], [pay, note])).toHaveLength(1);
});

test('a field needs to exist in only one of the tools, or a tool that accepts anything', async () => {
  expect(await complaints('args.text == "x"', ['pay', 'note'])).toEqual([]);
  expect(await complaints('args.nope == 1', ['*'], [pay, anything])).toEqual([]);
  expect((await complaints('args.nope == 1'))[0]?.message).toBe(
    'The condition names args.nope, which none of its tools has.',
  );
});

test('every missing field is named once', async () => {
  const found = await complaints('args.x == 1 || args.y == 2 || args.x == 3', ['pay']);
  expect(found.map(({ message }) => message)).toEqual([
    expect.stringContaining('args.x') as string,
    expect.stringContaining('args.y') as string,
  ]);
});

test.each(['args.amount <', 'nobody.id == 1', 'size(args) + 1', 'tool.annotations.readOnlyHint'])(
  'an invalid condition is refused at load: %s',
  async (when) => {
    expect(await complaints(when)).toEqual([
      {
        severity: 'error',
        rule: 0,
        path: ['when'],
        message: expect.any(String) as string,
        remedy: expect.any(String) as string,
      },
    ]);
  },
);

test('a rule that matches no known tool is only a warning, and its fields are not checked', async () => {
  const access = await createAccess([
    { tools: ['pay'] },
    { tools: ['later_*'], when: 'args.nope == 1' },
    { prompts: ['hello'] },
    { resources: ['demo:*'], tools: ['gone'] },
  ]);
  const found = access.check([pay]);
  expect(found.map(({ severity, rule, path }) => [severity, rule, path])).toEqual([
    ['warning', 1, ['tools']],
    ['warning', 3, ['tools']],
  ]);
});

test.each<[unknown, readonly FieldStep[], boolean]>([
  [{ type: 'object', properties: { a: true } }, ['a', 'b'], true],
  [{ type: 'object', properties: { a: false } }, ['a', 'b'], false],
  [{ type: 'object' }, ['a'], true],
  [{ type: 'object', additionalProperties: false }, ['a'], false],
  [{ type: 'object', properties: {}, patternProperties: { '^x': {} } }, ['a'], true],
  [{ type: 'object', properties: {}, additionalProperties: { type: 'string' } }, ['a'], true],
  [{ type: 'object', properties: {}, additionalProperties: { type: 'string' } }, ['a', 'b'], false],
  [{ type: ['object', 'null'], properties: { a: {} } }, ['a'], true],
  [{ properties: { a: {} }, anyOf: [{ required: ['a'] }, {}] }, ['b'], false],
  [{ anyOf: [{ properties: { a: {} } }, { properties: { b: {} } }] }, ['b'], true],
  [{ anyOf: [{ properties: { a: {} } }, { type: 'object' }] }, ['b'], true],
  [{ oneOf: [{ type: 'string' }, { properties: { a: {} } }] }, ['b'], false],
  [{ oneOf: [{ type: 'string' }, { type: 'null' }] }, ['b'], false],
  [{ allOf: [{ properties: { a: {} } }, { properties: { b: {} } }] }, ['b'], true],
  [{ allOf: [{ properties: { a: {} } }, { properties: { b: {} } }] }, ['c'], false],
  [{ properties: { a: {} }, allOf: [{ additionalProperties: true }] }, ['c'], true],
  [{ properties: { a: {} }, if: {}, then: { properties: { b: {} } } }, ['b'], true],
  [{ properties: { a: {} }, if: {}, then: { properties: { b: {} } } }, ['c'], false],
  [{ dependentSchemas: { a: { properties: { b: {} } } }, properties: { a: {} } }, ['b'], true],
  [{ anyOf: [{ items: { properties: { a: {} } } }, { type: 'string' }] }, [anyItem, 'b'], false],
  [{ anyOf: [{ items: { properties: { a: {} } } }, { type: 'string' }] }, [anyItem, 'a'], true],
  [{ $ref: '#/$defs/x', $defs: { x: { properties: { b: {} } } } }, ['b'], true],
  [{ $ref: '#/$defs/x', $defs: { x: { properties: { b: {} } } } }, ['c'], false],
  [{ $ref: '#x', $defs: { x: { $anchor: 'x', properties: { b: {} } } } }, ['c'], false],
  [{ properties: { a: { $ref: '#' } } }, ['a', 'a', 'a'], true],
  [{ properties: { a: { $ref: '#' } } }, ['a', 'a', 'b'], false],
  [{ $ref: '#' }, ['a'], true],
  [{ $ref: '#/$defs/x' }, ['b'], true],
  [{ properties: { a: {} } }, ['toString'], false],
])('with the schema %j, the field %j can exist: %s', (schema, path, expected) => {
  expect(canHaveField(schema, path)).toBe(expected);
});

test.each([
  [{}, /needs tools, prompts or resources/],
  [{ roles: ['x'], tools: [] }, /needs tools, prompts or resources/],
  [{ tools: ['a'], prompts: ['b'], when: 'true' }, /for tools alone/],
  [{ resources: ['a'], when: 'true' }, /for tools alone/],
  [{ tools: ['a'], when: 'x'.repeat(2_001) }, /2000/],
  [{ tools: ['a'], role: ['admin'] }, /role/],
  [{ tools: ['a'], effect: 'perhaps' }, /effect|allow/],
])('%j is not a valid rule', (rule, message) => {
  const { error } = accessOptions.safeParse([rule]);
  expect(z.prettifyError(error!)).toMatch(message);
});
