import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent, type AgentEvents } from '../../src/host.ts';
import { defineTool, type ConnectionState } from '../../src/index.ts';
import { createFakeClock } from '../../src/testing.ts';
import { makeUp, said, serve } from '../client/peers.ts';
import { within } from '../within.ts';
import { agentOf, configOf, next, serverOf } from './agents.ts';

const look = defineTool({ name: 'look', description: 'Looks.' }, () => 'seen');

/** The states of servers as they come, to be waited for one by one. */
function stateQueue() {
  const states: ConnectionState[] = [];
  let wake = (): void => {};
  return {
    listeners: {
      server: ({ state }: AgentEvents['server']) => {
        states.push(state);
        wake();
      },
    },
    taken: states,
    async next(): Promise<ConnectionState> {
      const waiting = (async () => {
        while (states.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      })();
      await within(5_000, 'a state', waiting);
      return states.shift()!;
    },
  };
}

test('a server that fails is retried soon, and then less and less often', async () => {
  const clock = createFakeClock();
  const queue = stateQueue();
  await agentOf(
    { gone: serverOf({ command: 'no-such-program-here' }, { retryMs: 4_000 }) },
    { clock, listeners: queue.listeners },
  );
  expect(await queue.next()).toMatchObject({
    kind: 'failed',
    reason: /no-such-program-here/,
    remedy: /the command is installed/,
  });
  for (const pause of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
    await turn();
    clock.advance(pause - 1);
    await turn();
    expect([pause, queue.taken]).toEqual([pause, []]);
    clock.advance(1);
    expect((await queue.next()).kind).toBe('failed');
  }
});

test('by default a server that keeps failing is given up after a few attempts', async () => {
  const clock = createFakeClock();
  const queue = stateQueue();
  await agentOf(
    { gone: serverOf({ command: 'no-such-program-here' }, { retryMs: 0 }) },
    { clock, listeners: queue.listeners },
  );
  for (const pause of [0, 500, 1_000, 2_000]) {
    clock.advance(pause);
    expect((await queue.next()).kind).toBe('failed');
    await turn();
  }
  clock.advance(3_600_000);
  await turn();
  expect(queue.taken).toEqual([]);
});

test('a server that becomes available later is used from the next turn on', async () => {
  let isUp = false;
  const server = await makeUp((got) => {
    if (isUp) return false;
    got.response.writeHead(503).end();
    return true;
  });
  const agent = await agentOf({ late: serverOf({ url: server.url }) });
  expect(agent.availableTools).toEqual([]);
  const changed = next(agent, 'tools:changed');
  isUp = true;
  await changed;
  expect(agent.availableTools).toEqual([]);
  expect(agent.beginTurn().map(({ name }) => name)).toEqual(['echo']);
  expect(agent.servers[0]!.state).toEqual({ kind: 'connected' });
});

test('a server that needs a sign-in says so, and is not retried', async () => {
  const clock = createFakeClock();
  const server = await makeUp(({ response }) => {
    response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
  });
  const agent = await agentOf({ shut: serverOf({ url: server.url }, { retryMs: 30_000 }) }, { clock });
  expect(agent.servers[0]!.state).toMatchObject({ kind: 'needs_sign_in', reason: /./, remedy: /./ });
  const asked = server.got.length;
  clock.advance(29_999);
  await turn();
  expect(server.got).toHaveLength(asked);
  const result = await agent.call('any', {});
  expect(result).toMatchObject({ kind: 'failed' });
});

test('a request that times out does not close the connection', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return false;
    const { text } = (got.body['params'] as { arguments: { text: string } }).arguments;
    if (text !== 'slow') got.reply(said(text));
    return true;
  });
  const agent = await agentOf(
    { made: serverOf({ url: server.url, timeoutSeconds: 0.2 }) },
    { mode: 'autonomous' },
  );
  expect(await agent.call('echo', { text: 'slow' })).toMatchObject({ kind: 'failed' });
  expect(agent.servers[0]!.state).toEqual({ kind: 'connected' });
  expect(await agent.call('echo', { text: 'quick' })).toMatchObject({ kind: 'done' });
});

test('closing ends a program that has not answered yet', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-agent-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'pid');
  const program = `require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1000);`;
  const agent = await createAgent(
    configOf({ mute: serverOf({ command: process.execPath, args: ['-e', program] }) }),
    { readyMs: 1 },
  );
  onTestFinished(() => agent.close());
  await expect.poll(() => readFile(file, 'utf8').catch(() => ''), { timeout: 5_000 }).toMatch(/^\d+$/);
  const pid = Number(await readFile(file, 'utf8'));
  await within(5_000, 'the agent to close', agent.close());
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

test('an aborted signal closes an agent, and an agent with an aborted signal does not start', async () => {
  const controller = new AbortController();
  const url = await serve([look]);
  const agent = await agentOf({ ours: serverOf({ url }) }, { signal: controller.signal });
  controller.abort();
  await expect.poll(() => agent.servers[0]!.state.kind).toBe('disabled');
  await expect(
    createAgent(configOf({ ours: serverOf({ url }) }), { signal: controller.signal }),
  ).rejects.toMatchObject({ code: 'cancelled' });
});

test('equal tool names stop an agent whose prefix is "never"', async () => {
  const servers = { a: serverOf({ url: await serve([look]) }), b: serverOf({ url: await serve([look]) }) };
  await expect(createAgent(configOf(servers, { prefix: 'never' }))).rejects.toMatchObject({
    code: 'invalid_setup',
    message: /alike/,
  });
});

// Lets promises and one round of the event loop run.
async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

test('a secret that a failing server repeats is removed from the reason before the reason is cut', async () => {
  const secret = 'canary-'.repeat(60);
  // Long enough that the secret would be cut in the middle.
  const message = `${'x'.repeat(1_700)} ${secret} ${'y'.repeat(500)}`;
  const server = await makeUp(({ refuse }) => refuse(-32_000, message));
  const headers = { authorization: `Bearer ${secret}` };
  const told: string[] = [];
  const agent = await agentOf(
    { odd: serverOf({ url: server.url, headers }) },
    { listeners: { server: ({ state }) => told.push(JSON.stringify(state)) } },
  );
  const [view] = agent.servers;
  expect(view!.state).toMatchObject({ kind: 'failed', reason: expect.stringContaining('[redacted:secret]') });
  expect([...told, JSON.stringify(view!.state)].join()).not.toContain('canary-');
});
