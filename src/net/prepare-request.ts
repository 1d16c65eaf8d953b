import { OutboundError, type OutboundRequest } from './outbound.ts';

/** A request whose URL and headers have been checked. */
export interface PreparedRequest {
  readonly url: URL;
  readonly method: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const MAX_HEADER_BYTES = 16_384;

// Headers that frame a message, name its sender or receiver, ask for an encoding, carry browser state or change
// the request.
const REFUSED_HEADERS =
  /^(host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|http2-settings|accept-encoding|content-encoding|cookie2?|forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip|proxy|proxy-.*|sec-.*|x-http-method.*|x-method-override|x-original-.*|x-rewrite-url)$/;

/** Refuses a method, headers or a body that must not be sent. */
export function prepareRequest(url: URL, request: OutboundRequest): PreparedRequest {
  const method = (request.method ?? 'GET').toUpperCase();
  if (!METHODS.has(method)) throw refused('This method cannot be used; use GET or POST.');
  const body = typeof request.body === 'string' ? new TextEncoder().encode(request.body) : request.body;
  if (body && (method === 'GET' || method === 'HEAD')) {
    throw refused(`A ${method} request has no body; leave it out.`);
  }
  return { url, method, headers: checkHeaders(request.headers ?? {}), body };
}

/** Checks headers and returns them with names in lower case. */
export function checkHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const checked = new Map<string, string>();
  const folded = new Set<string>();
  let bytes = 0;
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase();
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name))
      throw refused('A header name contains an invalid character.');
    if (isRefusedHeader(name)) throw refused(cannotBeSet(name));
    if (folded.has(foldedHeader(name))) throw refused(`The header ${name} is given twice; give it once.`);
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw refused(`The header ${name} contains an invalid character, such as a line break.`);
    }
    checked.set(name, value);
    folded.add(foldedHeader(name));
    bytes += name.length + value.length + 4;
  }
  if (bytes > MAX_HEADER_BYTES)
    throw refused(`The headers are longer than ${MAX_HEADER_BYTES} bytes; shorten them.`);
  return Object.fromEntries(checked);
}

/** Whether this header may not be set, in any spelling. */
export function isRefusedHeader(name: string): boolean {
  return REFUSED_HEADERS.test(foldedHeader(name));
}

/** A header's name as the most lenient host reads it: many treat `X_Api.Key` and `x-api-key` as one. */
export function foldedHeader(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-');
}

/** Refuses header names from a caller that a host could read as another name; an operator may need them. */
export function checkGivenNames(names: Iterable<string>): void {
  for (const name of names)
    if (!/^[A-Za-z0-9-]+$/.test(name))
      throw refused('A header name contains an invalid character; use only letters, digits and "-".');
}

/** The message about a header that must not be sent. */
export function cannotBeSet(name: string): string {
  return `The header ${name} cannot be set; leave it out.`;
}

function refused(message: string): OutboundError {
  return new OutboundError('refused_request', message);
}
