import { isLoopbackAuthority } from '../../base/loopback.ts';
import { ToolcribError } from '../../base/errors.ts';
import { headerValue, type Headers } from '../../protocol/wire/headers.ts';

/** The head of an HTTP request: all that may be known before its body is read. */
export interface Head {
  readonly method: string;
  /** The request target as sent, query included. */
  readonly target: string;
  readonly headers: Headers;
  /** The same object for every request on one connection, where there are connections. */
  readonly connection?: object | undefined;
}

/** Which requests an endpoint answers at all. */
export interface EndpointRules {
  /** Where it is; `undefined` leaves that to the program it is part of. */
  readonly path: string | undefined;
  /** Whether it is also below `/t/{tenant}`, for callers of that tenant. */
  readonly tenants?: boolean;
  /**
   * Allowed `Host` values, port included unless it is the scheme's own; `undefined` allows this machine's loopback
   * names, any port.
   */
  readonly allowedHosts: readonly string[] | 'any' | undefined;
  /** Allowed `Origin` values beside this machine's loopback ones. */
  readonly allowedOrigins: readonly string[];
  /** Open mode: there is no sign-in, so a request that came through a proxy must not count as local. */
  readonly open: boolean;
}

const MAX_HEADER_FIELDS = 64;
const TENANTS = '/t/';
const FORWARDING = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
];
const SINGLE = new Set([
  'host',
  'authorization',
  'content-type',
  'content-length',
  'content-encoding',
  'origin',
  'x-api-key',
]);
const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset[ \t]*=[ \t]*(?:utf-8|"utf-8"))?$/i;

/**
 * Refuses, by throwing, a request that must not go further; needs nothing but the head. Returns the tenant its path
 * names, if any.
 */
export function admit(head: Head, options: EndpointRules): string | undefined {
  const { headers } = head;
  checkHost(head, options);
  const path = options.path === undefined ? undefined : pathOf(head.target);
  const tenant = path === options.path ? undefined : tenantOf(path!, options);
  if (!hasAllowedOrigin(head, options)) {
    throw new ToolcribError(
      'refused_origin',
      'Pages of this origin may not call; the operator of the server can add it to allowedOrigins.',
    );
  }
  if (headers['origin'] === undefined && headers['sec-fetch-site'] === 'cross-site') {
    throw new ToolcribError('refused_origin', 'Cross-site requests are not allowed.');
  }
  if (options.open && isForwarded(headers)) {
    throw new ToolcribError(
      'refused_origin',
      'This endpoint serves this machine only and takes no forwarded requests.',
    );
  }
  return tenant;
}

/** The error for a path with nothing to serve, or nothing for this caller. */
export function nothingAt(path: string | undefined): ToolcribError {
  return new ToolcribError('not_found', `There is nothing here; the endpoint is ${path}.`);
}

/** Refuses a request that declares a compressed body, whether it needs a body or not. */
export function requireUncompressed({ headers }: Head): void {
  const encoding = headerValue(headers, 'content-encoding');
  // Nothing compressed is ever decoded: a decoder is an attack surface, and a small body can unfold without end.
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ToolcribError('unsupported_media', 'Send the body uncompressed.');
  }
}

/** Refuses a request that is not a POST of JSON. */
export function requireJsonPost({ method, headers }: Head): void {
  if (method !== 'POST') throw new ToolcribError('method_not_allowed', 'Send messages with POST.');
  const type = headerValue(headers, 'content-type') ?? '';
  if (type !== 'application/json' && !JSON_TYPE.test(type)) {
    throw new ToolcribError('unsupported_media', 'The content type must be application/json.');
  }
}

/**
 * Refuses a version or a transfer coding by which another reader of the same bytes could find other requests in them.
 */
export function checkFraming(httpVersion: string, headers: Headers): void {
  const coding = headers['transfer-encoding'];
  if (coding === undefined && (httpVersion === '1.1' || httpVersion === '1.0')) return;
  if (httpVersion === '1.1' && typeof coding === 'string' && coding.toLowerCase() === 'chunked') return;
  throw new ToolcribError('invalid_request', 'Send HTTP/1.1, with no transfer coding but "chunked".');
}

/** Refuses a head with too many fields, or with a repeated one that two readers could read differently. */
export function checkRawHeaders(raw: readonly string[]): void {
  if (raw.length > MAX_HEADER_FIELDS * 2)
    throw new ToolcribError('invalid_request', `At most ${MAX_HEADER_FIELDS} headers are taken.`);
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!;
    for (let j = i + 2; j < raw.length; j += 2) {
      const other = raw[j]!;
      if (name.length !== other.length) continue;
      const lower = name.toLowerCase();
      if (lower !== other.toLowerCase()) continue;
      if (lower.startsWith('mcp-'))
        throw new ToolcribError('header_mismatch', `The header ${lower} is repeated.`);
      if (SINGLE.has(lower)) throw new ToolcribError('invalid_request', `The header ${lower} is repeated.`);
    }
  }
}

