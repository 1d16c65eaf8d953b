import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import type { Call, PromptCall, ToolCall } from '../../core/call.ts';
import { definePrompt } from '../../core/prompts/prompt.ts';
import { withStages } from '../../core/stage.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import { validateInput } from '../../core/essentials/validate.ts';
import { createTestCall, recordingSource } from '../../testing.ts';
import { sanitizeInput } from './sanitize-input.ts';

type Options = Parameters<typeof sanitizeInput>[0];
type Arguments = Record<string, unknown>;

const anything = defineTool({ name: 'take', description: 'Takes.', input: { type: 'object' } }, () => 'done');

describe('control characters', () => {
  test('NUL and control characters are removed from text; tabs and line breaks stay (000-38)', async () => {
    const args = {
      name: 'a\0b\u001b[31m\u0085\u007f',
      list: ['x\u0007', { deep: 'y\b' }],
      ok: '\ta\r\nb',
    };
    expect(await pass(args)).toEqual({
      name: 'ab[31m',
      list: ['x', { deep: 'y' }],
      ok: '\ta\r\nb',
    });
  });

  test('a lone surrogate in text becomes U+FFFD; whole characters stay', async () => {
    const args = {
      list: ['a\udc00b', '\ud83d\ude00'],
      deep: { text: '\ude00\ud83d', joined: '\ud83d\0\ude00' },
    };
    expect(await pass(args)).toEqual({
      list: ['a\ufffdb', '😀'],
      deep: { text: '\ufffd\ufffd', joined: '😀' },
    });
  });

  test.each([
    ['reg\u0001ion', 'region'],
    ['__pro\u0001to__', '__proto__'],
    ['a\0', 'a'],
    ['a\tb', 'a\tb'],
    ['a\nb', 'a\nb'],
    ['a\u0085', 'a'],
    ['a\u007f', 'a'],
    ['k\ud800', 'k\ufffd'],
  ])('A14 the key %j is refused with its place, and never becomes another key', async (key, shown) => {
    const problem = 'contains a control character or a lone surrogate; send it without';
    for (const [args, place] of [
      [{ [key]: 1 }, ''],
      [{ list: [{}, { [key]: 1 }] }, 'list[1].'],
      [{ a: 1, [key]: 2, deep: { a: 'x\0' } }, ''],
    ] as const)
      await expect(pass(args)).rejects.toMatchObject({
        code: 'invalid_arguments',
        message: `Invalid arguments for take: ${place}${shown}: ${problem}`,
      });
  });

  test('A3 an argument that a header repeats is refused instead of cleaned', async () => {
    const properties = {
      zone: { type: 'string', 'x-mcp-header': 'Zone' },
      deep: { type: 'object', properties: { flag: { type: 'boolean', 'x-mcp-header': 'Flag' } } },
      note: { type: 'string' },
    };
    const mirrored = defineTool(
      { name: 'take', description: 'Takes.', input: { properties } },
      () => '',
    ) as Tool;
    await expect(pass({ zone: 'e\u0001u', note: 'x' }, {}, mirrored)).rejects.toMatchObject({
      code: 'invalid_arguments',
      message:
        'Invalid arguments for take: zone: contains control characters, and is repeated in a header; send it without them',
    });
    expect(await pass({ zone: 'eu', note: 'x\u0001' }, {}, mirrored)).toEqual({ zone: 'eu', note: 'x' });
    const coerced = await pass({ deep: { flag: 'true' } }, { coerce: true }, mirrored);
    expect(coerced).toEqual({ deep: { flag: true } });
  });

  test('control: without the stage, control characters reach the tool (000-38)', async () => {
    const source = recordingSource(anything);
    await withStages(source, []).call(callOf(anything, { a: 'b\0' }));
    expect((source.calls[0] as ToolCall).arguments).toEqual({ a: 'b\0' });
  });

  test('arguments with nothing to change stay the same object', async () => {
    const args = { a: 'text ✓', b: [1, null, true, { c: 'مرحبا' }], __proto: 1 };
    expect(await pass(args)).toBe(args);
    const { b: kept } = (await pass({ ...args, a: 'x\0' })) as typeof args;
    expect(kept).toBe(args.b);
  });

  test('no control character reaches the tool, and a second cleaning changes nothing (000-38)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), async (args) => {
        const once = await pass(args).catch(() => ({}));
        expect(JSON.stringify(once)).not.toMatch(/\\u00[01]|[\u007f-\u009f]/);
        expect(Object.keys(once).filter((key) => !Object.hasOwn(args, key))).toEqual([]);
        expect(await pass(once)).toBe(once);
      }),
      { numRuns: propertyRuns() },
    );
  });

  test('a field named __proto__ stays a field', async () => {
    const args = JSON.parse('{"__proto__":{"admin":"a\\u0000"}}') as Arguments;
    const clean = await pass(args);
    expect(JSON.stringify(clean)).toBe('{"__proto__":{"admin":"a"}}');
    expect(Object.getPrototypeOf(clean)).toBe(Object.prototype);
  });

  test('the arguments of a prompt are cleaned too (000-38)', async () => {
    const prompt = definePrompt({ name: 'greet', arguments: { who: {} } }, () => '');
    const { tool: _tool, ...base } = callOf(anything, {});
    const call: PromptCall = { ...base, kind: 'prompt', prompt, arguments: { who: 'Ada\0' } };
    const seen: Call[] = [];
    const line = sanitizeInput().wrapReading!((reading) => {
      seen.push(reading);
      return { kind: 'done' };
    });
    await line(call);
    await line({
      ...base,
      kind: 'completion',
      target: prompt,
      argument: { name: 'who', value: 'A\0' },
      chosen: {},
    });
    expect(seen).toMatchObject([{ arguments: { who: 'Ada' } }, { argument: { value: 'A' } }]);
    expect(() => sanitizeInput({ maxStringLength: 3 }).wrapReading!(() => ({ kind: 'done' }))(call)).toThrow(
      'Invalid arguments: who: is longer than 3 characters',
    );
  });
});

