import { ToolcribError } from '../../base/errors.ts';
import { HttpFailure, PermissionDenied, SignInNeeded } from '../errors.ts';
import type { Reply } from './reply.ts';

/** Why a request could not be made or answered, in words that hold no address but the server's own. */
export function describeFailure(error: unknown, label: string): ToolcribError {
  if (error instanceof ToolcribError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = REASONS[code] ?? 'the connection failed';
  return new ToolcribError('upstream_unavailable', `${label} cannot be reached: ${reason}.`, {
    cause: error,
  });
}

/** Whether a connection that was kept open turned out to be closed. */
export function isReset(error: Error): boolean {
  return 'code' in error && (error.code === 'UND_ERR_SOCKET' || error.code === 'ECONNRESET');
}

/** What an answer with this status means; `body` is there where it may be a message of the protocol. */
export function describeStatus(
  reply: Reply,
  label: string,
): { readonly error: ToolcribError; readonly body: Buffer | undefined } {
  const { status } = reply;
  const isJson = /^application\/json\b/i.test(reply.header('content-type') ?? '');
  const body = isJson && isMessage(reply.body) ? reply.body : undefined;
  return { error: errorOf(reply, label), body: status === 401 ? undefined : body };
}

function errorOf(reply: Reply, label: string): ToolcribError {
  const { status } = reply;
  if (status === 401)
    return new SignInNeeded(`${label} wants to know who is calling.`, 'Sign in, or give a credential.');
  if (status === 403)
    return new PermissionDenied(`${label} refuses this credential.`, { cause: new HttpFailure(403, '') });
  if (status >= 300 && status < 400)
    return new HttpFailure(status, `${label} redirects elsewhere; use the address it leads to.`);
  if (status < 300) return new HttpFailure(status, `${label} answered with nothing.`);
  const seconds = Number(reply.header('retry-after'));
  const data = seconds > 0 ? { data: { retryAfterMs: Math.min(seconds, 86_400) * 1000 } } : {};
  return new HttpFailure(status, `${label} answered with status ${status}.`, data);
}

// Something else in JSON, such as a gateway's own error, is not an answer.
function isMessage(body: Buffer): boolean {
  return body.subarray(0, 1_000_000).includes('"jsonrpc"');
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name could not be resolved',
  ECONNRESET: 'it closed the connection',
  UND_ERR_SOCKET: 'it closed the connection',
  UND_ERR_CONNECT_TIMEOUT: 'it does not accept connections',
  UND_ERR_BODY_TIMEOUT: 'it has been silent for too long',
  UND_ERR_HEADERS_OVERFLOW: 'its headers are too large',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};
