import type { Clock } from '../base/clock.ts';

/** Logs problems of a sign-in for its operator. */
export type SignInLog = (
  level: 'info' | 'warn' | 'error',
  message: string,
  facts?: Readonly<Record<string, unknown>>,
) => void;

const QUIET_MS = 10_000;

/** Logs each problem at most once in ten seconds: a failing store fails for every request. */
export class ProblemLog {
  readonly #log: SignInLog | undefined;
  readonly #clock: Clock;
  readonly #saidAt = new Map<string, number>();

  constructor(log: SignInLog | undefined, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Logs a message, unless it was just logged. */
  note(message: string, cause: unknown): void {
    const now = this.#clock.ticks();
    if (now - (this.#saidAt.get(message) ?? -Infinity) < QUIET_MS) return;
    this.#saidAt.set(message, now);
    this.#log?.('error', message, { cause });
  }

  /** Logs a problem because of which a caller is refused; there is no caller then. */
  refuse(message: string, cause: unknown): undefined {
    this.note(message, cause);
    return undefined;
  }
}
