import { type } from 'arktype';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { ToolCall } from '../call.ts';
import { localCaller } from '../caller.ts';
import { Cancellation } from '../../base/cancellation.ts';
import { rowOf, ToolcribError } from '../../base/errors.ts';
import { Interview } from '../interview.ts';
import { CallRecord } from '../record.ts';
import { ToolRegistry } from '../registry.ts';
import type { Result } from '../result.ts';
import type { JsonSchema, SchemaLike } from '../../schema/schema.ts';
import { withStages } from '../stage.ts';
import { defineTool, type Tool } from '../tool.ts';
import { checkArguments, validateInput, validateOutput } from './validate.ts';

test('arguments and results are both checked against their schemas (004-01)', async () => {
  const double = defineTool(
    {
      name: 'double',
      description: 'Doubles a number, or promises to.',
      input: { properties: { n: { type: 'integer' } }, required: ['n'] },
      output: { type: 'object', properties: { n: { type: 'integer', maximum: 10 } }, required: ['n'] },
    },
    ({ n }) => ({ n: n * 2 }),
  );
  expect(await run(double, { n: 2 })).toEqual({ kind: 'done', data: { n: 4 } });
  await expect(run(double, { n: 'two' })).rejects.toMatchObject({ code: 'invalid_arguments' });
  await expect(run(double, { n: 6 })).rejects.toMatchObject({ code: 'invalid_output' });
});

test('invalid arguments never reach the handler, and the model gets each field and rule', async () => {
  const calls: unknown[] = [];
  const send = defineTool(
    {
      name: 'send_email',
      description: 'Sends an email.',
      input: { properties: { to: { type: 'string', format: 'email' } }, required: ['to', 'subject'] },
    },
    (args) => calls.push(args),
  );
  await expect(run(send, { to: 'nobody' })).rejects.toMatchObject({
    code: 'invalid_arguments',
    message: 'Invalid arguments for send_email: subject: is required; to: must match format "email"',
  });
  expect(calls).toEqual([]);
});

test('C6 arguments that break the schema are reported to the model in a result, in every revision', async () => {
  const input = { properties: { n: { type: 'integer' } } };
  const refusal: unknown = await run(echo(input), { n: 'two' }).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(ToolcribError);
  expect(rowOf((refusal as ToolcribError).code).reply).toBe('result');
});

test('C7 a value out of range is refused, and never changed into it', async () => {
  const seen: unknown[] = [];
  const list = defineTool(
    {
      name: 'list',
      description: 'Lists.',
      input: { properties: { limit: { type: 'integer', minimum: 1, maximum: 100 } } },
    },
    (args) => seen.push(args),
  );
  await expect(run(list, { limit: 101 })).rejects.toThrow('limit: must be <= 100');
  await expect(run(list, { limit: 0 })).rejects.toThrow('limit: must be >= 1');
  await run(list, { limit: 100 });
  expect(seen).toEqual([{ limit: 100 }]);
});

test('a Zod schema can word its own messages', async () => {
  const input = z.object({ query: z.string().min(2, 'Query must be at least 2 characters') });
  await expect(run(echo(input), { query: 'a' })).rejects.toMatchObject({
    message: 'Invalid arguments for echo: query: Query must be at least 2 characters',
  });
});

test('a Zod schema transforms, fills in defaults and removes unknown fields', async () => {
  const input = z.object({ query: z.string().trim(), limit: z.number().default(10) });
  expect(await run(echo(input), { query: ' a ', debug: true })).toEqual({
    kind: 'done',
    data: { query: 'a', limit: 10 },
  });
});

test('a Zod schema may have an asynchronous check', async () => {
  const input = z.object({ id: z.string().refine(async (id) => id === 'free', 'is taken') });
  expect(await run(echo(input), { id: 'free' })).toMatchObject({ data: { id: 'free' } });
  await expect(run(echo(input), { id: 'used' })).rejects.toMatchObject({
    message: 'Invalid arguments for echo: id: is taken',
  });
});

test('an asynchronous Zod check runs once a call from the second call on, and leaves no unhandled rejection', async () => {
  const seen: string[] = [];
  const check = async (id: string): Promise<boolean> => {
    seen.push(id);
    if (id === 'lost') throw new Error('The database is gone.');
    return id === 'free';
  };
  const tool = echo(z.object({ id: z.string().refine(check, 'is taken') }));
  expect(await run(tool, { id: 'free' })).toMatchObject({ data: { id: 'free' } });
  seen.length = 0;
  const leftOver: unknown[] = [];
  const note = (reason: unknown): void => void leftOver.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  await expect(run(tool, { id: 'used' })).rejects.toThrow('Invalid arguments for echo: id: is taken');
  await expect(run(tool, { id: 'lost' })).rejects.toMatchObject({ code: 'tool_failed' });
  await new Promise((resolve) => setTimeout(resolve));
  expect({ seen, leftOver }).toEqual({ seen: ['used', 'lost'], leftOver: [] });
});

