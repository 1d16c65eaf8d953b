import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ToolCall } from '../../src/core/call.ts';
import { defineTool, type Tool } from '../../src/core/tool.ts';
import { createServer, type Server } from '../../src/server/create-server.ts';
import { listen } from '../../src/server/http/node-http.ts';
import type { ServerOptions } from '../../src/server/options.ts';
import { recordingSource, type RecordingSource } from '../../src/testing.ts';

/** Something an attack can be sent to, and a count of what it ran. */
export interface Target {
  readonly port: number;
  runs(): number;
}

/** The product, with a count of the calls that reached its tools. */
export interface Product extends Target {
  readonly source: Omit<RecordingSource, 'calls'> & { readonly calls: readonly ToolCall[] };
  readonly server: Server;
}

/** Runs whatever it is given. */
export const danger = defineTool(
  {
    name: 'danger',
    description: 'Does something that must not happen.',
    input: { additionalProperties: true },
  },
  (args) => ({ ran: true, args }),
);

/** Shows three of its arguments to proxies. */
export const mirrored = defineTool(
  {
    name: 'mirrored',
    description: 'Mirrors its arguments into headers.',
    input: {
      properties: {
        region: { type: ['string', 'null'], description: 'A region.' },
        zone: { type: 'string', 'x-mcp-header': 'Zone' },
        count: { type: 'integer', 'x-mcp-header': 'Count' },
        deep: { type: 'object', properties: { flag: { type: 'boolean', 'x-mcp-header': 'Flag' } } },
      },
    },
  },
  (args) => args,
);

/** Starts the product on a free port for the length of one test. */
export async function product(
  { sse = false, ...options }: Partial<ServerOptions> & { readonly sse?: boolean } = {},
  tools: readonly Tool<never>[] = [danger, mirrored],
): Promise<Product> {
  // It has nothing but tools.
  const source = recordingSource(...tools) as Product['source'];
  const server = createServer({ source, log: () => {}, requestsPerMinute: 1_000_000_000, ...options });
  const listening = await listen(server, { port: 0, sse });
  onTestFinished(() => listening.close(0));
  return { port: Number(new URL(listening.url).port), runs: () => source.calls.length, source, server };
}

/** How a careless server makes messages of a body. */
export type Reading = (body: Buffer, encoding: string | undefined) => unknown;

/** The negative control: a server that reads whatever comes and runs every call it can make out. */
export async function careless(
  reading: Reading = readCarelessly,
  reply = (ran: number): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result: { ran } }),
): Promise<Target> {
  let runs = 0;
  const http = createHttpServer({ requireHostHeader: false }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const message = reading(Buffer.concat(chunks), request.headers['content-encoding']);
      const calls = (Array.isArray(message) ? message : [message]).filter(isCall);
      runs += calls.length;
      response.end(reply(calls.length));
    });
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { port: (http.address() as AddressInfo).port, runs: () => runs };
}

// Takes members in any case and drops what it does not understand, as real servers have done.
function readCarelessly(body: Buffer): unknown {
  const text = body.toString('utf8').replaceAll(/[\u{feff}\0]/gu, '');
  return JSON.parse(text, (_key, value: unknown) => (isPlain(value) ? withLowerCase(value) : value));
}

function withLowerCase(value: object): object {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toLowerCase(), item as unknown]));
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCall(message: unknown): boolean {
  return isPlain(message) && 'method' in message && String(message.method).toLowerCase() === 'tools/call';
}
