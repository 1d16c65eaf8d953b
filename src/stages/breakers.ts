/** Whether calls pass, are refused, or one of them is trying whether they may pass again. */
export type BreakerState = 'closed' | 'open' | 'half_open';

/** When a breaker opens and for how long. */
export interface BreakerSettings {
  readonly failures: number;
  readonly withinMs: number;
  readonly openMs: number;
}

/** How a call went, as far as a breaker is concerned. */
export type BreakerVerdict = 'answered' | 'outage' | 'unclear';

/** The breakers of all tools, by name. */
export class Breakers {
  readonly #byTool = new Map<string, Breaker>();

  /** The breaker of a tool; made when first asked for. */
  of(tool: string): Breaker {
    let breaker = this.#byTool.get(tool);
    if (!breaker) this.#byTool.set(tool, (breaker = new Breaker()));
    return breaker;
  }

  /** The state of every tool's breaker, for metrics. */
  *states(): Generator<readonly [tool: string, state: BreakerState]> {
    for (const [tool, { state }] of this.#byTool) yield [tool, state];
  }
}

/** Counts the outages of one tool and keeps calls from it for a while. */
export class Breaker {
  #state: BreakerState = 'closed';
  #outages: number[] = [];
  #triedAgainAt = 0;

  get state(): BreakerState {
    return this.#state;
  }

  /** How long calls are refused from now on; 0 when this one may pass. */
  waitMs(now: number): number {
    return this.#state === 'closed' ? 0 : Math.max(0, this.#triedAgainAt - now);
  }

  /** Lets one call try; the next one may if this one has said nothing for as long as a breaker stays open. */
  probe(now: number, { openMs }: BreakerSettings): void {
    this.#state = 'half_open';
    this.#triedAgainAt = now + openMs;
  }

  /** Notes how a call went that passed while the breaker was closed. */
  note(verdict: BreakerVerdict, now: number, settings: BreakerSettings): void {
    // One that was under way when the breaker opened says nothing new.
    if (this.#state !== 'closed') return;
    if (verdict === 'answered' && this.#outages.length > 0) this.#outages = [];
    if (verdict !== 'outage') return;
    this.#outages = [...this.#outages.filter((at) => at > now - settings.withinMs), now];
    if (this.#outages.length >= settings.failures) this.#open(now + settings.openMs);
  }

  /** Notes how the call went that was let through to try. */
  noteProbe(verdict: BreakerVerdict, now: number, settings: BreakerSettings): void {
    switch (verdict) {
      case 'answered':
        this.#state = 'closed';
        return;
      case 'outage':
        return this.#open(now + settings.openMs);
      case 'unclear':
        // The next call may try at once.
        this.#triedAgainAt = now;
    }
  }

  #open(until: number): void {
    this.#state = 'open';
    this.#outages = [];
    this.#triedAgainAt = until;
  }
}
