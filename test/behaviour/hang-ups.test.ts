import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createServer, defineTool, ToolRegistry, type ServerOptions } from '../../src/index.ts';
import { listen } from '../../src/node.ts';
import { bodyLimits } from '../../src/server/caller-limit.ts';
import { createFakeClock } from '../../src/testing.ts';
import { deferred } from './deferred.ts';
import { ada, describeMatrix, type Cell } from './matrix.ts';
import { sourceTest } from '../source-test.ts';
import { modernMeta } from './peer.ts';
import { headersFor } from './wires.ts';

/** A tool that works until it is stopped, and the signal of each of its runs. */
function working() {
  const runs: AbortSignal[] = [];
  const input = { properties: { filler: { type: 'string' } } } as const;
  const tool = defineTool({ name: 'work', description: 'Works.', input }, async (_args, { signal }) => {
    runs.push(signal);
    if (!signal.aborted) await once(signal, 'abort');
  });
  return { tool, runs };
}

const modern = { version: '2026-07-28', era: 'modern' } as const;

/** A call, with as many bytes in it as it takes. */
function callOf(bytes = 0): string {
  const params = { name: 'work', arguments: { filler: 'x'.repeat(bytes) }, _meta: modernMeta() };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
}

async function serve(options: Partial<ServerOptions> = {}) {
  const { tool, runs } = working();
  const source = new ToolRegistry().registerTool(tool);
  const server = createServer({ source, authenticate: () => ada, log: () => {}, ...options });
  const listening = await listen(server, { port: 0 });
  onTestFinished(() => listening.close(0));
  const { host, port } = new URL(listening.url);
  /** Sends the head and a part of the body; the rest is sent by `send`. */
  const open = async (
    body: string,
    part = body.length,
    revision: Parameters<typeof headersFor>[1] = modern,
  ) => {
    const socket = connectSocket(Number(port), '127.0.0.1');
    const headers = { ...headersFor(body, revision), host, 'content-length': body.length };
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const send = (text: string) => new Promise((sent) => socket.write(text, sent));
    await send(`POST /mcp HTTP/1.1\r\n${head.join('')}\r\n${body.slice(0, part)}`);
    const status = async () => String((await once(socket, 'data'))[0]).slice(9, 12);
    return { send: () => send(body.slice(part)), status, hangUp: () => socket.destroy() };
  };
  return { server, runs, open };
}

/** A client that left is noticed: its work has stopped, and nothing new begins for it. */
async function expectNoneWorksOn(runs: readonly AbortSignal[]): Promise<void> {
  await expect.poll(() => runs.filter(({ aborted }) => !aborted)).toEqual([]);
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  expect(runs.filter(({ aborted }) => !aborted)).toEqual([]);
}

test('D5 each of thirty clients that disconnect while their large message is queued is noticed', async () => {
  const { runs, open } = await serve();
  const calls = await Promise.all(Array.from({ length: 30 }, () => open(callOf(100_000))));
  for (const { hangUp } of calls) hangUp();
  // One that stays shows that the turns of those before it have come.
  const last = await open(callOf(100_000));
  await expect.poll(() => runs.some(({ aborted }) => !aborted)).toBe(true);
  last.hangUp();
  await expectNoneWorksOn(runs);
});

test('D5 a large message of a client that has disconnected is not read', async () => {
  const refused: string[] = [];
  const { runs, open } = await serve({ onRefusal: ({ code }) => refused.push(code) });
  const broken = callOf(100_000).replace('"2.0"', '"1.0"');
  const calls = await Promise.all(Array.from({ length: 30 }, () => open(broken)));
  for (const { hangUp } of calls) hangUp();
  const last = await open(callOf(100_000));
  await expect.poll(() => runs.length).toBe(1);
  last.hangUp();
  // Those whose turn came before they left were read.
  expect(refused.length).toBeLessThan(15);
});

