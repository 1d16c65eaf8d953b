import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { ToolTimeout } from '../../src/index.ts';
import { connectMcpServer, connectStdio } from '../../src/node.ts';
import { PendingRequest } from '../../src/client/pending-request.ts';
import { createFakeClock } from '../../src/testing.ts';
import { within } from '../within.ts';
import { programOf, runProgram } from './programs.ts';

afterEach(() => void vi.restoreAllMocks());

const MODERN = `({ id, method, params }) => {
  if (method === 'server/discover') write({ id, result: discovered });
  if (method === 'tools/list') write({ id, result: { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' } });
  if (method === 'tools/call' && params.name === 'say') write({ id, result: { resultType: 'complete', content: [{ type: 'text', text: JSON.stringify(seen) }] } });
  if (method === 'tools/call' && params.name === 'crash') process.exit(3);
  if (method === 'notifications/cancelled') seen.push(params);
}; const seen = []; process.stderr.write('warming up')`;

test('a cancelled or late call is cancelled at the program, and the next call works', async () => {
  const client = await runProgram(MODERN);
  await expect(client.callTool('hang', {}, { timeoutMs: 50 })).rejects.toBeInstanceOf(ToolTimeout);
  const [told] = JSON.parse(await client.callTool('say').text()) as { reason: string }[];
  expect(told).toEqual({ requestId: expect.any(Number), reason: 'The request timed out.' });
});

test('an answer of a program that cannot be taken fails its own call, and the next one works', async () => {
  const client = await runProgram(MODERN);
  vi.spyOn(PendingRequest.prototype, 'settle').mockImplementationOnce(() => {
    throw new Error('Broken on purpose.');
  });
  await expect(client.callTool('say')).rejects.toMatchObject({ code: 'internal' });
  expect(await client.callTool('say').text()).toBe('[]');
});

test('a listener that fails while messages are read or sent does no harm, and is warned of', async () => {
  const client = await runProgram(MODERN, {
    onMessage: () => {
      throw new Error('Broken on purpose.');
    },
  });
  const warnings: string[] = [];
  client.on('warning', (text) => warnings.push(text));
  expect(await client.callTool('say').text()).toBe('[]');
  expect(warnings).toContain('onMessage failed: Error: Broken on purpose.');
});

test('an old program that does not answer discovery gets a handshake', async () => {
  const client = await runProgram(
    `({ id, method }) => {
      if (method === 'initialize') write({ id, result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'old', version: '1' } } });
    }`,
    { timeouts: { connectMs: 600 } },
  );
  expect(client.server).toMatchObject({ era: 'legacy', protocolVersion: '2025-06-18' });
});

const OLD = `write({ id, result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'old', version: '1' } } })`;
const REFUSAL = `write({ id, error: { code: -32601, message: 'No such method.' } })`;

test('a new program that is slow to answer discovery is waited for, and not mistaken for an old one', async () => {
  for (const handshake of [REFUSAL, '']) {
    const client = await runProgram(
      `({ id, method }) => {
        if (method === 'server/discover') discoverId = id;
        else if (method === 'initialize') { ${handshake}; setTimeout(() => write({ id: discoverId, result: discovered }), 100); }
        else if (id !== undefined) write({ id, result: { resultType: 'complete', tools: [] } });
      }; let discoverId`,
      { timeouts: { connectMs: 3_000 } },
    );
    expect(client.server.era).toBe('modern');
    expect(await client.listTools()).toEqual([]);
  }
});

test('a program that took a handshake is spoken to accordingly, even if it answers discovery meanwhile', async () => {
  const client = await runProgram(
    `({ id, method }) => {
      if (method === 'server/discover') discoverId = id;
      if (method === 'initialize') { write({ id: discoverId, result: discovered }); setTimeout(() => ${OLD}, 50); }
    }; let discoverId`,
    { timeouts: { connectMs: 3_000 } },
  );
  expect(client.server.era).toBe('legacy');
});

test('a program that answers other requests gets a handshake sooner than one that is silent', async () => {
  const clock = createFakeClock();
  const connecting = runProgram(
    `({ id, method }) => {
      if (method === 'ping') write({ id, result: {} });
      if (method === 'server/discover') console.error('asked');
      if (method === 'initialize') ${OLD};
    }`,
    { clock, onErrorText: () => clock.advance(4_000) },
  );
  expect((await within(10_000, 'the handshake', connecting)).server.era).toBe('legacy');
});

test('a program that starts slowly, and answers a ping right after discovery, gets no handshake', async () => {
  const client = await runProgram(
    `({ id, method }) => {
      seen.push(method);
      const line = (result) => JSON.stringify({ jsonrpc: '2.0', id: seen.indexOf(method) + 1, ...result }) + '\\n';
      if (method === 'server/discover') held = line({ result: discovered });
      else if (method === 'ping') process.stdout.write(held + line({ error: { code: -32601, message: 'No such method.' } }));
      else if (id !== undefined) write({ id, result: { resultType: 'complete', seen } });
    }; const seen = []; let held`,
    { timeouts: { connectMs: 9_000 } },
  );
  expect(await client.request('acme/seen')).toMatchObject({ seen: ['server/discover', 'ping', 'acme/seen'] });
});

