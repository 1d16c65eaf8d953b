import type { Result } from './result.ts';

const kept = new WeakMap<Result, Uint8Array>();

/** Keeps the message a result came in from elsewhere; a stage that changes the result makes a copy, which has none. */
export function keepMessage(result: Result, message: Uint8Array): void {
  kept.set(result, message);
}

/** The message a result came in, where it came from elsewhere and nothing of it was changed. */
export function messageOf(result: Result): Uint8Array | undefined {
  return kept.get(result);
}
