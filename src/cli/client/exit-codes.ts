import type { ErrorCode, ToolcribError } from '../../base/errors.ts';

/** How commands that talk to a server end; docs/client-commands.md explains each. */
export const exitCodes = {
  done: 0,
  wrongUse: 1,
  failed: 2,
  refused: 3,
  timedOut: 4,
  needsSignIn: 5,
  unreachable: 6,
  limitReached: 7,
  interrupted: 130,
} as const;

const BY_CODE: Partial<Record<ErrorCode, number>> = {
  invalid_setup: exitCodes.wrongUse,
  invalid_config: exitCodes.wrongUse,
  invalid_arguments: exitCodes.wrongUse,
  unknown_tool: exitCodes.wrongUse,
  unknown_prompt: exitCodes.wrongUse,
  unknown_resource: exitCodes.wrongUse,
  refused: exitCodes.refused,
  insufficient_scope: exitCodes.refused,
  timed_out: exitCodes.timedOut,
  needs_sign_in: exitCodes.needsSignIn,
  unauthenticated: exitCodes.needsSignIn,
  sign_in_failed: exitCodes.needsSignIn,
  upstream_unavailable: exitCodes.unreachable,
  unsupported_version: exitCodes.unreachable,
  invalid_answer: exitCodes.unreachable,
  cancelled: exitCodes.interrupted,
};

/** The exit code for a failure. */
export function exitCodeOf(error: ToolcribError): number {
  return BY_CODE[error.code] ?? exitCodes.failed;
}
