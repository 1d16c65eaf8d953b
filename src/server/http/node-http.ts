import { createServer as createHttpServer, type RequestListener, type Server as HttpServer } from 'node:http';
import { isIPv4, type AddressInfo, type Socket } from 'node:net';
import { isLoopback } from '../../base/loopback.ts';
import { ToolcribError } from '../../base/errors.ts';
import { Connections } from './connections.ts';
import type { Server } from '../create-server.ts';
import { pathOf } from './endpoint.ts';
import { Gate } from './gate.ts';
import { headOf, NodeEndpoint, refuseWith, stopRequests } from './node-endpoint.ts';
import { metadataOf } from './protected-resource.ts';
import { answerRoute, checkRoutes, type DeclaredRoute, type Route, type RouteAnswer } from './routes.ts';
import { SseEndpoint, ssePaths } from './sse-endpoint.ts';

/** Where to listen. */
export interface ListenOptions {
  /** `127.0.0.1` unless set; anything beyond loopback needs `authenticate` and `allowedHosts`. */
  readonly host?: string;
  /** 8484 unless set; 0 picks a free one. */
  readonly port?: number;
  /** `/mcp` unless set. */
  readonly path?: string;
  /** Also serve clients of 2024-11-05 over HTTP with server-sent events, at `/sse` and `/messages`. */
  readonly sse?: boolean;
  /** How many connections there may be, 10,000 unless set; a few more are taken for routes that are public. */
  readonly maxConnections?: number;
  /** What else can be read here with GET; each says who may. */
  readonly routes?: readonly Route[];
}

/** A server that listens. */
export interface Listening {
  readonly url: string;
  /** Every way in, and who may use it. */
  readonly routes: readonly DeclaredRoute[];
  /**
   * Stops accepting, ends open streams, lets calls under way finish for up to `graceMs` (5 seconds unless set), then
   * stops those that are left, each with an error to its client, and closes their connections. Calls that no connection
   * waits for, such as queued ones, end in the same way.
   */
  close(graceMs?: number): Promise<void>;
}

// How long the answers of stopped calls may take.
const LAST_WORDS_MS = 250;
// How often is looked whether anything is left.
const LOOK_MS = 20;

const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
  // The gate refuses a request without a Host, as it refuses everything else.
  requireHostHeader: false,
};