describe('limits', () => {
  test('text that is too long is refused with the name of its field (000-38)', async () => {
    const args = { filter: { names: ['ok', 'x'.repeat(11)] } };
    await expect(pass(args, { maxStringLength: 10 })).rejects.toMatchObject({
      code: 'invalid_arguments',
      message: 'Invalid arguments for take: filter.names[1]: is longer than 10 characters; send less',
    });
    await expect(pass({ ['x'.repeat(11)]: 1 }, { maxStringLength: 10 })).rejects.toThrow('is longer than 10');
    await expect(pass(args, { maxStringLength: 11 })).resolves.toBe(args);
    await expect(pass({ a: 'x'.repeat(1_000_001) })).rejects.toThrow('a: is longer than 1000000 characters');
  });

  test('data that is nested too deeply is refused with the name of its field (000-38)', async () => {
    const nest = (levels: number): Arguments => {
      let value: unknown = 1;
      for (let level = 1; level < levels; level++) value = [value];
      return { a: value };
    };
    await expect(pass(nest(32))).resolves.toEqual(nest(32));
    await expect(pass(nest(33))).rejects.toThrow(
      /^Invalid arguments for take: a\[0\].*: is nested deeper than 32 levels/,
    );
    await expect(pass(nest(100_000))).rejects.toMatchObject({ code: 'invalid_arguments' });
    await expect(pass({ a: { b: 1 } }, { maxDepth: 1 })).rejects.toThrow('a: is nested deeper than 1 levels');
  });

  test('C7 an error message does not repeat the hidden characters of a name', async () => {
    const name = 'na\u001b[31m\u202eme';
    await expect(pass({ [name]: 1 })).rejects.toThrow('Invalid arguments for take: name: contains a control');
    const long = { 'na\u202eme': 'xxxxxxxxxxxx'.repeat(9) };
    await expect(pass(long, { maxStringLength: 20 })).rejects.toThrow('take: name: is longer');
  });
});

