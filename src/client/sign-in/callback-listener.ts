import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signInFailed } from './failure.ts';

/** Waits on this machine for the browser to come back. */
export interface CallbackListener {
  readonly redirectUri: string;
  /** The address the browser came back to with the right state; requests with another one change nothing. */
  answer(state: string, patienceMs: number, signal: AbortSignal): Promise<URL>;
  close(): Promise<void>;
}

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

/** The path the browser comes back to: for each issuer another, where clients may choose it. */
export function callbackPath(issuer: string | undefined): string {
  if (issuer === undefined) return '/callback';
  return `/callback/${createHash('sha256').update(issuer).digest('base64url').slice(0, 16)}`;
}

/** Listens where a redirect leads; without a fixed one, at the address that is preferred, or on a free port. */
export async function listenForCallback(
  redirectUrl: string | undefined,
  preferred: string,
): Promise<CallbackListener> {
  const wanted = new URL(redirectUrl ?? preferred);
  const server = createServer({ maxHeaderSize: 16_384, requestTimeout: 10_000 });
  server.maxConnections = 16;
  try {
    await listen(server, wanted, redirectUrl === undefined);
  } catch {
    throw signInFailed(
      `Nothing can listen at ${wanted.origin} for the answer of the sign-in; free that port.`,
    );
  }
  // A fixed address is sent as it was registered, letter by letter.
  const { port } = server.address() as AddressInfo;
  const redirectUri = redirectUrl ?? `http://127.0.0.1:${port}${wanted.pathname}`;
  return {
    redirectUri,
    answer: (state, patienceMs, signal) => waitFor(server, { redirectUri, state, patienceMs, signal }),
    close: () => close(server),
  };
}

function listen(server: Server, { hostname, port }: URL, mayMove: boolean): Promise<void> {
  const host = hostname.replaceAll(/[[\]]/g, '');
  const start = (at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port: at, exclusive: true }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  const first = start(Number(port === '' ? 80 : port));
  return mayMove ? first.catch(() => start(0)) : first;
}

interface Wait {
  readonly redirectUri: string;
  readonly state: string;
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

function waitFor(server: Server, { redirectUri, state, patienceMs, signal }: Wait): Promise<URL> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signInFailed('The sign-in was given up.'));
    const timer = setTimeout(
      () => reject(signInFailed(`Nobody signed in within ${Math.round(patienceMs / 1_000)} s; try again.`)),
      patienceMs,
    );
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    server.once('close', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      stop();
    });
    server.on('request', (request, response) => {
      const url = answerIn(request, redirectUri, state);
      if (!url) return say(response, 404, 'This is not the answer to a sign-in that is under way.');
      say(response, 200, 'The answer was received. You can close this window and go back to the program.');
      resolve(url);
    });
  });
}

function answerIn(
  { method, url = '' }: IncomingMessage,
  redirectUri: string,
  state: string,
): URL | undefined {
  if (method !== 'GET' || !url.startsWith('/') || !URL.canParse(url, redirectUri)) return undefined;
  const answer = new URL(url, redirectUri);
  const { pathname } = new URL(redirectUri);
  return answer.pathname === pathname && answer.searchParams.get('state') === state ? answer : undefined;
}

function say(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, PAGE_HEADERS);
  response.end(`<!doctype html><title>Toolcrib</title><p>${text}</p>`);
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    // An answer that was just given still has to leave.
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), 250).unref();
  });
}
