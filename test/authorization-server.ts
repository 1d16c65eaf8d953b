import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** A request one of the two servers got. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly form: URLSearchParams;
}

type Reply = { readonly status?: number; readonly headers?: Record<string, string>; readonly body?: unknown };

/** What an answer is instead of the usual one; nothing leaves it as it is. */
export type Answer = (seen: Seen) => Reply | undefined | Promise<Reply | undefined>;

/** A server on this machine that notes what it gets. */
export interface Peer {
  readonly url: string;
  readonly seen: Seen[];
  /** Answers of the test, by path; they come before the usual ones. */
  readonly answers: Map<string, Answer>;
  /** What it got at one path. */
  at(path: string): Seen[];
}

/** An authorization server that behaves, unless a test has it do otherwise. */
export interface AuthorizationPeer extends Peer {
  /** Fields to add to its metadata, or to take out with `undefined`. */
  metadata: Record<string, unknown>;
  /** What the page adds to the address it leads back to; `undefined` takes something out. */
  redirected: Record<string, string | undefined>;
  /** Fields to add to the answers of the token endpoint. */
  granted: Record<string, unknown>;
  /** The tokens that were given out, newest last. */
  readonly tokens: string[];
}

/** An MCP server that takes the newest token of an authorization server. */
export interface ProtectedPeer extends Peer {
  /** Fields of its metadata. */
  metadata: Record<string, unknown>;
  /** The `WWW-Authenticate` header of its 401. */
  challenge: string;
}

/** Starts a server that answers by path until the test is over. */
export async function startPeer(usual: Answer = () => undefined): Promise<Peer> {
  const seen: Seen[] = [];
  const answers = new Map<string, Answer>();
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const [path = ''] = (request.url ?? '').split('?');
    const query = request.method === 'GET' ? (request.url ?? '').slice(path.length + 1) : body;
    const one = {
      method: request.method ?? '',
      path,
      headers: request.headers,
      body,
      form: new URLSearchParams(query),
    };
    seen.push(one);
    const reply = (await answers.get(path)?.(one)) ?? (await usual(one)) ?? { status: 404 };
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
    response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {}));
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, seen, answers, at: (path) => seen.filter((each) => each.path === path) };
}

/** Starts an authorization server that checks PKCE and lets everybody register and sign in. */
export async function startAuthorizationServer(): Promise<AuthorizationPeer> {
  const codes = new Map<string, URLSearchParams>();
  const tokens: string[] = [];
  const peer: Peer = await startPeer((seen) => {
    switch (seen.path) {
      case '/.well-known/oauth-authorization-server':
        return { body: { ...metadataOf(peer.url), ...server.metadata } };
      case '/register':
        return {
          status: 201,
          body: { ...(JSON.parse(seen.body) as object), client_id: `client-${randomUUID()}` },
        };
      case '/authorize':
        return authorize(seen, codes, server);
      case '/token':
        return isGood(seen.form, codes)
          ? { body: { ...grant(tokens), ...server.granted } }
          : { status: 400, body: { error: 'invalid_grant' } };
      default:
        return undefined;
    }
  });
  const server: AuthorizationPeer = { ...peer, metadata: {}, redirected: {}, granted: {}, tokens };
  return server;
}

/** Starts a server at `/mcp` that accepts only the newest token. */
export async function startProtected(authority: AuthorizationPeer): Promise<ProtectedPeer> {
  const peer: Peer = await startPeer(({ path, headers }) => {
    if (path === '/.well-known/oauth-protected-resource/mcp')
      return {
        body: { resource: `${peer.url}/mcp`, authorization_servers: [authority.url], ...server.metadata },
      };
    if (path !== '/mcp') return undefined;
    const isIn = authority.tokens.some((token) => headers.authorization === `Bearer ${token}`);
    return isIn ? { body: 'in' } : { status: 401, headers: { 'www-authenticate': server.challenge } };
  });
  const server: ProtectedPeer = {
    ...peer,
    metadata: {},
    challenge: `Bearer resource_metadata="${peer.url}/.well-known/oauth-protected-resource/mcp"`,
  };
  return server;
}

function metadataOf(url: string): Record<string, unknown> {
  return {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    registration_endpoint: `${url}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
  };
}

function authorize(
  { form }: Seen,
  codes: Map<string, URLSearchParams>,
  { url, redirected }: AuthorizationPeer,
): Reply {
  const code = randomUUID();
  codes.set(code, form);
  const back = new URL(form.get('redirect_uri') ?? '');
  const usual = { code, state: form.get('state') ?? undefined, iss: url };
  for (const [name, value] of Object.entries({ ...usual, ...redirected }))
    if (value !== undefined) back.searchParams.set(name, value);
  return { status: 302, headers: { location: back.href } };
}

function isGood(form: URLSearchParams, codes: Map<string, URLSearchParams>): boolean {
  if (form.get('grant_type') !== 'authorization_code') return true;
  const asked = codes.get(form.get('code') ?? '');
  codes.delete(form.get('code') ?? '');
  const verifier = form.get('code_verifier') ?? '';
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  return (
    asked?.get('code_challenge') === challenge &&
    asked.get('redirect_uri') === form.get('redirect_uri') &&
    asked.get('resource') === form.get('resource')
  );
}

function grant(tokens: string[]): Record<string, unknown> {
  const token = `token-${randomUUID()}`;
  tokens.push(token);
  return { access_token: token, token_type: 'Bearer', expires_in: 3_600, refresh_token: `refresh-${token}` };
}
