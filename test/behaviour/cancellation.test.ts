import { connect as connectSocket } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createServer, defineTool, ToolRegistry, type ToolContext } from '../../src/index.ts';
import { listen } from '../../src/node.ts';
import { deferred } from './deferred.ts';
import { ada, describeMatrix, type Cell } from './matrix.ts';
import { modernMeta } from './peer.ts';
import { headersFor } from './wires.ts';

const quick = defineTool({ name: 'quick', description: 'Answers at once.' }, () => 'quick');

/** A tool that works until the test lets it go, and what its handler was given. */
function holding() {
  const started = deferred<ToolContext>();
  const release = deferred();
  const ended = deferred<string>();
  const tool = defineTool({ name: 'hold', description: 'Holds on.' }, async (_args, context) => {
    started.resolve(context);
    // Reading the signal here is what most handlers do: they pass it on.
    const { signal, progress } = context;
    signal.addEventListener('abort', () => progress(99));
    await release.promise;
    progress(100);
    ended.resolve(signal.aborted ? 'stopped' : 'finished');
    return 'held';
  });
  return { tool, started: started.promise, release: release.resolve, ended: ended.promise };
}

// In the older revisions hanging up cancels nothing: clients send a notification in the session of the request.
const cancels = ({ transport }: Cell): boolean => transport !== 'fetch without a session';
// One stream carries everything, so what was heard of a request is in order.
const isOneStream = ({ transport }: Cell): boolean => transport === 'stdio' || transport === 'HTTP with SSE';

describeMatrix(({ connect }) => {
  test('a cancelled call is stopped, and the client gets no more messages about it', async () => {
    const { tool, started, release, ended } = holding();
    const peer = await connect({ tools: [tool, quick] });
    const controller = new AbortController();
    const before = peer.wire.heard.length;
    const params = { name: 'hold', _meta: { progressToken: 'p' } };
    const answer = peer.request('tools/call', params, { signal: controller.signal });
    const { signal } = await started;
    const aborted = once(signal, 'abort');
    controller.abort();
    await aborted;
    expect(await answer).toBeUndefined();

    release();
    expect(await ended).toBe('stopped');
    await peer.call('quick');
    expect(peer.wire.heard.slice(before).map((text) => JSON.parse(text))).toMatchObject([
      { result: { content: [{ text: 'quick' }] } },
    ]);
  });
}, cancels);

describeMatrix(
  ({ connect }) => {
    test('a dropped connection does not cancel a call', async () => {
      const { tool, started, release, ended } = holding();
      const peer = await connect({ tools: [tool] });
      const controller = new AbortController();
      const params = { name: 'hold', _meta: { progressToken: 'p' } };
      const answer = peer.request('tools/call', params, { hangUp: controller.signal });
      const { signal } = await started;
      controller.abort();
      expect(signal.aborted).toBe(false);
      release();
      expect(await ended).toBe('finished');
      await answer;
    });
  },
  ({ era, transport }) => era === 'legacy' && transport.startsWith('fetch'),
);

describeMatrix(({ era, connect }) => {
  test('notifications/cancelled stops only the request with exactly that id, of the same type', async () => {
    const { tool, started, release, ended } = holding();
    const peer = await connect({ tools: [tool, quick] });
    const first = await peer.request('tools/call', { name: 'quick' });
    const answer = peer.call('hold');
    const { signal } = await started;
    const id = (first!.id as number) + 1;
    for (const requestId of [first!.id, String(id), id + 1, null, undefined]) {
      await peer.notify('notifications/cancelled', { requestId });
    }
    await peer.call('quick');
    expect(signal.aborted).toBe(false);
    release();
    expect(await ended).toBe('finished');
    expect((await answer).content).toEqual([{ type: 'text', text: 'held' }]);
  });

  test('a request id can be used again once its request was answered, refused or cancelled', async () => {
    const { tool, started } = holding();
    const peer = await connect({ tools: [tool, quick] });
    const message = (name: string): string =>
      JSON.stringify({
        jsonrpc: '2.0',
        id: 'same',
        method: 'tools/call',
        params: { name, ...(era === 'modern' && { _meta: modernMeta() }) },
      });
    expect(JSON.parse((await peer.wire.send(message('quick')))!)).toHaveProperty('result');
    expect(JSON.parse((await peer.wire.send(message('gone')))!)).toMatchObject({ error: { code: -32602 } });
    const controller = new AbortController();
    const cancelled = peer.wire.send(message('hold'), { signal: controller.signal });
    await started;
    controller.abort();
    await cancelled;
    await peer.call('quick');
    expect(JSON.parse((await peer.wire.send(message('quick')))!)).toHaveProperty('result');
  });

  test('a request id in use cannot be used a second time', async () => {
    const { tool, started, release, ended } = holding();
    const peer = await connect({ tools: [tool, quick] });
    const params = { name: 'hold', ...(era === 'modern' && { _meta: modernMeta() }) };
    const message = JSON.stringify({ jsonrpc: '2.0', id: 'same', method: 'tools/call', params });
    void peer.wire.send(message);
    await started;
    expect(JSON.parse((await peer.wire.send(message))!)).toMatchObject({
      id: 'same',
      error: { code: -32600 },
    });
    release();
    await ended;
    await peer.call('quick');
    const answers = peer.wire.heard.map((text) => JSON.parse(text)).filter(({ id }) => id === 'same');
    expect(answers).toMatchObject([{ error: {} }, { result: { content: [{ text: 'held' }] } }]);
  });
}, isOneStream);

test('a closed connection cancels calls of 2026-07-28 and leaves calls of 2025-06-18 running', async () => {
  const older = holding();
  const newer = holding();
  const source = new ToolRegistry().registerTool(
    { ...older.tool, name: 'older' },
    { ...newer.tool, name: 'newer' },
  );
  const listening = await listen(createServer({ source, authenticate: () => ada }), { port: 0 });
  onTestFinished(() => listening.close());

  // Both on one connection, so that its end reaches both at the same moment.
  const socket = connectSocket(Number(new URL(listening.url).port), '127.0.0.1');
  const post = (params: object, client: { version: string; era: 'modern' | 'legacy' }): void => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const headers = {
      ...headersFor(body, client),
      host: new URL(listening.url).host,
      'content-length': body.length,
    };
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /mcp HTTP/1.1\r\n${head.join('')}\r\n${body}`);
  };
  post({ name: 'older' }, { version: '2025-06-18', era: 'legacy' });
  post({ name: 'newer', _meta: modernMeta() }, { version: '2026-07-28', era: 'modern' });
  const [{ signal: olderSignal }, { signal: newerSignal }] = await Promise.all([
    older.started,
    newer.started,
  ]);
  const stopped = once(newerSignal, 'abort');
  socket.destroy();
  await stopped;
  expect(olderSignal.aborted).toBe(false);

  older.release();
  newer.release();
  expect(await older.ended).toBe('finished');
  expect(await newer.ended).toBe('stopped');
});
