import { type } from 'arktype';
import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { ToolContext } from '../core/context.ts';
import type { FromJsonSchema } from './infer.ts';
import { ToolRegistry } from '../core/registry.ts';
import { defineTool, type Tool } from '../core/tool.ts';

const described = { name: 'try_types', description: 'Shows what a handler receives.' };

test('a handler receives the output of its Zod schema: defaults filled in, values transformed', async () => {
  const input = z.object({
    query: z.string(),
    limit: z.number().default(10),
    tags: z.string().transform((text) => text.split(',')),
    exact: z.boolean().optional(),
  });
  const tool = defineTool({ ...described, input }, (args) => {
    expectTypeOf(args).toEqualTypeOf<{
      query: string;
      limit: number;
      tags: string[];
      exact?: boolean | undefined;
    }>();
    return args;
  });
  const received = await new ToolRegistry()
    .registerTool(tool)
    .execute('try_types', { query: 'a', tags: 'x,y' });
  expect(received).toEqual({ query: 'a', limit: 10, tags: ['x', 'y'] });
});

test('a handler receives what its ArkType schema describes', async () => {
  const input = type({
    city: 'string',
    'days?': '1 <= number.integer <= 14',
    units: "'metric' | 'imperial' = 'metric'",
  });
  const tool = defineTool({ ...described, input }, (args) => {
    expectTypeOf(args).toEqualTypeOf<{ city: string; days?: number; units: 'metric' | 'imperial' }>();
    return args;
  });
  const received = await new ToolRegistry().registerTool(tool).execute('try_types', { city: 'Oslo' });
  expect(received).toEqual({ city: 'Oslo', units: 'metric' });
});

test('a handler receives the types of its JSON Schema, read from the literal', async () => {
  const tool = defineTool(
    {
      ...described,
      input: {
        type: 'object',
        properties: {
          table: { type: 'string' },
          limit: { type: 'integer', default: 10 },
          order: { enum: ['up', 'down'] },
          columns: { type: 'array', items: { type: 'string' } },
          value: { type: ['string', 'number', 'boolean', 'null'] },
          where: { type: 'object', properties: { id: { type: 'number' } }, required: ['id'] },
        },
        required: ['table'],
      },
    },
    (args) => {
      expectTypeOf(args).toEqualTypeOf<{
        table: string;
        limit: number;
        order?: 'up' | 'down';
        columns?: string[];
        value?: string | number | boolean | null;
        where?: { id: number };
      }>();
      return args;
    },
  );
  const received = await new ToolRegistry().registerTool(tool).execute('try_types', { table: 'pages' });
  expect(received).toEqual({ table: 'pages', limit: 10 });
});

test('a handler without an input schema receives an empty object', () => {
  const tool = defineTool(described, (args, context) => {
    expectTypeOf(args).toEqualTypeOf<{}>();
    expectTypeOf(context).toEqualTypeOf<ToolContext>();
  });
  expect(tool.inputSchema.properties).toEqual({});
});

test('types are inferred from JSON Schema where possible, and are unknown elsewhere', () => {
  expectTypeOf<FromJsonSchema<{ const: 'a' }>>().toEqualTypeOf<'a'>();
  expectTypeOf<FromJsonSchema<{ type: 'null' }>>().toEqualTypeOf<null>();
  expectTypeOf<FromJsonSchema<{ type: 'array' }>>().toEqualTypeOf<unknown[]>();
  expectTypeOf<FromJsonSchema<{ type: 'object' }>>().toEqualTypeOf<Record<string, unknown>>();
  expectTypeOf<FromJsonSchema<{ properties: { a: { type: 'string' } } }>>().toEqualTypeOf<{ a?: string }>();
  expectTypeOf<FromJsonSchema<{ anyOf: readonly [{ type: 'string' }, { type: 'integer' }] }>>().toEqualTypeOf<
    string | number
  >();
  expectTypeOf<FromJsonSchema<{ oneOf: readonly [{ const: 1 }, { type: 'boolean' }] }>>().toEqualTypeOf<
    1 | boolean
  >();
  expectTypeOf<FromJsonSchema<{ $ref: '#/$defs/a' }>>().toEqualTypeOf<unknown>();
  expect(described.name).toBe('try_types');
});

test('a handler must return a value that fits the output schema, an error or a whole result', () => {
  const output = z.object({ count: z.number() });
  const define = (handler: Parameters<typeof defineTool<{}, typeof output>>[1]): Tool<never> =>
    defineTool<{}, typeof output>({ ...described, output }, handler);
  expectTypeOf(() => ({ count: 1 })).toExtend<Parameters<typeof define>[0]>();
  expectTypeOf(() => Promise.resolve({ count: 1 })).toExtend<Parameters<typeof define>[0]>();
  expectTypeOf(() => ({ error: 'Nothing to count' })).toExtend<Parameters<typeof define>[0]>();
  expectTypeOf(() => ({ success: false as const, code: 404 })).toExtend<Parameters<typeof define>[0]>();
  expectTypeOf(() => ({ content: [], structuredContent: { count: 1 } })).toExtend<
    Parameters<typeof define>[0]
  >();
  expectTypeOf(() => ({ count: 'one' })).not.toExtend<Parameters<typeof define>[0]>();
  expectTypeOf(() => 'one').not.toExtend<Parameters<typeof define>[0]>();
  expectTypeOf(() => undefined).not.toExtend<Parameters<typeof define>[0]>();
  expect(define(() => ({ count: 1 })).outputSchema).toMatchObject({ required: ['count'] });
});

test('without an output schema a handler may return anything', () => {
  const answers = [
    () => 'text',
    () => 7,
    () => undefined,
    () => [{ type: 'text', text: 'a' }],
    async () => null,
  ];
  const tools = answers.map((handler) => defineTool(described, handler));
  expect(tools).toHaveLength(5);
});
