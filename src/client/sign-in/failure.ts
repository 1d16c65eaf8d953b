import { AuthorizationResponseError, OperationProcessingError, ResponseBodyError } from 'oauth4webapi';
import { ToolcribError } from '../../base/errors.ts';
import { OutboundError } from '../../net/outbound.ts';

const MAX_QUOTE = 200;

/** A sign-in that came to nothing; the message says why and what to do. */
export function signInFailed(message: string): ToolcribError {
  return new ToolcribError('sign_in_failed', message);
}

/**
 * Any error of a step as a failed sign-in. What the library attaches is left behind: it holds whole answers, tokens
 * included.
 */
export function failedStep(what: string, error: unknown): ToolcribError {
  if (error instanceof ToolcribError) return error;
  return signInFailed(`${what}: ${describe(error)}`);
}

/** Whether the authorization server itself said no, and with which code. */
export function refusalCode(error: unknown): string | undefined {
  return error instanceof ResponseBodyError ? error.error : undefined;
}

function describe(error: unknown): string {
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError)
    return quoted(error.error, error.error_description);
  if (error instanceof OutboundError || error instanceof OperationProcessingError) return error.message;
  return 'the answer could not be used.';
}

/** An error code with its description, without anything that could steer a terminal or run on for long. */
export function quoted(code: string, description: string | undefined): string {
  const text = description === undefined ? code : `${code} (${description})`;
  return `${text.slice(0, MAX_QUOTE).replaceAll(/[^\x20-\x7e]/g, '?')}.`;
}
