import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { createKeySignIn } from '../../src/auth/key-sign-in.ts';
import type { SignIn } from '../../src/auth/sign-in.ts';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { createServer, type Server } from '../../src/server/create-server.ts';
import { listen, type Listening, type ListenOptions } from '../../src/server/http/node-http.ts';
import type { ServerOptions } from '../../src/server/options.ts';
import { recordingSource } from '../../src/testing.ts';
import { MapIdentities, pepper } from './identities.ts';
import { danger, type Product } from './target.ts';

/** The product behind API keys. */
export interface Keyed extends Product {
  readonly identities: MapIdentities;
  readonly signIn: SignIn;
  readonly server: Server;
  readonly listening: Listening;
  /** Everything that was logged, as text. */
  readonly logged: string[];
}

/** What may be different about it. */
export type KeyedOptions = Partial<ServerOptions> &
  Pick<ListenOptions, 'sse' | 'routes' | 'path'> & { readonly clock?: Clock; readonly signIn?: SignIn };

/** Starts the product behind API keys of the tenants north and south for the length of one test. */
export async function keyed(options: KeyedOptions = {}): Promise<Keyed> {
  const { sse = false, routes = [], path = '/mcp', clock = systemClock, ...rest } = options;
  const identities = new MapIdentities('north', 'south');
  const logged: string[] = [];
  const log = (...entry: unknown[]): void => void logged.push(JSON.stringify(entry));
  const signIn = options.signIn ?? createKeySignIn({ identities, pepper, clock, log });
  const source = recordingSource(danger) as Product['source'];
  const server = createServer({ source, log, clock, authenticate: signIn.authenticate, ...rest });
  signIn.onRevoked((isGone) => server.dismiss(isGone));
  const listening = await listen(server, { port: 0, sse, routes, path });
  onTestFinished(async () => {
    signIn.close();
    await listening.close(0);
  });
  const port = Number(new URL(listening.url).port);
  return { port, runs: () => source.calls.length, source, server, listening, identities, signIn, logged };
}

/** Sends a request over its own connection and reads its answer. */
export async function ask(
  { port }: { port: number },
  options: {
    readonly method?: string;
    readonly path?: string;
    readonly headers?: Record<string, string>;
    readonly body?: string;
  } = {},
): Promise<{ status: number; body: string; headers: IncomingMessage['headers'] }> {
  const { method = 'POST', path = '/mcp', headers = {}, body = method === 'POST' ? CALL : '' } = options;
  const type: Record<string, string> = method === 'POST' ? { 'content-type': 'application/json' } : {};
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const target = { host: '127.0.0.1', port, method, path, headers: { ...type, ...headers }, agent: false };
    httpRequest(target, resolve).on('error', reject).end(body);
  });
  return { status: response.statusCode!, body: await readText(response), headers: response.headers };
}

/** A call of the handshake revisions that needs no session. */
export const CALL =
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"danger","arguments":{}}}';
