import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer, get, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { OutboundError, type OutboundOptions, type OutboundReason } from '../../src/net/outbound.ts';

/** The address that represents the public internet in these tests; all others of this machine are private. */
export const publicAddress = '127.0.0.2';

/** The address that represents a private network. */
export const privateAddress = '127.0.0.1';

/** A request as a host saw it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly servername: string | false | null;
  readonly body: string;
}

/** A TLS server that remembers every connection and request. */
export interface Host {
  readonly seen: readonly Seen[];
  /** Connections opened, whether or not a request came over them. */
  readonly connections: () => number;
  /** Connections open at the moment. */
  readonly open: () => number;
  readonly sent: () => number;
}

/** One public and one private host on the same port, and a resolver that says which names lead where. */
export interface World {
  readonly port: number;
  readonly publicHost: Host;
  readonly privateHost: Host;
  /** The names that were looked up, in order. */
  readonly asked: string[];
  /** What names lead to; a list of lists is worked off one answer at a time, the last one stays. */
  readonly answers: Map<string, (readonly string[])[]>;
  /** How a client must be set to live in this world. */
  readonly network: Required<Pick<OutboundOptions, 'resolve' | 'isAllowed' | 'ca' | 'ports'>>;
  close(): Promise<void>;
}

/** What a host does with a request. */
export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

/** Starts the two hosts; both behave alike. */
export async function createWorld(behave: Behaviour): Promise<World> {
  const { key, cert } = makeCertificate();
  const servers = [0, 1].map(() => createServer({ key, cert, maxHeaderSize: 65_536 }, () => {}));
  const [outer, inner] = servers as [Server, Server];
  const publicHost = observe(outer, behave);
  const privateHost = observe(inner, behave);
  await listen(outer, 0, publicAddress);
  const { port } = outer.address() as { port: number };
  await listen(inner, port, privateAddress);
  const asked: string[] = [];
  const answers: World['answers'] = new Map();
  return {
    port,
    publicHost,
    privateHost,
    asked,
    answers,
    network: {
      ca: cert,
      ports: [port],
      isAllowed: (address) => address === publicAddress,
      resolve: async (name) => {
        asked.push(name);
        const left = answers.get(name) ?? [[publicAddress]];
        return (left.length > 1 ? left.shift() : left[0]) ?? [];
      },
    },
    async close() {
      for (const server of servers) server.closeAllConnections();
      await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
    },
  };
}

function observe(server: Server, behave: Behaviour): Host {
  const seen: Seen[] = [];
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => sockets.push(socket));
  // Clients that give up in the middle are what is tested.
  server.on('tlsClientError', () => {});
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
    request.on('end', () => {
      const { servername } = request.socket as TLSSocket & { servername: Seen['servername'] };
      seen.push({ method: request.method!, url: request.url!, headers: request.headers, servername, body });
      behave(request, response);
    });
  });
  return {
    seen,
    connections: () => sockets.length,
    open: () => sockets.filter((socket) => !socket.destroyed).length,
    sent: () => sockets.reduce((sum, socket) => sum + socket.bytesWritten, 0),
  };
}

function listen(server: Server, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, resolve);
  });
}

const NAMES = 'DNS:api.example.com,DNS:*.example.com,DNS:other.example.org';

/** A certificate for the names of these tests, or others, which is its own authority. */
export function makeCertificate(alternatives = NAMES): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'outbound-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const names = `subjectAltName=${alternatives}`;
  try {
    const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    const facts = ['-days', '2', '-subj', '/CN=outbound test', '-addext', names];
    execFileSync('openssl', [...kind, ...facts, '-keyout', key, '-out', cert], {
      stdio: 'ignore',
      timeout: 30_000,
    });
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** How careless a client is. */
export interface Carelessness {
  readonly resolve: (name: string) => Promise<readonly string[]>;
  readonly ca?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Stops reading there. */
  readonly maxBytes?: number;
}

/** What a tool without a client does: resolves while connecting, follows every redirect, takes everything along. */
export async function naiveGet(url: string, how: Carelessness): Promise<{ status: number; bytes: number }> {
  const { resolve, ca, headers = {}, maxBytes = Infinity } = how;
  const response = await new Promise<IncomingMessage>((done, fail) => {
    get(
      url,
      {
        headers,
        agent: false,
        ...(ca ? { ca } : { rejectUnauthorized: false }),
        lookup: (name, { all }, callback) => {
          resolve(name).then(
            ([address = '']) => (all ? callback(null, [{ address, family: 4 }]) : callback(null, address, 4)),
            (error: unknown) => callback(error as Error, []),
          );
        },
      },
      done,
    ).on('error', fail);
  });
  const status = response.statusCode!;
  if (status >= 300 && status < 400) {
    response.destroy();
    return naiveGet(new URL(response.headers.location!, url).href, how);
  }
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) if ((bytes += chunk.length) > maxBytes) break;
  return { status, bytes };
}

/** How a request ended; what is no refusal or failure of a client is thrown on. */
export async function outcomeOf(
  work: Promise<unknown>,
): Promise<{ readonly reason: OutboundReason | 'reached'; readonly message: string }> {
  try {
    await work;
    return { reason: 'reached', message: '' };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return { reason: error.reason, message: error.message };
  }
}
