import { ToolcribError } from '../base/errors.ts';
import { ProgramEnded, SignInNeeded } from './errors.ts';

/** How a connection stands, with the reason and what to do about it where it does not work. */
export type ConnectionState =
  | { readonly kind: 'connecting' | 'connected' }
  | {
      readonly kind: 'needs_sign_in' | 'failed' | 'disabled';
      readonly reason: string;
      readonly remedy: string;
      /** The page to open, where there is one. */
      readonly url?: string;
    };

/** The state of a connection that failed like this. */
export function failedState(error: unknown): ConnectionState {
  if (error instanceof SignInNeeded) {
    const { message: reason, remedy, url } = error;
    return { kind: 'needs_sign_in', reason, remedy, ...(url !== undefined && { url }) };
  }
  const reason = error instanceof Error ? error.message : String(error);
  return { kind: 'failed', reason, remedy: remedyOf(error) };
}

function remedyOf(error: unknown): string {
  if (error instanceof ProgramEnded)
    return 'See whether the command is installed and its words are right; started by hand, it says what is wrong.';
  const code = error instanceof ToolcribError ? error.code : undefined;
  if (code === 'timed_out') return 'See whether the server is running, or allow it more time.';
  if (code === 'unsupported_version') return 'Update the server or this client.';
  if (code === 'refused') return 'Use a credential that may use this server.';
  if (code === 'invalid_answer') return 'See whether the address is that of an MCP server.';
  return 'See whether the server is running and the address is right, then connect again.';
}
