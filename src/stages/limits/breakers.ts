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
  #outages: { readonly tenant: string; readonly at: number }[] = [];
  #triedAgainAt = 0;
  /** The tenant whose calls alone are kept from the tool. */
  #onlyFor: string | undefined;

  get state(): BreakerState {
    return this.#state;
  }

  /** Whether calls of a tenant are kept from the tool, or let through one at a time. */
  concerns(tenant: string): boolean {
    return this.#state !== 'closed' && (this.#onlyFor === undefined || this.#onlyFor === tenant);
  }

  /** How long calls it concerns are refused from now on; 0 when this one may pass. */
  waitMs(now: number): number {
    return Math.max(0, this.#triedAgainAt - now);
  }

  /** Lets one call try; the next one may if this one has said nothing for as long as a breaker stays open. */
  probe(now: number, { openMs }: BreakerSettings): void {
    this.#state = 'half_open';
    this.#triedAgainAt = now + openMs;
  }

  /** Notes that a call was answered which passed by itself. */
  noteAnswer(): void {
    if (this.#outages.length > 0) this.#outages = [];
  }

  /** Notes that a call of a tenant was not answered which passed by itself. */
  noteOutage(tenant: string, now: number, settings: BreakerSettings): void {
    // One that was under way when the breaker opened says nothing new.
    if (this.concerns(tenant)) return;
    this.#outages = [...this.#outages.filter(({ at }) => at > now - settings.withinMs), { tenant, at: now }];
    if (this.#outages.length < settings.failures) return;
    // What one tenant alone sees may be its own doing; when another sees it as well, it is kept from all.
    const isAlone = this.#state === 'closed' && this.#outages.every((outage) => outage.tenant === tenant);
    this.#onlyFor = isAlone ? tenant : undefined;
    this.#open(now + settings.openMs);
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
