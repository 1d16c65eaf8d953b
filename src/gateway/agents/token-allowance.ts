import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { ownerOf, type Caller } from '../../core/caller.ts';
import { makeRoomIn } from '../../core/memory/bounded-map.ts';

const HOUR_MS = 3_600_000;
// The account that began longest ago is forgotten first.
const MAX_ACCOUNTS = 100_000;

interface Hour {
  readonly endsAt: number;
  used: number;
}

/** What a run may use of its caller's hour. */
export interface Allotment {
  readonly tokens: number;
  /** Gives back what was not used. */
  settle(used: number): void;
}

/** How many tokens each caller has used of each agent within the hour. */
export class TokenAllowance {
  readonly #clock: Clock;
  readonly #hours = new Map<string, Hour>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets tokens aside for one run, so that runs side by side do not use the same ones. */
  take(
    caller: Caller,
    agent: string,
    { tokens, tokensPerHour }: { readonly tokens: number; readonly tokensPerHour: number },
  ): Allotment {
    const hour = this.#hourOf(`${agent} ${ownerOf(caller)}`);
    const left = tokensPerHour - hour.used;
    if (left <= 0) throw usedUp(agent, hour.endsAt - this.#clock.ticks());
    const taken = Math.min(tokens, left);
    hour.used += taken;
    let isSettled = false;
    return {
      tokens: taken,
      settle: (used) => {
        if (isSettled) return;
        isSettled = true;
        hour.used += used - taken;
      },
    };
  }

  #hourOf(key: string): Hour {
    const now = this.#clock.ticks();
    const known = this.#hours.get(key);
    if (known && known.endsAt > now) return known;
    const hour: Hour = { endsAt: now + HOUR_MS, used: 0 };
    this.#hours.delete(key);
    makeRoomIn(this.#hours, MAX_ACCOUNTS);
    this.#hours.set(key, hour);
    return hour;
  }
}

function usedUp(agent: string, retryAfterMs: number): ToolcribError {
  const minutes = Math.ceil(retryAfterMs / 60_000);
  return new ToolcribError(
    'rate_limited',
    `You have used up what you may use of ${agent} in an hour; try again in ${minutes} min.`,
    { data: { retryAfterMs: Math.ceil(retryAfterMs) } },
  );
}
