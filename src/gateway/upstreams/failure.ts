import { ToolcribError } from '../../base/errors.ts';
import { DefinitionChanged } from '../../core/merge.ts';

/**
 * A failure of an upstream as its callers may see it: which upstream and what to do, and nothing of its address, its
 * command line or our credential.
 */
export function shownFailure(error: unknown, upstream: string): unknown {
  if (!(error instanceof ToolcribError) || error instanceof DefinitionChanged) return error;
  const details = { cause: error, ...(error.data && keptData(error)) };
  switch (error.code) {
    case 'needs_sign_in':
    case 'refused':
      return new ToolcribError(
        'needs_sign_in',
        `${upstream} does not accept the credential this gateway has for it. Ask its operator to renew it; a credential of yours does not help.`,
        { cause: error },
      );
    case 'upstream_unavailable':
      return new ToolcribError('upstream_unavailable', sayUnavailable(error, upstream), details);
    case 'timed_out':
      return new ToolcribError('timed_out', `${upstream} did not answer in time.`, { cause: error });
    case 'invalid_answer':
      return new ToolcribError('invalid_answer', `${upstream} sent an answer that cannot be used.`, {
        cause: error,
      });
    // These speak of our own request; what the caller's client lacks is told as it is.
    case 'header_mismatch':
    case 'unsupported_version':
    case 'unauthenticated':
    case 'insufficient_scope':
      return new ToolcribError('upstream_unavailable', `${upstream} refuses what this gateway sends.`, {
        cause: error,
      });
    default:
      return error;
  }
}

function sayUnavailable({ data, message }: ToolcribError, upstream: string): string {
  return typeof data?.['retryAfterMs'] === 'number' && message.startsWith(`${upstream} `)
    ? message
    : `${upstream} is not answering; try again later.`;
}

function keptData({ data }: ToolcribError): { readonly data: Readonly<Record<string, unknown>> } | undefined {
  const wait = data?.['retryAfterMs'];
  return typeof wait === 'number' ? { data: { retryAfterMs: wait } } : undefined;
}
