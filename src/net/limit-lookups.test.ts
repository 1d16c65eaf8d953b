import dns, { lookup } from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createOutboundClient } from './create-outbound-client.ts';
import { limitLookups } from './limit-lookups.ts';

interface Slow {
  readonly asked: string[];
  /** Ends the lookups under way. */
  end(): void;
}

let slow: Slow;

beforeEach(() => {
  const asked: string[] = [];
  const ends: (() => void)[] = [];
  slow = { asked, end: () => ends.splice(0).forEach((end) => end()) };
  vi.spyOn(dns, 'lookup').mockImplementation(((host: string) => {
    asked.push(host);
    return new Promise((_resolve, reject) => void ends.push(() => reject(new Error('no such name'))));
  }) as never);
  syncBuiltinESMExports();
});

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test('D5 calls that have ended leave no name lookups behind except the two that are running', async () => {
  const client = createOutboundClient({ hosts: ['*.example.com'] });
  const cancel = new AbortController();
  const names = Array.from({ length: 8 }, (_, index) => `n${index}.example.com`);
  const calls = names.map((name) => client.request(`https://${name}/`, { signal: cancel.signal }));
  const ended = Promise.allSettled(calls);
  await vi.waitFor(() => expect(slow.asked).toHaveLength(2));
  cancel.abort();
  for (const { reason } of (await ended) as PromiseRejectedResult[])
    expect(reason).toMatchObject({ reason: 'cancelled' });
  const late = Promise.allSettled([client.request('https://late.example.com/')]);
  slow.end();
  await vi.waitFor(() => expect(slow.asked).toContain('late.example.com'));
  expect(slow.asked).toEqual(['n0.example.com', 'n1.example.com', 'late.example.com']);
  slow.end();
  expect(await late).toMatchObject([{ reason: { reason: 'failed' } }]);
});

test('D5 a call that waits for its lookup waits at most for its time limit', async () => {
  const client = createOutboundClient({ hosts: ['*.example.com'], timeoutMs: 50 });
  const calls = ['a', 'b', 'c'].map((name) => client.request(`https://${name}.example.com/`));
  for (const { reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
    expect(reason).toMatchObject({ reason: 'timed_out' });
  expect(slow.asked).toEqual(['a.example.com', 'b.example.com']);
  slow.end();
});

test('D5 control: without a limit, every lookup is begun and goes on after its call', async () => {
  const resolve = async (host: string): Promise<string[]> =>
    (await lookup(host, { all: true })).map(({ address }) => address);
  const client = createOutboundClient({ hosts: ['*.example.com'], timeoutMs: 50, resolve });
  const calls = ['a', 'b', 'c', 'd'].map((name) => client.request(`https://${name}.example.com/`));
  await Promise.allSettled(calls);
  expect(slow.asked).toHaveLength(4);
  slow.end();
});

test('lookups run in the order they were requested, whether they succeed or fail', async () => {
  const asked: string[] = [];
  const find = limitLookups(async (host) => {
    asked.push(host);
    await Promise.resolve();
    if (host === 'b') throw new Error('no such name');
    return [host];
  }, 1);
  const stop = new AbortController().signal;
  const ends = await Promise.allSettled(['a', 'b', 'c'].map((host) => find(host, stop)));
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(asked).toEqual(['a', 'b', 'c']);
});
