import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest';
import { defineTool } from '../../src/index.ts';
import type { Json } from './peer.ts';
import { askModern, type Door } from './session-client.ts';

/** What is thrown on purpose. */
export const fault = new Error('Broken on purpose.');

/** Throws it. */
export const fail = (): never => {
  throw fault;
};

/** A tool that works. */
export const good = defineTool({ name: 'good', description: 'Works.' }, () => 'good');

/** A tool that works, but may be broken on its way. */
export const bad = defineTool({ name: 'bad', description: 'Works, if it is reached.' }, () => 'bad');

/** Fails a test during which an error was thrown where it cannot be caught: it would end the process. */
export function catchNothingLate(): void {
  const uncaught: unknown[] = [];
  const note = (reason: unknown): void => void uncaught.push(reason);
  beforeAll(() => void process.on('unhandledRejection', note).on('uncaughtException', note));
  afterAll(() => void process.off('unhandledRejection', note).off('uncaughtException', note));
  afterEach(async () => {
    vi.restoreAllMocks();
    await setImmediate();
    if (uncaught.length > 0)
      throw new AggregateError(uncaught.splice(0), 'Something was thrown where nobody catches it.');
  });
}

/** What a server logs. */
export function logbook() {
  const entries: Json[] = [];
  return {
    entries,
    log: (level: string, message: string, facts: object = {}) =>
      void entries.push({ level, message, ...facts }),
  };
}

/** What a client hears of it. */
export const internal = /^The server failed unexpectedly \(incident (\w{8})\)\.$/;

/** One message failed, and the log has one entry, under the same id. */
export function expectIncident(error: { code: number; message: string }, entries: readonly Json[]): void {
  expect(error).toEqual({ code: -32603, message: expect.stringMatching(internal) });
  const [, incident] = internal.exec(error.message)!;
  expect(entries).toMatchObject([{ level: 'error', message: error.message, incident, cause: fault }]);
}

/** Ten calls beside one that fails, and one after it, are answered. */
export async function expectOthersServed(door: Door, failing: Promise<unknown>): Promise<void> {
  const others = Array.from({ length: 10 }, () => askModern(door, ['tools/call', { name: 'good' }]));
  await failing.catch(() => {});
  for (const { result } of await Promise.all(others))
    expect(result['content']).toMatchObject([{ text: 'good' }]);
  const again = await askModern(door, ['tools/call', { name: 'good' }]);
  expect(again.result['content']).toMatchObject([{ text: 'good' }]);
}
