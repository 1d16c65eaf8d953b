import type { Awaitable } from '../base/awaitable.ts';
import type { Clock } from '../base/clock.ts';
import type { SignInLog } from './problem-log.ts';

/** What a refused request brought; each kind is limited by itself, so that a flood of one does not hide another. */
export type Brought = 'nothing' | 'something unusable' | 'key' | 'token';

/** Limits of what is logged about refused requests. */
export const refusalLimits = {
  /** Log entries of one kind within `windowMs`. */
  entries: 5,
  windowMs: 10_000,
  /** How long finding the reason may take. */
  reasonMs: 6_000,
};

interface Told {
  since: number;
  entries: number;
  /** How many refusals were not logged since the last entry. */
  leftOut: number;
}

/** Logs why requests are refused, a few of each kind in ten seconds; the others are counted. */
export class RefusedSignIns {
  readonly #log: SignInLog;
  readonly #clock: Clock;
  readonly #told = new Map<Brought, Told>();

  constructor(log: SignInLog, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Logs a refusal; its reason is looked up only if it is logged, because that may read the store. */
  note(brought: Brought, why: () => Awaitable<string>): void {
    const told = this.#toldOf(brought);
    if (told.entries >= refusalLimits.entries) {
      told.leftOut++;
      return;
    }
    told.entries++;
    const { leftOut } = told;
    told.leftOut = 0;
    void this.#tell(brought, why, leftOut);
  }

  async #tell(brought: Brought, why: () => Awaitable<string>, leftOut: number): Promise<void> {
    // The first request of a client without a token is normal.
    const level = brought === 'nothing' ? 'info' : 'warn';
    const reason = await this.#reason(why);
    this.#log(level, `Sign-in refused: ${reason}.`, leftOut > 0 ? { alsoRefused: leftOut } : undefined);
  }

  #reason(why: () => Awaitable<string>): Promise<string> {
    return new Promise<string>((resolve) => {
      const unknown = (): void => resolve('why could not be found out');
      const stop = this.#clock.after(refusalLimits.reasonMs, unknown);
      Promise.resolve().then(why).then(resolve, unknown).finally(stop);
    });
  }

  #toldOf(brought: Brought): Told {
    const now = this.#clock.ticks();
    let told = this.#told.get(brought);
    if (!told) this.#told.set(brought, (told = { since: now, entries: 0, leftOut: 0 }));
    if (now - told.since >= refusalLimits.windowMs) {
      told.since = now;
      told.entries = 0;
    }
    return told;
  }
}
