import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createServer, defineTool, localCaller, ToolRegistry, type Tool } from '../../src/index.ts';
import { createFakeClock } from '../../src/testing.ts';
import { openCrib } from '../gateway.ts';
import { describeMatrix } from './matrix.ts';

const begun = new Set<string>();
const never = (what: string) => (): Promise<never> => {
  begun.add(what);
  return new Promise(() => {});
};
const endless = (what: string) => z.object({ a: z.string().refine(never(what)) });
const PATIENCE = { timeout: 10_000, interval: 20 };
const reads = { description: 'Waits.', annotations: { readOnlyHint: true } };

/** Tools whose checks never come to an end, by what is checked. */
const tools: readonly Tool<never>[] = [
  defineTool({ name: 'dig', ...reads, input: endless('input') }, () => 'ok'),
  defineTool({ name: 'fill', ...reads, output: endless('output') }, () => ({ a: 'x' })),
  defineTool({ name: 'ask', ...reads, authorize: never('authorize') }, () => 'ok'),
];
const calls = [
  ['dig', { a: 'x' }, 'dig.input'],
  ['fill', {}, 'fill.output'],
  ['ask', {}, 'ask.authorize'],
] as const;

describeMatrix(({ connect }) => {
  test.each(calls)('the time limit ends the checks of %s', async (name, args, what) => {
    const clock = createFakeClock();
    const peer = await connect({ tools, deadlineMs: 1_500, clock });
    begun.clear();
    const answer = peer.call(name, args);
    await vi.waitFor(() => expect(begun.size).toBe(1), PATIENCE);
    // The check has begun, and what bounds it begins in the same turn.
    await new Promise((resume) => setImmediate(resume));
    clock.advance(1_500);
    expect(await answer).toMatchObject({
      isError: true,
      content: [{ text: `${what} took over 1.5 s and was stopped.` }],
    });
  });
});

test.each(calls)('a caller that disconnects ends the checks of %s', async (name, args) => {
  const server = createServer({ source: new ToolRegistry().registerTool(...tools) });
  const leaving = new AbortController();
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } } as const;
  const answer = server.handle(message, {
    caller: localCaller,
    protocolVersion: '2025-11-25',
    signal: leaving.signal,
  });
  await new Promise((resume) => setImmediate(resume));
  leaving.abort();
  expect(await answer).toBeUndefined();
});

test('the configured time limit is shared by all checks of a call, and the record has how they ended', async () => {
  const crib = await openCrib({ offers: tools, config: { stages: { timeout: { seconds: 0.05 } } } });
  const peer = await crib.connect('ada');
  for (const [name, args, what] of calls) {
    const { isError, content } = await peer.call(name, args);
    expect([isError, content[0]!.text]).toEqual([true, `${what} took over 0.05 s and was stopped.`]);
  }
  expect(crib.rows().map(({ tool, outcome }) => [tool, outcome])).toEqual(
    calls.map(([name]) => [name, 'timed_out']),
  );
});

test('a client that disconnects leaves no call running', async () => {
  const crib = await openCrib({ offers: tools });
  const peer = await crib.connect('ada');
  const leaving = new AbortController();
  begun.clear();
  const answers = calls.map(([name, args]) => peer.call(name, args, { signal: leaving.signal }));
  const over = Promise.allSettled(answers);
  await vi.waitFor(() => expect(begun.size).toBe(3), PATIENCE);
  leaving.abort();
  await over;
  await vi.waitFor(
    () => expect(crib.rows().map(({ outcome }) => outcome)).toEqual(calls.map(() => 'cancelled')),
    PATIENCE,
  );
});
