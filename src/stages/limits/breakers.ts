/** Whether calls pass, are refused, or one call tests the tool. */
export type BreakerState = 'closed' | 'open' | 'half_open';

/** When a breaker opens and for how long. */
export interface BreakerSettings {
  readonly failures: number;
  readonly withinMs: number;
  readonly openMs: number;
}

/** The result of a call for its breaker. */
export type BreakerVerdict = 'answered' | 'outage' | 'unclear';

/** The breakers of all tools, by name. */
export class Breakers {
  readonly #byTool = new Map<string, Breaker>();

  /** The breaker of a tool; created on first use. */
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

/** Counts the outages of one tool and refuses its calls for a while. */
export class Breaker {
  #state: BreakerState = 'closed';
  #outages: { readonly tenant: string; readonly at: number }[] = [];
  #triedAgainAt = 0;
  /** The only tenant whose calls are refused, if it is one. */
  #onlyFor: string | undefined;

  get state(): BreakerState {
    return this.#state;
  }

  /** Whether calls of a tenant are refused or tested. */
  concerns(tenant: string): boolean {
    return this.#state !== 'closed' && (this.#onlyFor === undefined || this.#onlyFor === tenant);
  }

  /** How long calls will be refused; 0 if this one may pass. */
  waitMs(now: number): number {
    return Math.max(0, this.#triedAgainAt - now);
  }

  /** Lets one call test the tool; if it does not end within `openMs`, the next one may. */
  probe(now: number, { openMs }: BreakerSettings): void {
    this.#state = 'half_open';
    this.#triedAgainAt = now + openMs;
  }

  /** Counts a regular call that was answered. */
  noteAnswer(): void {
    if (this.#outages.length > 0) this.#outages = [];
  }

  /** Counts a regular call that failed with an outage. */
  noteOutage(tenant: string, now: number, settings: BreakerSettings): void {
    // A call that started before the breaker opened says nothing new.
    if (this.concerns(tenant)) return;
    this.#outages = [...this.#outages.filter(({ at }) => at > now - settings.withinMs), { tenant, at: now }];
    if (this.#outages.length < settings.failures) return;
    // An outage seen by one tenant only may be its own fault; if another tenant sees it too, all calls are refused.
    const isAlone = this.#state === 'closed' && this.#outages.every((outage) => outage.tenant === tenant);
    this.#onlyFor = isAlone ? tenant : undefined;
    this.#open(now + settings.openMs);
  }

  /** Counts the result of the test call. */
  noteProbe(verdict: BreakerVerdict, now: number, settings: BreakerSettings): void {
    switch (verdict) {
      case 'answered':
        this.#state = 'closed';
        return;
      case 'outage':
        return this.#open(now + settings.openMs);
      case 'unclear':
        // The next call may test at once.
        this.#triedAgainAt = now;
    }
  }

  #open(until: number): void {
    this.#state = 'open';
    this.#outages = [];
    this.#triedAgainAt = until;
  }
}
