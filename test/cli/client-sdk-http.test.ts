import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { cli, startNode } from '../behaviour/child.ts';
import { deferred } from '../behaviour/deferred.ts';
import { runCommandLine } from '../behaviour/run-command-line.ts';
import { within } from '../within.ts';

interface SdkServer {
  readonly url: string;
  readonly waiting: Promise<void>;
  readonly cancelled: Promise<void>;
  /** The methods of HTTP that were used. */
  readonly methods: string[];
}

/** A server of the official SDK with one session, until the test ends. */
async function startSdkServer(): Promise<SdkServer> {
  const [waiting, cancelled] = [deferred(), deferred()];
  const server = new McpServer({ name: 'sdk', version: '1.0.0' });
  const inputSchema = { city: z.string(), days: z.number().int() };
  server.registerTool('forecast', { description: 'Forecasts.', inputSchema }, ({ city, days }) => ({
    content: [{ type: 'text', text: `${city} ${days + 1}` }],
  }));
  server.registerTool('wait', { description: 'Waits.' }, async ({ signal }) => {
    waiting.resolve();
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    cancelled.resolve();
    return { content: [] };
  });
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
  await server.connect(transport);
  const methods: string[] = [];
  const http = createServer((request, response) => {
    methods.push(request.method ?? '');
    void transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await server.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  return { url, waiting: waiting.promise, cancelled: cancelled.promise, methods };
}

test('a tool of an official SDK server over HTTP can be called, and the session is ended', async () => {
  const { url, methods } = await startSdkServer();
  const run = await runCommandLine(['call', url, 'forecast', 'city=Bern', 'days=2']);
  expect(run).toMatchObject({ code: 0, output: 'Bern 3\n' });
  expect(methods.at(-1)).toBe('DELETE');
});

test('Ctrl-C cancels the call at an official SDK server over HTTP', async () => {
  const { url, waiting, cancelled } = await startSdkServer();
  const child = startNode([cli, 'call', url, 'wait']);
  await within(20_000, 'the call', waiting);
  child.process.kill('SIGINT');
  await within(10_000, 'the cancelled call', cancelled);
  expect((await child.exit).code).toBe(130);
});
