import type { Clock } from '../base/clock.ts';

/** Where a sign-in writes what its operator should know. */
export type SignInLog = (
  level: 'info' | 'warn' | 'error',
  message: string,
  facts?: Readonly<Record<string, unknown>>,
) => void;

const QUIET_MS = 10_000;

/** Tells the operator what is wrong, each thing once in ten seconds: a store that is down fails for every request. */
export class Complaints {
  readonly #log: SignInLog | undefined;
  readonly #clock: Clock;
  readonly #saidAt = new Map<string, number>();

  constructor(log: SignInLog | undefined, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Says something, unless it was just said. */
  note(message: string, cause: unknown): void {
    const now = this.#clock.ticks();
    if (now - (this.#saidAt.get(message) ?? -Infinity) < QUIET_MS) return;
    this.#saidAt.set(message, now);
    this.#log?.('error', message, { cause });
  }

  /** The same, where the consequence is that nobody is let in. */
  nobody(message: string, cause: unknown): undefined {
    this.note(message, cause);
    return undefined;
  }
}