sourceTest(
  'A8 calls that go on after their clients have left take only so much room for their messages',
  async () => {
    const { perCaller } = bodyLimits;
    onTestFinished(() => void (bodyLimits.perCaller = perCaller));
    bodyLimits.perCaller = 500_000;
    const { server, runs, open } = await serve();
    onTestFinished(() => server.stopCalls());
    // On the older revisions a client that hangs up has not cancelled.
    const old = { version: '2025-11-25', era: 'legacy' } as const;
    const body = callOf(200_000).replace(/,"_meta":.*/, '}}');
    for (const count of [1, 2]) {
      const { hangUp } = await open(body, undefined, old);
      await expect.poll(() => runs.length).toBe(count);
      hangUp();
    }
    await expect.poll(async () => (await open(body, undefined, old)).status()).toBe('429');
    expect(runs.length).toBe(2);
  },
);

test('D5 a client that disconnects while its slow body is authenticated again is noticed', async () => {
  const clock = createFakeClock();
  const again = deferred();
  const entered = deferred();
  let times = 0;
  const { runs, open } = await serve({
    clock,
    authenticate: () => {
      if (++times === 1) return ada;
      entered.resolve();
      return again.promise.then(() => ada);
    },
  });
  const { send, hangUp } = await open(callOf(10), 100);
  await expect.poll(() => times).toBe(1);
  clock.advance(5_000);
  await send();
  await entered.promise;
  hangUp();
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  again.resolve();
  await expectNoneWorksOn(runs);
});

test('D5 a client that disconnects during authentication is noticed', async () => {
  const known = deferred();
  const entered = deferred();
  const authenticate = () => {
    entered.resolve();
    return known.promise.then(() => ada);
  };
  const { runs, open } = await serve({ authenticate });
  const { hangUp } = await open(callOf());
  await entered.promise;
  hangUp();
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  known.resolve();
  await expectNoneWorksOn(runs);
});

test('D5 over fetch, a request that is aborted while it is authenticated or read is not run', async () => {
  const known = deferred();
  const { server, runs } = await serve({ authenticate: () => known.promise.then(() => ada) });
  const controller = new AbortController();
  const { signal } = controller;
  const body = callOf();
  const init = { method: 'POST', headers: headersFor(body, modern), body, signal };
  const answer = server.fetch(new Request('http://localhost/mcp', init));
  controller.abort();
  known.resolve();
  expect((await answer.catch(() => undefined))?.status ?? 202).toBe(202);
  expect(runs).toEqual([]);
});

// Hanging up on the older revisions cancels nothing, and without a session they have no other way.
const cancels = ({ transport }: Cell): boolean => transport !== 'fetch without a session';

describeMatrix(({ connect, era, transport }) => {
  test('D5 a call that is cancelled while its tool is looked up does not run', async () => {
    const { tool, runs } = working();
    const quick = defineTool({ name: 'quick', description: 'Answers at once.' }, () => 'quick');
    const registry = new ToolRegistry().registerTool(tool, quick);
    const asked = deferred();
    const found = deferred();
    const source = {
      list: () => registry.list(),
      call: (call: Parameters<typeof registry.call>[0]) => registry.call(call),
      async find(name: string) {
        if (name !== 'work') return registry.find(name);
        asked.resolve();
        await found.promise;
        return registry.find(name);
      },
    };
    const peer = await connect({ source });
    const controller = new AbortController();
    const answer = peer.request('tools/call', { name: 'work' }, { signal: controller.signal });
    await asked.promise;
    controller.abort();
    // Answered after the cancellation has come, however it comes.
    await peer.call('quick');
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    found.resolve();
    expect(await answer).toBeUndefined();
    await peer.call('quick');
    // On a socket there is no way to know when the other side has noticed.
    const isSure = era === 'legacy' || transport !== 'HTTP';
    expect(runs.filter(({ aborted }) => isSure || !aborted)).toEqual([]);
  });
}, cancels);
