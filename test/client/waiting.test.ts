import { expect, onTestFinished, test } from 'vitest';
import { Cancelled, ToolTimeout } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { within } from '../within.ts';
import { makeUp, open, said, standard } from './peers.ts';

const DEAF = `
  const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  process.stdin.once('data', (chunk) => {
    process.stdin.pause();
    const { id } = JSON.parse(String(chunk).split('\\n')[0]);
    const facts = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' };
    write({ id, result: { resultType: 'complete', ...facts } });
  });
  setInterval(() => {}, 60_000);
`;

test('calls of a program that does not read are refused once 64 MiB wait for it', async () => {
  const client = await connectStdio(process.execPath, ['-e', DEAF], { checkArguments: false });
  onTestFinished(() => client.close());
  const text = 'x'.repeat(10 * 1_048_576);
  const calls = Array.from({ length: 8 }, () =>
    client.callTool('echo', { text }, { timeoutMs: 1_000 }).catch((error: unknown) => error),
  );
  const errors = (await within(10_000, 'all calls to end', Promise.all(calls))) as { code: string }[];
  expect(errors.map(({ code }) => code)).toEqual([...Array(7).fill('timed_out'), 'busy']);
  expect(errors[7]).toMatchObject({ message: expect.stringContaining('does not read what it is sent') });
});

test('a call that waits for a free connection ends in time, and is never sent', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    const { name } = got.body['params'] as { name: string };
    if (name === 'after') got.reply(said('served'));
  });
  const client = await open(server.url, { maxConnections: 1, checkArguments: false });
  const stopping = new AbortController();
  const slow = client.callTool('slow', {}, { signal: stopping.signal }).catch((error: unknown) => error);
  await expect.poll(() => server.methods()).toContain('tools/call');
  const waiting = client.callTool('waiting', {}, { timeoutMs: 50 });
  await expect(within(5_000, 'the waiting call to end', waiting)).rejects.toBeInstanceOf(ToolTimeout);
  stopping.abort();
  expect(await slow).toBeInstanceOf(Cancelled);
  expect(await client.callTool('after').text()).toBe('served');
  const names = server.got.map(({ body }) => (body['params'] as { name?: string }).name);
  expect(names.filter((name) => name !== undefined)).toEqual(['slow', 'after']);
});