test('a program that is silent to discovery and refuses the handshake fails with what it says', async () => {
  for (const [answer, code] of [
    [`write({ id, error: { code: -32000, message: 'Set TOKEN first.' } })`, 'Set TOKEN first.'],
    [`write({ id, result: { protocolVersion: '1999-01-01' } })`, 'speaks 1999-01-01'],
  ] as const) {
    const failure = runProgram(`({ id, method }) => { if (method === 'initialize') ${answer}; }`, {
      timeouts: { connectMs: 1_500 },
    });
    await expect(within(5_000, 'connecting to fail', failure)).rejects.toThrow(code);
  }
});

test('that a program did not answer discovery is not remembered, and that it refused it is', async () => {
  for (const [discovery, asked] of [
    ['{}', 2],
    [REFUSAL, 1],
  ] as const) {
    let count = 0;
    for (let times = 0; times < 2; times++) {
      await runProgram(
        `({ id, method }) => {
          if (method === 'server/discover') { console.error('asked'); ${discovery}; }
          if (method === 'initialize') ${OLD};
        }`,
        {
          timeouts: { connectMs: 2_400 },
          onErrorText: (text: string) => (count += text.includes('asked') ? 1 : 0),
        },
      );
    }
    await expect.poll(() => count).toBe(asked);
  }
});

test('a program that was brought up to date is asked anew when it refuses the remembered handshake', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const client = () =>
    runProgram(
      `({ id, method }) => {
        const isNew = require('node:fs').existsSync(${JSON.stringify(join(folder, 'new'))});
        if (method === 'server/discover') { if (isNew) write({ id, result: discovered }); else ${REFUSAL}; }
        if (method === 'initialize') { if (isNew) ${REFUSAL}; else ${OLD}; }
      }`,
    );
  expect((await client()).server.era).toBe('legacy');
  writeFileSync(join(folder, 'new'), '');
  expect((await client()).server.era).toBe('modern');
});

test('a program that exits on discovery is started again and gets a handshake', async () => {
  const client = await runProgram(`({ id, method }) => {
    if (method === 'server/discover') process.exit(1);
    if (method === 'initialize') write({ id, result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'old', version: '1' } } });
  }`);
  expect(client.server.era).toBe('legacy');
  expect(client.state).toEqual({ kind: 'connected' });
});

test('a program that exits on discovery is not started again for a connection that was given up meanwhile', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-starts-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // What it leaves behind does not end at once.
  const program = programOf(`({ method }) => {
    if (method !== 'server/discover') return;
    const left = "process.on('SIGTERM', () => {}); setTimeout(() => {}, 5000); console.log('ready')";
    const child = require('node:child_process').spawn(process.execPath, ['-e', left], { stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.once('data', () => process.exit(1));
  }; require('node:fs').writeFileSync(${JSON.stringify(folder)} + '/' + process.pid, '')`);
  const giveUp = new AbortController();
  const opening = connectStdio(process.execPath, ['-e', program], { signal: giveUp.signal });
  opening.catch(() => {});
  await vi.waitFor(() => expect(readdirSync(folder)).toHaveLength(1), { timeout: 5_000 });
  const pid = Number(readdirSync(folder)[0]);
  await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 5_000 });
  giveUp.abort();
  await expect(opening).rejects.toMatchObject({ code: 'cancelled' });
  await wait(1_500);
  expect(readdirSync(folder)).toHaveLength(1);
});

test('a program that crashes fails its calls at once with the reason', async () => {
  const client = await runProgram(MODERN);
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

test('lines that are not messages are skipped with a warning', async () => {
  const client = await runProgram(`({ id, method }) => {
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
  'closing ends the program and the processes it started, even if it does not react',
  { timeout: 15_000 },
  async () => {
    const client = await runProgram(`({ id, method }) => {
    if (method === 'server/discover') write({ id, result: discovered });
    else write({ id, result: { resultType: 'complete', pid: process.pid, child: child.pid } });
  }; process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);
  const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])`);
    const { pid, child } = (await client.request('acme/pids')) as { pid: number; child: number };
    await client.close();
    for (const id of [pid, child]) expect(isRunning(id)).toBe(false);
  },
);

test('a program gets no environment variable of this process that may hold a credential', async () => {
  process.env['ACME_TOKEN'] = 'secret';
  onTestFinished(() => void delete process.env['ACME_TOKEN']);
  const client = await runProgram(
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

test('a client can connect to an entry of mcpServers, and a broken entry is refused with a clear message (003-28)', async () => {
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

test('the message about a failed program has whole words only, because a part could be half of a secret', async () => {
  const secret = 'canary-'.repeat(60);
  const program = `console.error('first ' + process.argv[1] + '\\n' + 'x'.repeat(1_700) + '\\nlast'); process.exit(1)`;
  const error = await connectStdio(process.execPath, ['-e', program, secret], {
    timeouts: { connectMs: 10_000 },
  }).catch((caught: unknown) => caught as Error);
  const { message, cause } = error as Error & { cause: Error };
  expect(message).toMatch(/process\.exit\(1\) … ended with exit code 1\.$/);
  expect(cause.message).toBe(`${'x'.repeat(1_700)}\nlast`);
});
