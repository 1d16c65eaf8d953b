import { systemClock, type Clock } from '../../base/clock.ts';

/** A failure told in full: what failed, by which code, and what to do about it. */
export interface ToolErrorFacts {
  readonly error: string;
  readonly error_code: string | number;
  readonly message: string;
}

/**
 * What a handler returns to say that it could not: a short error with whatever belongs to it, or a full account that
 * gets the time.
 */
export function toolError<const E extends Readonly<Record<string, unknown>>>(
  message: string,
  extra?: E,
): E & { readonly error: string };
export function toolError(
  facts: ToolErrorFacts,
  clock?: Pick<Clock, 'now'>,
): ToolErrorFacts & { readonly timestamp: string };
export function toolError(
  told: string | ToolErrorFacts,
  more: Readonly<Record<string, unknown>> | Pick<Clock, 'now'> = {},
): { readonly error: string } {
  if (typeof told === 'string') return Object.assign({ error: told }, more, { error: told });
  const { error, error_code: code, message } = told;
  const clock = isClock(more) ? more : systemClock;
  const full = { error, error_code: code, message, timestamp: new Date(clock.now()).toISOString() };
  return full;
}

function isClock(value: object): value is Pick<Clock, 'now'> {
  return 'now' in value && typeof value.now === 'function';
}