test('an ArkType schema checks and fills in defaults', async () => {
  const input = type({ city: 'string', days: 'number = 3' });
  expect(await run(echo(input), { city: 'Oslo' })).toMatchObject({ data: { city: 'Oslo', days: 3 } });
  await expect(run(echo(input), { city: 7 })).rejects.toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringContaining('city must be a string'),
  });
});

test('plain JSON Schema checks, fills in defaults and keeps fields it does not know', async () => {
  const input = { properties: { limit: { type: 'integer', default: 10 } } };
  expect(await run(echo(input), { extra: 1 })).toEqual({ kind: 'done', data: { extra: 1, limit: 10 } });
  await expect(run(echo(input), { limit: 'ten' })).rejects.toMatchObject({ code: 'invalid_arguments' });
});

test('validateParameters returns the arguments as a handler gets them', async () => {
  expect(await checkArguments(echo(z.object({ limit: z.number().default(10) })), {})).toEqual({ limit: 10 });
});

test('output that breaks the output schema is a failure of the tool: the caller gets no details, the log has all', async () => {
  const broken = defineTool(
    { name: 'count', description: 'Counts.', output: z.object({ total: z.number() }) },
    () => ({ total: 'secret' }) as never,
  );
  await expect(run(broken, {})).rejects.toMatchObject({
    code: 'invalid_output',
    message: 'count returned something other than it promises; it needs to be repaired.',
    cause: { message: expect.stringContaining('Output of count: total: ') },
  });
});

test('content without data does not satisfy an output schema', async () => {
  const output = { type: 'object' } as const;
  const shy = defineTool({ name: 'shy', description: 'Says little.', output }, () => ({
    content: [{ type: 'text', text: 'done' }],
  }));
  await expect(run(shy, {})).rejects.toMatchObject({ code: 'invalid_output' });
});

test('a failed result need not match the output schema', async () => {
  const output = z.object({ total: z.number() });
  const failing = defineTool({ name: 'count', description: 'Counts.', output }, () => ({
    error: 'Nothing here',
  }));
  expect(await run(failing, {})).toEqual({ kind: 'failed', data: { error: 'Nothing here' } });
});

test('an output schema may fill in defaults and remove unknown fields', async () => {
  const output = z.object({ total: z.number(), unit: z.string().default('pages') });
  const count = defineTool({ name: 'count', description: 'Counts.', output }, () => ({
    content: [{ type: 'text', text: '3 pages' }],
    structuredContent: { total: 3, secret: 'x' },
  }));
  expect(await run(count, {})).toEqual({
    kind: 'done',
    content: [{ type: 'text', text: '3 pages' }],
    data: { total: 3, unit: 'pages' },
  });
});

test.each<[what: string, output: JsonSchema, returned: unknown]>([
  ['a list', { type: 'array', items: { type: 'number' } }, [1, 2]],
  ['text', { type: 'string' }, 'plain'],
  ['null', { type: 'null' }, null],
])('an output schema may describe %s', async (_what, output, returned) => {
  const tool = defineTool({ name: 'give', description: 'Gives.', output }, () => returned);
  expect(await run(tool, {})).toEqual({ kind: 'done', data: returned });
});

test('a tool without an output schema has no extra cost for it', () => {
  const next = (): Result => ({ kind: 'done' });
  expect(validateOutput.wrap?.(echo({}), next)).toBe(next);
});

function echo(input: SchemaLike): Tool {
  return defineTool({ name: 'echo', description: 'Returns its arguments.', input }, (args) => args);
}

/** Calls a tool behind both checks, as a server does. */
async function run(tool: Tool<never>, args: ToolCall['arguments']): Promise<Result> {
  const registry = new ToolRegistry().registerTool(tool);
  return withStages(registry, [validateInput, validateOutput]).call({
    kind: 'tool',
    tool,
    arguments: args,
    caller: localCaller,
    client: { name: undefined, version: undefined, protocolVersion: undefined, capabilities: {} },
    meta: {},
    cancellation: new Cancellation(),
    record: new CallRecord(),
    interview: new Interview(),
    voice: {},
  });
}
