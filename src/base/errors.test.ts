import { expect, test } from 'vitest';
import { accident, errorTable, rowOf, ToolcribError, type ErrorCode } from './errors.ts';

const codes = Object.keys(errorTable) as ErrorCode[];

test('an error has a code and a message for its reader, data for the client and a cause for the log', () => {
  const cause = new Error('ECONNREFUSED');
  const error = new ToolcribError('unknown_tool', 'Unknown tool: a', { data: { reason: 'gone' }, cause });
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({
    name: 'ToolcribError',
    code: 'unknown_tool',
    message: 'Unknown tool: a',
    data: { reason: 'gone' },
    cause,
  });
});

test('an error without a cause has none', () => {
  expect('cause' in new ToolcribError('internal', 'Sorry.')).toBe(false);
});

test('an unexpected error reveals nothing of its cause, and has an incident id to find it', () => {
  const cause = new Error('password authentication failed for user "root"');
  const error = accident('tool_failed', 'query failed unexpectedly', cause);
  expect(error.message).toBe(`query failed unexpectedly (incident ${error.incident}).`);
  expect(error.incident).toMatch(/^[0-9a-f]{8}$/);
  expect(error.data).toBeUndefined();
  expect(error.cause).toBe(cause);
});

test('each unexpected error has an incident id of its own', () => {
  const incidents = Array.from({ length: 100 }, () => accident('internal', 'It failed', undefined).incident);
  expect(new Set(incidents).size).toBe(100);
});

test('an error for the client program or its sign-in code has a JSON-RPC code; others have none', () => {
  const numbered = codes.filter((code) => rowOf(code).number !== undefined);
  const forPrograms = codes.filter((code) => ['error', 'challenge'].includes(rowOf(code).reply));
  expect(numbered).toEqual(forPrograms);
});

test('an unknown tool has the code of invalid params, as the protocol requires', () => {
  expect(rowOf('unknown_tool')).toEqual({ reply: 'error', number: -32602 });
});
