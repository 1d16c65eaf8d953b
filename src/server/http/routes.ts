import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import { corsHeaders, type Head } from './endpoint.ts';
import type { Gate } from './gate.ts';
import { checkHead, headOf, refuseWith } from './node-endpoint.ts';

/** Who may read a route: everybody, or callers with a scope; there is no default. */
export type RouteAccess = 'public' | { readonly scope: string };

/** The answer of a route. */
export interface RouteAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Something to read with GET beside the endpoint, such as `/healthz`. */
export interface Route {
  readonly path: string;
  readonly access: RouteAccess;
  /** `any` takes every `Host`, for probes that ask by address; the answer must be of no use to a page elsewhere. */
  readonly hosts?: 'any';
  /** The caller is there where the route needs a scope. */
  readonly answer: (head: Head, caller: Caller | undefined) => Awaitable<RouteAnswer>;
}

/** A way in, and who may use it: `caller` is anybody who signs in. */
export interface DeclaredRoute {
  readonly path: string;
  readonly access: RouteAccess | 'caller';
}

/** Refuses routes that do not say who may read them, or that are where something else is. */
export function checkRoutes(routes: readonly Route[], taken: readonly string[]): void {
  const paths = new Set(taken);
  for (const { path, access, hosts } of routes) {
    if (typeof path !== 'string' || !/^\/[^?#]*$/.test(path) || paths.has(path) || path.startsWith('/t/')) {
      throw new ToolcribError(
        'invalid_setup',
        `A route must have a path of its own, such as "/healthz", not ${JSON.stringify(path)}.`,
      );
    }
    if (access !== 'public' && !(typeof access?.scope === 'string' && access.scope !== '')) {
      throw new ToolcribError(
        'invalid_setup',
        `${path} must say who may read it: access: 'public' or access: { scope: 'metrics:read' }.`,
      );
    }
    if (hosts === 'any' && access !== 'public') {
      throw new ToolcribError('invalid_setup', `${path} needs a scope, so it cannot take any Host.`);
    }
    paths.add(path);
  }
}

/** Answers a request to a route; the checks of the endpoint's own requests apply to it too. */
export async function answerRoute(
  request: IncomingMessage,
  response: ServerResponse,
  { route, gate }: { readonly route: Route; readonly gate: Gate },
): Promise<void> {
  const head = headOf(request);
  let caller: Caller | undefined;
  try {
    checkHead(request);
    if (head.method === 'OPTIONS') {
      response.writeHead(204, gate.preflight(head)).end();
      return;
    }
    const { access } = route;
    caller = await gate.enterRoute(head, access === 'public' ? undefined : access.scope);
    const { status, headers, body } = await route.answer(head, caller);
    // Writing to a client that left meanwhile is an error.
    if (response.destroyed) return;
    const length = { 'content-length': Buffer.byteLength(body) };
    response.writeHead(status, { ...DEFAULT_HEADERS, ...corsHeaders(head), ...headers, ...length }).end(body);
  } catch (error) {
    refuseWith(response, gate, { head, error, ...(caller && { caller }), failure: 500 });
  }
}

const DEFAULT_HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};
