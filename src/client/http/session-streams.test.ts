import { expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { SessionStreams } from './session-streams.ts';

/** How long a client waits before it opens a stream again that ends at once each time. */
function waitsFor(stream: string, rounds: number): number[] {
  const waits: number[] = [];
  const next: (() => void)[] = [];
  const streams = new SessionStreams({
    label: 'a server',
    maxBytes: 1_000,
    clock: {
      ...systemClock,
      after: (ms, run) => {
        waits.push(ms);
        next.push(run);
        return () => {};
      },
    },
    receiver: () => ({ receive() {}, lost() {} }),
    onWarning() {},
    onGap() {},
    get: async (reply) => {
      reply.onHeaders(200, [Buffer.from('content-type'), Buffer.from('text/event-stream')]);
      reply.onData(Buffer.from(stream));
      next.push(() => reply.onComplete());
    },
  });
  streams.listen();
  while (waits.length < rounds) next.shift()!();
  streams.close();
  return waits;
}

test('a server that asks for an immediate reconnect and ends its stream each time is reconnected to less and less often', () => {
  const waits = waitsFor('retry: 0\n\n', 12);
  expect(waits[0]).toBe(100);
  expect(waits.at(-1)).toBe(30_000);
});

test('a server that also sends a message each time is reconnected to at most ten times a second', () => {
  expect(Math.min(...waitsFor('retry: 0\ndata: {}\n\n', 12))).toBe(100);
});

test('a server that asks for a longer pause before a reconnect gets it', () => {
  expect(waitsFor('retry: 5000\n\n', 1)).toEqual([5_000]);
});