describe('coercion', () => {
  const typed = defineTool(
    {
      name: 'typed',
      description: 'Takes types.',
      input: {
        type: 'object',
        properties: {
          count: { type: 'integer' },
          ratio: { type: 'number' },
          on: { type: 'boolean' },
          name: { type: 'string' },
          maybe: { type: ['integer', 'null'] },
          either: { type: ['integer', 'string'] },
          list: { type: 'array', items: { type: 'integer' } },
          pair: { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'string' }] },
          nested: { $ref: '#/$defs/nested' },
          free: {},
        },
        additionalProperties: { type: 'integer' },
        $defs: { nested: { type: 'object', properties: { on: { type: 'boolean' } } } },
      },
    },
    () => 'done',
  ) as Tool;

  test.each<[given: Arguments, taken: Arguments]>([
    [{ count: '5' }, { count: 5 }],
    [{ count: '-5' }, { count: -5 }],
    [{ ratio: '0.25' }, { ratio: 0.25 }],
    [{ on: 'true' }, { on: true }],
    [{ on: 'false' }, { on: false }],
    [{ name: 5 }, { name: '5' }],
    [{ name: 0.5 }, { name: '0.5' }],
    [{ maybe: '5' }, { maybe: 5 }],
    [{ either: '5' }, { either: '5' }],
    [{ list: ['1', 2] }, { list: [1, 2] }],
    [{ pair: ['1', 2, '3'] }, { pair: [1, '2', '3'] }],
    [{ nested: { on: 'true' } }, { nested: { on: true } }],
    [{ other: '7' }, { other: 7 }],
    [{ free: '5' }, { free: '5' }],
  ])('%j is converted to %j (000-38)', async (given, taken) => {
    expect(await pass(given, { coerce: true }, typed)).toEqual(taken);
    expect(await pass(given, {}, typed)).toBe(given);
  });

  test.each<Arguments>([
    ...['5.0', '05', ' 5', '5 ', '1e3', '0x10', '', '-0', '9007199254740993', '5.5', 'NaN', 'Infinity'].map(
      (count) => ({ count }),
    ),
    ...['True', '1', 'yes', ''].map((on) => ({ on })),
    { on: 1 },
    { ratio: '0.1000' },
    { name: 2 ** 53 },
    { name: null },
    { name: ['a'] },
    { name: true },
    { count: null },
    { count: ['5'] },
    { list: '5' },
  ])('%j is not converted, because the conversion would lose information (000-38)', async (given) => {
    expect(await pass(given, { coerce: true }, typed)).toBe(given);
  });

  test('a call with converted arguments passes validation, and is refused without the conversion (000-38)', async () => {
    const call = callOf(typed, { count: '5', on: 'true' });
    const line = (options: Options): unknown =>
      withStages(recordingSource(typed), [sanitizeInput(options), validateInput]).call(call);
    expect(await line({ coerce: true })).toMatchObject({ kind: 'done' });
    expect(() => line({})).toThrow('count: must be of type integer');
  });
});

describe('unknown fields', () => {
  const strict = defineTool(
    {
      name: 'strict',
      description: 'Takes little.',
      input: {
        type: 'object',
        properties: {
          a: { type: 'string' },
          inner: { type: 'object', properties: { b: {} }, additionalProperties: false },
          open: { type: 'object' },
          matched: { type: 'object', patternProperties: { '^x': {} }, additionalProperties: false },
        },
        additionalProperties: false,
      },
    },
    () => 'done',
  ) as Tool;
  const given = {
    a: 'x',
    extra: 1,
    inner: { b: 1, c: 2 },
    open: { d: 3 },
    matched: { y: 4 },
    constructor: 5,
  };

  test('dropUnknown removes the fields that the schema forbids, and no others (000-38)', async () => {
    expect(await pass(given, { dropUnknown: true }, strict)).toStrictEqual({
      a: 'x',
      inner: { b: 1 },
      open: { d: 3 },
      matched: { y: 4 },
    });
    expect(await pass(given, {}, strict)).toBe(given);
  });

  test('without dropUnknown validation refuses the fields that the schema forbids (000-38)', () => {
    const line = withStages(recordingSource(strict), [sanitizeInput(), validateInput]);
    expect(() => line.call(callOf(strict, { a: 'x', extra: 1 }))).toThrow('extra: is not a known field');
  });
});

async function pass(args: Arguments, options: Options = {}, tool: Tool = anything): Promise<Arguments> {
  const source = recordingSource(tool);
  await withStages(source, [sanitizeInput(options)]).call(callOf(tool, args));
  return (source.calls[0] as ToolCall).arguments;
}

function callOf(tool: Tool, args: Arguments): ToolCall {
  return createTestCall(tool, { arguments: args });
}