/** Puts a server on the network, straight on `node:http`. */
export async function listen(server: Server, options: ListenOptions = {}): Promise<Listening> {
  const { host = '127.0.0.1', port = 8484, path = '/mcp', sse = false, routes = [] } = options;
  const { maxConnections = 10_000 } = options;
  checkAddress(port, path);
  checkConnections(maxConnections);
  checkExposure(server, host);
  const all = [...metadataRoutes(server, path), ...routes];
  checkRoutes(all, sse ? [path, ...ssePaths] : [path]);
  const http = createHttpServer(LIMITS);
  const connections = new Connections(http, maxConnections);
  await new Promise<void>((resolve, reject) => {
    http.once('error', (cause: NodeJS.ErrnoException) =>
      reject(new ToolcribError('invalid_setup', explain(cause, host, port), { cause })),
    );
    http.listen(port, host, resolve);
  });
  // If a connection cannot be accepted, such as when descriptors run out, those that are open go on.
  http.removeAllListeners('error').on('error', (cause) => {
    server.options.log?.('error', 'A connection could not be accepted.', { cause });
  });
  const bound = (http.address() as AddressInfo).port;
  const allowedHosts = server.options.allowedHosts ?? loopbackHosts(host, bound);
  const gate = new Gate(server.options, { path, tenants: true, allowedHosts });
  const endpoint = new NodeEndpoint(server, gate);
  const old = sse ? new SseEndpoint(server, allowedHosts) : undefined;
  const others = otherPaths(server, { routes: all, allowedHosts, old });
  const publicPaths = new Set(all.filter(({ access }) => access === 'public').map((route) => route.path));
  const take: RequestListener = (request, response) => {
    if (connections.isSpare(request.socket)) {
      response.shouldKeepAlive = false;
      if (!publicPaths.has(pathOf(request.url!))) {
        refuseWith(response, gate, { head: headOf(request), error: full(), failure: 503 });
        return;
      }
    }
    // Nearly every request is to the endpoint itself.
    const other = request.url === path ? undefined : others.get(pathOf(request.url!));
    if (other) other(request, response);
    else endpoint.take(request, response);
  };
  http.on('request', take);
  // Answered by us, so that a refused client is never told to go on with its body.
  http.on('checkContinue', take);
  const dismiss: Dismiss = (isGone) => old?.dismiss(isGone);
  server.dismissals.add(dismiss);
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}${path}`,
    routes: declare(path, sse, all),
    async close(graceMs = 5_000) {
      const stop = (): void => stopOn(connections.all, old, server);
      const hasMore = (): boolean => server.exchange.hasUnattended;
      const closed = closeGently(http, connections.all, { graceMs, stop, hasMore });
      server.close();
      server.dismissals.delete(dismiss);
      old?.close();
      await closed;
    },
  };
}

type Dismiss = Parameters<Server['dismissals']['add']>[0];

interface OtherPaths {
  readonly routes: readonly Route[];
  readonly allowedHosts: readonly string[];
  readonly old: SseEndpoint | undefined;
}

// Who answers at the paths beside that of the endpoint; each has a gate of its own.
function otherPaths(server: Server, { routes, allowedHosts, old }: OtherPaths): Map<string, RequestListener> {
  const listeners = new Map<string, RequestListener>();
  for (const route of routes) {
    const hosts = route.hosts ?? allowedHosts;
    const gate = new Gate(server.options, { path: route.path, allowedHosts: hosts, allow: 'GET' });
    listeners.set(route.path, (request, response) => void answerRoute(request, response, { route, gate }));
  }
  if (old)
    for (const path of ssePaths) listeners.set(path, (request, response) => old.take(request, response));
  return listeners;
}

function metadataRoutes({ options }: Server, path: string): Route[] {
  if (!options.resource) return [];
  const { paths, body } = metadataOf(options.resource, path);
  const answer = (): RouteAnswer => ({ status: 200, headers: { 'content-type': 'application/json' }, body });
  return paths.map((each) => ({ path: each, access: 'public', answer }));
}

function declare(path: string, sse: boolean, routes: readonly Route[]): DeclaredRoute[] {
  const own = [path, `/t/{tenant}${path}`, ...(sse ? ssePaths : [])];
  return [
    ...own.map((each): DeclaredRoute => ({ path: each, access: 'caller' })),
    ...routes.map(({ path: each, access }) => ({ path: each, access })),
  ];
}

function checkAddress(port: unknown, path: unknown): void {
  if (!Number.isInteger(port) || (port as number) < 0 || (port as number) > 65_535) {
    throw new ToolcribError(
      'invalid_setup',
      `port must be a whole number from 0 to 65535, not ${JSON.stringify(port)}.`,
    );
  }
  if (typeof path !== 'string' || !path.startsWith('/')) {
    throw new ToolcribError(
      'invalid_setup',
      `path must start with "/", such as "/mcp", not ${JSON.stringify(path)}.`,
    );
  }
}

function checkConnections(maxConnections: unknown): void {
  if (Number.isInteger(maxConnections) && (maxConnections as number) > 0) return;
  throw new ToolcribError(
    'invalid_setup',
    `maxConnections must be a whole number above 0, not ${String(maxConnections)}.`,
  );
}

function full(): ToolcribError {
  return new ToolcribError('busy', 'This server has as many connections as it takes; try again later.');
}

function explain({ code }: NodeJS.ErrnoException, host: string, port: number): string {
  if (code === 'EADDRINUSE')
    return `${host}:${port} is in use; choose another port (toolcrib serve --listen 8485).`;
  if (code === 'EACCES') return `No permission to listen on ${host}:${port}; choose a port above 1023.`;
  return `Cannot listen on ${host}:${port}; choose an address of this machine.`;
}

function checkExposure({ options }: Server, host: string): void {
  if (isLoopback(host)) return;
  if (!options.authenticate) {
    throw new ToolcribError(
      'invalid_setup',
      `Listening on ${host} would open every tool to the network: pass authenticate to createServer.`,
    );
  }
  if (!options.allowedHosts) {
    throw new ToolcribError(
      'invalid_setup',
      `Listening on ${host} needs the host names clients use: allowedHosts: ['tools.example.com'].`,
    );
  }
}

function loopbackHosts(host: string, port: number): string[] {
  const names = [...new Set(['localhost', '127.0.0.1', '[::1]', ...(isIPv4(host) ? [host] : [])])];
  return port === 80 ? names : names.map((name) => `${name}:${port}`);
}

// Each by itself: one that cannot be stopped must not keep others from their answers.
function stopOn(
  sockets: ReadonlySet<Socket>,
  old: SseEndpoint | undefined,
  { options, exchange }: Server,
): void {
  const reason = new ToolcribError('cancelled', 'The server is stopping.');
  for (const socket of sockets) options.accidents.contain(() => stopRequests(socket, reason));
  options.accidents.contain(() => old?.dismiss(() => true));
  options.accidents.contain(() => exchange.stopUnattended(reason));
}

interface Closing {
  readonly graceMs: number;
  /** Stops what is still under way. */
  readonly stop: () => void;
  /** Whether calls are under way that no connection waits for. */
  readonly hasMore: () => boolean;
}

async function closeGently(
  http: HttpServer,
  sockets: ReadonlySet<Socket>,
  { graceMs, stop, hasMore }: Closing,
): Promise<void> {
  const stopAt = performance.now() + graceMs;
  const closed = new Promise<void>((resolve) => {
    http.close(() => resolve());
  });
  // Connections that finish their last answer from now on are idle, and idle ones would hold the server open.
  const sweep = setInterval(() => {
    http.closeIdleConnections();
    // Clients open connections in advance, and Node counts them as busy until their first request.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  }, LOOK_MS);
  let force = setTimeout(() => {
    stop();
    force = setTimeout(() => http.closeAllConnections(), LAST_WORDS_MS);
  }, graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(force);
  await endOf(hasMore, stopAt);
  stop();
  await endOf(hasMore, performance.now() + LAST_WORDS_MS);
}

async function endOf(isGoingOn: () => boolean, until: number): Promise<void> {
  while (isGoingOn() && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}
