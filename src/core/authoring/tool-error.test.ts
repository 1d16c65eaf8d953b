import { expect, test } from 'vitest';
import { z } from 'zod';
import { createFakeClock, createTestCall } from '../../testing.ts';
import { ToolRegistry } from '../registry.ts';
import { toResult } from '../result.ts';
import { runLocally } from '../run-locally.ts';
import { toolError } from './tool-error.ts';
import { defineTool } from '../tool.ts';

const noon = Date.UTC(2026, 0, 15, 12);

test.each(['Missing required field', 'Text field must be string', 'Limit must be between 1 and 100'])(
  'a handler that returns toolError with "%s" makes the call fail (001-53)',
  (message) => {
    expect(toolError(message)).toEqual({ error: message });
    expect(toResult(toolError(message))).toEqual({ kind: 'failed', data: { error: message } });
  },
);

test('extra fields of an error are sent with it and cannot replace it (001-53)', () => {
  expect(toolError('Unknown article', { sku: 'A1' })).toEqual({ error: 'Unknown article', sku: 'A1' });
  expect(toolError('Unknown article', { error: 'none' })).toEqual({ error: 'Unknown article' });
});

const fields = z.object({
  text: z.string({
    error: ({ input }) => (input === undefined ? 'Missing required field' : 'Text field must be string'),
  }),
  limit: z
    .int()
    .min(1, 'Limit must be between 1 and 100')
    .max(100, 'Limit must be between 1 and 100')
    .default(10),
  query: z.string().min(2, 'Query must be at least 2 characters').default('all'),
});

test.each([
  [{}, 'text: Missing required field'],
  [{ text: 5 }, 'text: Text field must be string'],
  [{ text: 'a', limit: 0 }, 'limit: Limit must be between 1 and 100'],
  [{ text: 'a', limit: 101 }, 'limit: Limit must be between 1 and 100'],
  [{ text: 'a', query: 'b' }, 'query: Query must be at least 2 characters'],
])(
  'for %j the model gets the message that the author gave to the rule (000-28, 001-53)',
  async (args, message) => {
    let runs = 0;
    const tool = defineTool({ name: 'find', description: 'Finds.', input: fields }, () => ++runs);
    const registry = new ToolRegistry().registerTool(tool);
    await expect(registry.execute('find', args)).rejects.toMatchObject({
      code: 'invalid_arguments',
      message: `Invalid arguments for find: ${message}`,
    });
    expect(runs).toBe(0);
  },
);

test('an error with a code and a message gets a timestamp, and the call has failed (001-54)', async () => {
  const facts = { error: 'Operation failed', error_code: 17, message: 'The archive is closed on Sundays.' };
  const told = toolError(facts, createFakeClock(noon));
  expect(told).toEqual({ ...facts, timestamp: '2026-01-15T12:00:00.000Z' });
  const tool = defineTool({ name: 'open', description: 'Opens.' }, () => told);
  expect(await runLocally(createTestCall(tool))).toEqual({ kind: 'failed', data: told });
});

test('without a clock the timestamp is that of the machine (001-54)', () => {
  const before = Date.now();
  const { timestamp } = toolError({ error: 'a', error_code: 'b', message: 'c' });
  expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(before);
  expect(Date.parse(timestamp)).toBeLessThanOrEqual(Date.now());
});

test('a success in an envelope is a success (001-54)', () => {
  expect(toResult({ result: { rows: 2 } })).toEqual({ kind: 'done', data: { result: { rows: 2 } } });
});

test('the error is the first member, before any others', () => {
  const told = toolError('Weather data not found', { location: 'Nowhere', error: 'overwritten' });
  expect(JSON.stringify(told)).toBe('{"error":"Weather data not found","location":"Nowhere"}');
});
