import { once } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { createServer, defineTool, ToolRegistry } from '../../src/index.ts';
import { listen, serveStdio } from '../../src/node.ts';
import { deferred } from './deferred.ts';
import { ada } from './matrix.ts';
import { modernMeta } from './peer.ts';
import { EventReader, sendOverSocket } from './session-client.ts';
import { headersFor } from './wires.ts';

/** A tool that works until it may end or is stopped. */
function working() {
  const runs: AbortSignal[] = [];
  const mayEnd = deferred();
  const tool = defineTool({ name: 'work', description: 'Works.' }, async (_args, { signal }) => {
    runs.push(signal);
    await Promise.race([mayEnd.promise, once(signal, 'abort')]);
    return 'done';
  });
  return { source: new ToolRegistry().registerTool(tool), runs, end: mayEnd.resolve };
}

async function serve() {
  const { source, ...work } = working();
  const server = createServer({ source, authenticate: () => ada, log: () => {} });
  const listening = await listen(server, { port: 0, sse: true });
  onTestFinished(() => listening.close(0));
  return { ...work, url: listening.url };
}

/** Sends a request on a connection of its own, of which each end is closed by itself. */
function sendOn({ host, port, pathname, search }: URL, body: string, headers: object): Socket {
  const socket = connectSocket({ host: '127.0.0.1', port: Number(port), allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  const fields = Object.entries({ ...headers, host, 'content-length': body.length });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.write(`POST ${pathname}${search} HTTP/1.1\r\n${head}\r\n${body}`);
  return socket;
}

const revisions = [
  ['2026-07-28', 'modern', modernMeta()],
  ['2025-11-25', 'legacy', {}],
] as const;

test.each(revisions)(
  'over HTTP, a client of %s that closes its sending end before it has its answer has hung up',
  async (version, era, _meta) => {
    const { url, runs, end } = await serve();
    const params = { name: 'work', _meta };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const socket = sendOn(new URL(url), body, headersFor(body, { version, era }));
    await expect.poll(() => runs.length).toBe(1);
    socket.end();
    // The connection ends without an answer.
    expect(await readText(socket)).toBe('');
    if (era === 'modern') await expect.poll(() => runs[0]!.aborted).toBe(true);
    else expect(runs[0]!.aborted).toBe(false);
    end();
  },
);

test('over the SSE transport, a client may close the sending end of a post: the answer comes on the stream', async () => {
  const { url, runs, end } = await serve();
  const headers = { authorization: 'Bearer ada', accept: 'text/event-stream' };
  const stream = new EventReader(await sendOverSocket(url, { method: 'GET', path: '/sse', headers }));
  const { data: path } = (await stream.next())!;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'work' } });
  const post = { 'content-type': 'application/json', authorization: 'Bearer ada' };
  const socket = sendOn(new URL(path!, url), body, post);
  socket.end();
  await expect.poll(() => runs.length).toBe(1);
  await readText(socket);
  expect(runs[0]!.aborted).toBe(false);
  end();
  expect((await stream.message()).message).toMatchObject({ id: 1, result: {} });
  await stream.hangUp();
});

test('over standard input and output, every request is answered after the input has ended', async () => {
  const { source, runs, end } = working();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const served = serveStdio(createServer({ source, log: () => {} }), { input, output });
  const ids = Array.from({ length: 20 }, (_, id) => id);
  const call = (id: number): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'work', _meta: modernMeta() },
    });
  // The last line without a line end.
  input.end(ids.map(call).join('\n'));
  await expect.poll(() => runs.length).toBe(ids.length);
  end();
  await served;
  output.end();
  const answers = (await readText(output)).trimEnd().split('\n');
  const answered = answers.map((line) => (JSON.parse(line) as { id: number }).id);
  expect(answered.toSorted((one, other) => one - other)).toEqual(ids);
  expect(runs.every(({ aborted }) => !aborted)).toBe(true);
});
