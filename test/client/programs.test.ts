import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ToolTimeout, type Client } from '../../src/index.ts';
import { connectMcpServer, connectStdio } from '../../src/node.ts';
import { within } from '../within.ts';

/** Runs a server that is a few lines of JavaScript: `answer(message, write)` is called with every message. */
async function run(answer: string, options = {}): Promise<Client> {
  const program = `
    const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    const discovered = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' };
    const answer = ${answer};
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => answer(JSON.parse(line)));
  `;
  const client = await connectStdio(process.execPath, ['-e', program], options);
  onTestFinished(() => client.close());
  return client;
}

const MODERN = `({ id, method, params }) => {
  if (method === 'server/discover') write({ id, result: discovered });
  if (method === 'tools/list') write({ id, result: { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' } });
  if (method === 'tools/call' && params.name === 'say') write({ id, result: { resultType: 'complete', content: [{ type: 'text', text: JSON.stringify(seen) }] } });
  if (method === 'tools/call' && params.name === 'crash') process.exit(3);
  if (method === 'notifications/cancelled') seen.push(params);
}; const seen = []; process.stderr.write('warming up')`;

test('a cancelled or late call reaches a program, with a reason that is ours, and the next one works', async () => {
  const client = await run(MODERN);
  await expect(client.callTool('hang', {}, { timeoutMs: 50 })).rejects.toBeInstanceOf(ToolTimeout);
  const [told] = JSON.parse(await client.callTool('say').text()) as { reason: string }[];
  expect(told).toEqual({ requestId: expect.any(Number), reason: 'The request timed out.' });
});

test('an old program that says nothing to discovery is spoken to the old way', async () => {
  const client = await run(
    `({ id, method }) => {
      if (method === 'initialize') write({ id, result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'old', version: '1' } } });
    }`,
    { timeouts: { connectMs: 600 } },
  );
  expect(client.server).toMatchObject({ era: 'legacy', protocolVersion: '2025-06-18' });
});

test('a program that ends when it is asked what it speaks is started again and spoken to the old way', async () => {
  const client = await run(`({ id, method }) => {
    if (method === 'server/discover') process.exit(1);
    if (method === 'initialize') write({ id, result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'old', version: '1' } } });
  }`);
  expect(client.server.era).toBe('legacy');
  expect(client.state).toEqual({ kind: 'connected' });
});

test('a program that crashes fails its calls at once, says why, and is not waited for', async () => {
  const client = await run(MODERN);
  const failure = within(
    3_000,
    'the call to fail',
    client.callTool('crash').catch((error: unknown) => error),
  );
  expect(await failure).toMatchObject({
    code: 'upstream_unavailable',
    message: expect.stringContaining('ended with exit code 3'),
    cause: { message: 'warming up' },
  });
  expect(client.state).toMatchObject({ kind: 'failed', remedy: expect.any(String) });
});

test('lines that are no messages are skipped with a warning', async () => {
  const client = await run(`({ id, method }) => {
    console.log('debug: not a message');
    if (method === 'server/discover') write({ id, result: discovered });
    else write({ id, result: { resultType: 'complete' } });
  }`);
  const warnings: string[] = [];
  client.on('warning', (text) => warnings.push(text));
  expect(await client.request('acme/x')).toEqual({ resultType: 'complete' });
  expect(warnings.join()).toContain('is not JSON');
});

test(
  'closing ends the program, also one that does not listen, and what it started',
  { timeout: 15_000 },
  async () => {
    const client = await run(`({ id, method }) => {
    if (method === 'server/discover') write({ id, result: discovered });
    else write({ id, result: { resultType: 'complete', pid: process.pid, child: child.pid } });
  }; process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);
  const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])`);
    const { pid, child } = (await client.request('acme/pids')) as { pid: number; child: number };
    await client.close();
    for (const id of [pid, child]) expect(isRunning(id)).toBe(false);
  },
);

test('a program gets no variable of this process that may hold a credential', async () => {
  process.env['ACME_TOKEN'] = 'secret';
  onTestFinished(() => void delete process.env['ACME_TOKEN']);
  const client = await run(
    `({ id, method }) => write({ id, result: method === 'server/discover' ? discovered : { resultType: 'complete', env: process.env } })`,
    { env: { GIVEN: 'yes' } },
  );
  const { env } = (await client.request('acme/env')) as { env: Record<string, string> };
  expect(env).toMatchObject({ GIVEN: 'yes', PATH: expect.any(String) });
  expect(env).not.toHaveProperty('ACME_TOKEN');
});

test('a command that does not exist is an error that says so', async () => {
  await expect(connectStdio('toolcrib-no-such-program')).rejects.toThrow('could not be found');
});

/** Whether a process is alive, and not only waiting to be noticed as dead. */
function isRunning(pid: number): boolean {
  if (!readdirSync('/proc').includes(String(pid))) return false;
  return !/\) Z /.test(readFileSync(join('/proc', String(pid), 'stat'), 'latin1'));
}

test('an entry of mcpServers is connected to, and a broken one is refused with a clear word (003-28)', async () => {
  const program = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id } = JSON.parse(line);
    console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', supportedVersions: ['2026-07-28'], given: process.env.GIVEN } }));
  })`;
  const client = await connectMcpServer({
    command: process.execPath,
    args: ['-e', program],
    env: { GIVEN: 'yes' },
  });
  onTestFinished(() => client.close());
  expect(await client.request('acme/x')).toMatchObject({ given: 'yes' });
  await expect(connectMcpServer({ url: 'file:///etc/passwd' })).rejects.toMatchObject({
    code: 'invalid_config',
  });
  await expect(connectMcpServer({ command: 'x', disabled: true })).rejects.toThrow('disabled');
});

test('what is told of a program that failed has no half words, which could be half of a secret', async () => {
  const secret = 'canary-'.repeat(60);
  const program = `console.error('first ' + process.argv[1] + '\\n' + 'x'.repeat(1_700) + '\\nlast'); process.exit(1)`;
  const error = await connectStdio(process.execPath, ['-e', program, secret], {
    timeouts: { connectMs: 10_000 },
  }).catch((caught: unknown) => caught as Error);
  const { message, cause } = error as Error & { cause: Error };
  expect(message).toMatch(/process\.exit\(1\) … ended with exit code 1\.$/);
  expect(cause.message).toBe(`${'x'.repeat(1_700)}\nlast`);
});
