import { request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createServer, defineTool, ToolRegistry, type Clock } from '../../src/index.ts';
import { listen } from '../../src/node.ts';
import { hasNginx, startNginx } from './nginx.ts';

const TEN_TIMES: Clock = {
  now: () => Date.now(),
  ticks: () => performance.now() * 10,
  after(ms, task) {
    const timer = setTimeout(task, ms / 10);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

const slow = defineTool({ name: 'slow', description: 'Says nothing for long.' }, async () => {
  await new Promise((resume) => setTimeout(resume, 6_000));
  return 'done';
});
const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'slow' } });

/** A server whose time runs ten times as fast, so that a minute of nginx's patience is six seconds, behind nginx. */
async function openBehindNginx(options: { waitSeconds: number; http2?: boolean }): Promise<string> {
  const source = new ToolRegistry().registerTool(slow);
  const listening = await listen(createServer({ source, clock: TEN_TIMES, deadlineMs: 600_000 }), {
    port: 0,
  });
  onTestFinished(() => listening.close());
  const nginx = await startNginx(new URL(listening.url).origin, options);
  onTestFinished(() => nginx.stop());
  return nginx.socketPath;
}

async function post(socketPath: string, accept: string): Promise<{ status: number; body: string }> {
  const headers = { 'content-type': 'application/json', accept };
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path: '/mcp', method: 'POST', headers }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode!, body }), reject);
    });
    sent.on('error', reject);
    sent.end(call);
  });
}

describe.skipIf(!hasNginx())('behind nginx', () => {
  test('a call without output for longer than the proxy timeout still gets its result', async () => {
    const socketPath = await openBehindNginx({ waitSeconds: 4 });
    const { status, body } = await post(socketPath, 'application/json, text/event-stream');
    expect(status).toBe(200);
    expect(body).toMatch(/^(?:: keep-alive\n\n)+event: message\ndata: \{.*"text":"done"/);
  });

  test('control: a client that accepts no event stream is cut off by the proxy', async () => {
    const socketPath = await openBehindNginx({ waitSeconds: 4 });
    expect(await post(socketPath, 'application/json')).toMatchObject({ status: 504 });
  });

  test('a client over HTTP/2 gets its result, too', async () => {
    const socketPath = await openBehindNginx({ waitSeconds: 4, http2: true });
    const session = connectHttp2('http://localhost', { createConnection: () => connect(socketPath) });
    onTestFinished(() => session.close());
    const stream = session.request({
      ':method': 'POST',
      ':path': '/mcp',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    });
    stream.end(call);
    expect(await text(stream)).toMatch(/"text":"done"/);
  });
});
