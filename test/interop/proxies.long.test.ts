import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createServer, defineTool, ToolRegistry } from '../../src/index.ts';
import { listen } from '../../src/node.ts';
import { deferred } from '../behaviour/deferred.ts';
import { ada } from '../behaviour/matrix.ts';
import { within } from '../within.ts';
import { hasProgram, NAME, startDeployedCaddy, startDeployedNginx, type Proxy } from './proxies.ts';

const call = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'slow', _meta: { progressToken: 1 } },
});

/** A server that says something, and goes on when it is told to, behind a proxy. */
async function open(start: (upstream: string) => Promise<Proxy>) {
  const go = deferred();
  let runs = 0;
  const slow = defineTool({ name: 'slow', description: 'Waits.' }, async (_args, { progress }) => {
    runs++;
    progress(1, undefined, 'begun');
    await go.promise;
    return 'done';
  });
  const server = createServer({
    source: new ToolRegistry().registerTool(slow),
    authenticate: ({ headers }) => (headers['authorization'] === 'Bearer good' ? ada : undefined),
    allowedHosts: [NAME],
  });
  const listening = await listen(server, { port: 0 });
  onTestFinished(() => listening.close());
  const proxy = await start(new URL(listening.url).origin);
  onTestFinished(() => proxy.stop());
  const post = (host: string, authorization = 'Bearer good'): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const accept = 'application/json, text/event-stream';
      const headers = { host, authorization, accept, 'content-type': 'application/json' };
      const { port, ca } = proxy;
      const at = { host: '127.0.0.1', port, ca, servername: NAME, agent: false } as const;
      request({ ...at, path: '/mcp', method: 'POST', headers }, resolve)
        .on('error', reject)
        .end(call);
    });
  return { go, post, runs: () => runs };
}

describe.each([
  ['nginx', startDeployedNginx],
  ['caddy', startDeployedCaddy],
] as const)('behind %s with the configuration of the deploy folder', (name, start) => {
  test.skipIf(!hasProgram(name))('a client over TLS gets progress while a call runs', async () => {
    const { go, post } = await open(start);
    const response = await post(NAME);
    expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'text/event-stream']);
    const first = await within(
      5_000,
      'the first event',
      new Promise<string>((resolve) => {
        response.once('data', (chunk: Buffer) => resolve(chunk.toString()));
      }),
    );
    // The call has not ended: nothing but this event was there to be sent.
    expect([first.includes('begun'), first.includes('done')]).toEqual([true, false]);
    go.resolve();
    expect(await text(response)).toContain('"text":"done"');
  });

  test.skipIf(!hasProgram(name))('the credential and the host name are still checked', async () => {
    const { post, runs } = await open(start);
    expect((await post(NAME, 'Bearer bad')).statusCode).toBe(401);
    // nginx hands everything to its one site, whose server refuses it; Caddy answers other names itself, with nothing.
    expect(await text(await post('evil.example'))).toMatch(
      name === 'nginx' ? /host name is not served/ : /^$/,
    );
    expect(runs()).toBe(0);
  });
});