/** Whether a request comes from a page that may call, or from no page at all. */
export function hasAllowedOrigin({ headers }: Head, options: EndpointRules): boolean {
  const origin = headerValue(headers, 'origin');
  return origin === undefined || isAllowedOrigin(origin, options);
}

/** The headers with which a browser lets an allowed page read the response. */
export function corsHeaders(head: Head): Record<string, string> {
  const origin = headerValue(head.headers, 'origin');
  if (origin === undefined) return {};
  const shared = { 'access-control-allow-origin': origin, vary: 'Origin' };
  if (head.method !== 'OPTIONS')
    return { ...shared, 'access-control-expose-headers': 'mcp-session-id, www-authenticate' };
  return {
    ...shared,
    'access-control-allow-methods': 'POST, GET, DELETE',
    'access-control-allow-headers': [ALLOWED_HEADERS, ...requestedMirrors(head.headers)].join(', '),
    'access-control-max-age': '600',
  };
}

const ALLOWED_HEADERS =
  'authorization, x-api-key, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id';
const MIRROR = /^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]+$/;

// Which arguments are mirrored into headers depends on the tool, which a preflight does not name.
function requestedMirrors(headers: Headers): string[] {
  const names = headerValue(headers, 'access-control-request-headers') ?? '';
  return names
    .toLowerCase()
    .split(',', MAX_HEADER_FIELDS)
    .map((name) => name.trim())
    .filter((name) => MIRROR.test(name));
}

/** How the client takes its answer: as one JSON body, as an event stream, or either. */
export function acceptedForms(headers: Headers): { readonly json: boolean; readonly stream: boolean } {
  const accept = headerValue(headers, 'accept');
  // Many clients send none or a wildcard; only an explicit choice limits the answer.
  if (accept === undefined || accept === 'application/json, text/event-stream' || accept.includes('*/*'))
    return BOTH;
  const json = accept.includes('application/json') || accept.includes('application/*');
  const stream = accept.includes('text/event-stream') || accept.includes('text/*');
  return json === stream ? BOTH : { json, stream };
}

const BOTH = { json: true, stream: true };

/** Whether the client says in so many words that it takes event streams. */
export function namesStreams(headers: Headers): boolean {
  return headerValue(headers, 'accept')?.includes('text/event-stream') === true;
}

/** The head of an event stream; proxies are asked not to hold it back. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const;

function isForwarded(headers: Headers): boolean {
  for (const name of FORWARDING) if (headers[name] !== undefined) return true;
  return false;
}

function checkHost({ target, headers }: Head, { allowedHosts }: EndpointRules): void {
  if (allowedHosts === 'any') return;
  const host = headerValue(headers, 'host')?.toLowerCase();
  if (host === undefined) throw new ToolcribError('invalid_request', 'A request needs a Host header.');
  if (!(allowedHosts ? allowedHosts.includes(host) : isLoopbackAuthority(host))) {
    throw new ToolcribError(
      'refused_origin',
      'This host name is not served here; its operator can add it to allowedHosts.',
    );
  }
  if (!target.startsWith('/') && hostOf(target) !== host) {
    throw new ToolcribError('refused_origin', 'The request target and the Host header disagree.');
  }
}

function isAllowedOrigin(origin: string, { allowedOrigins }: EndpointRules): boolean {
  if (allowedOrigins.includes(origin)) return true;
  const separator = origin.indexOf('://');
  const scheme = origin.slice(0, Math.max(separator, 0));
  return (scheme === 'http' || scheme === 'https') && isLoopbackAuthority(origin.slice(separator + 3));
}

function tenantOf(path: string, { path: own = '', tenants = false }: EndpointRules): string {
  const end = path.length - own.length;
  const isBelow = tenants && path.startsWith(TENANTS) && path.endsWith(own) && end > TENANTS.length;
  const segment = isBelow ? path.slice(TENANTS.length, end) : '';
  if (segment === '' || segment.includes('/')) throw nothingAt(own);
  try {
    return decodeURIComponent(segment);
  } catch {
    throw nothingAt(own);
  }
}

/** The path of a request target, without its query. */
export function pathOf(target: string): string {
  const start = target.startsWith('/') ? 0 : target.indexOf('/', target.indexOf('://') + 3);
  const query = target.indexOf('?');
  return target.slice(Math.max(start, 0), query < 0 ? undefined : query);
}

function hostOf(target: string): string | undefined {
  return URL.canParse(target) ? new URL(target).host.toLowerCase() : undefined;
}
