import { ToolcribError } from '../../base/errors.ts';
import { decodeMessages } from '../../protocol/decode/message.ts';
import { HttpFailure, PermissionDenied, SignInNeeded } from '../errors.ts';
import type { Reply } from './reply.ts';

/** Why a request could not be made or answered, in words that hold no address but the server's own. */
export function describeFailure(error: unknown, label: string): ToolcribError {
  if (error instanceof ToolcribError) return error;
  const reason = reasonFor(error) ?? 'the connection failed';
  return new ToolcribError('upstream_unavailable', `${label} cannot be reached: ${reason}.`, {
    cause: error,
  });
}

/** Why a connection failed, in words; `undefined` where that is not known. */
export function reasonFor(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? REASONS[String(error.code)] : undefined;
}

/** Whether a connection that was kept open turned out to be closed. */
export function isReset(error: Error): boolean {
  return 'code' in error && (error.code === 'UND_ERR_SOCKET' || error.code === 'ECONNRESET');
}

/** Whether these headers tell who is calling. */
export function bringsCredential(headers: Readonly<Record<string, string>> = {}): boolean {
  return Object.keys(headers).some((name) => /auth|cookie|key|token|secret|credential/i.test(name));
}

/** The failure of a request whose connection was closed: it may have arrived. */
export function cutOff(label: string, cause: Error): ToolcribError {
  const text = `${label} closed the connection without an answer; whether the request was carried out is not known.`;
  return new ToolcribError('upstream_unavailable', text, { cause });
}

/** What an answer with this status means; `body` is there where it may be a message of the protocol. */
export function describeStatus(
  reply: Reply,
  label: string,
  headers?: Readonly<Record<string, string>>,
): { readonly error: ToolcribError; readonly body: Buffer | undefined } {
  const { status } = reply;
  if (status === 401) return { error: unknownCaller(label, headers), body: undefined };
  const isJson = /^application\/json\b/i.test(reply.header('content-type') ?? '');
  const body = isJson ? reply.takeBody() : undefined;
  // Whatever number the message has, it is about the credential or the address.
  if (status === 403) return { error: refusal(label, body ? reasonIn(body) : ''), body: undefined };
  return { error: errorOf(reply, label), body: body && isMessage(body) ? body : undefined };
}

const MAX_REASON = 500;

function refusal(label: string, reason: string): PermissionDenied {
  const text = reason === '' ? `${label} refuses this credential.` : `${label} refuses this: ${reason}`;
  return new PermissionDenied(text, { cause: new HttpFailure(403, reason) });
}

// From a message of the protocol; what a gateway or a web page says is left out.
function reasonIn(body: Buffer): string {
  for (const message of decodeMessages(body)) {
    const reason = message.kind === 'answer' ? message.error?.['message'] : undefined;
    if (typeof reason === 'string' && reason !== '') return reason.slice(0, MAX_REASON);
  }
  return '';
}

function unknownCaller(label: string, headers: Readonly<Record<string, string>> | undefined): SignInNeeded {
  return bringsCredential(headers)
    ? new SignInNeeded(`${label} does not accept this credential.`, 'Give another one, or none and sign in.')
    : new SignInNeeded(`${label} wants to know who is calling.`, 'Sign in, or give a credential.');
}

function errorOf(reply: Reply, label: string): ToolcribError {
  const { status } = reply;
  if (status >= 300 && status < 400)
    return new HttpFailure(status, `${label} redirects elsewhere; use the address it leads to.`);
  if (status < 300) return new HttpFailure(status, `${label} answered with nothing.`);
  const seconds = Math.min(Number(reply.header('retry-after')), 86_400);
  const data = seconds > 0 ? { data: { retryAfterMs: seconds * 1000 } } : {};
  const text = `${label} answered with status ${status}${adviceFor(status, seconds)}.`;
  return new HttpFailure(status, text, data);
}

function adviceFor(status: number, seconds: number): string {
  if (status === 404 || status === 405) return ELSEWHERE;
  return seconds > 0 ? `; try again in ${Math.ceil(seconds)} s` : '';
}

// A server is there, and nothing of MCP at this path.
const ELSEWHERE = '; see whether the path of its address is that of its MCP endpoint, such as /mcp';

/** The failure of a request that was answered with a page for people; `undefined` for any other answer. */
export function pageInstead(reply: Reply, label: string): ToolcribError | undefined {
  if (!/^text\/html\b/i.test(reply.header('content-type') ?? '')) return undefined;
  return new ToolcribError('invalid_answer', `${label} answered with a web page${ELSEWHERE}.`);
}

// Something else in JSON, such as a gateway's own error, is not an answer.
function isMessage(body: Buffer): boolean {
  return body.subarray(0, 1_000_000).includes('"jsonrpc"');
}

const NO_TLS = 'it does not speak TLS there; its address may have to begin with http://';
const REASONS: Readonly<Record<string, string | undefined>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name could not be resolved',
  ECONNRESET: 'it closed the connection',
  UND_ERR_SOCKET: 'it closed the connection',
  UND_ERR_CONNECT_TIMEOUT: 'it does not accept connections',
  UND_ERR_BODY_TIMEOUT: 'it has been silent for too long',
  UND_ERR_HEADERS_OVERFLOW: 'its headers are too large',
  EHOSTUNREACH: 'no way leads there',
  ENETUNREACH: 'no way leads there',
  ETIMEDOUT: 'it does not accept connections',
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not trusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};
