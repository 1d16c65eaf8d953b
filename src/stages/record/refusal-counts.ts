import type { Clock } from '../../base/clock.ts';

const WINDOW_MS = 1_000;
const MAX_KINDS = 10_000;
const MAX_NAMED = 10;

interface Counted {
  readonly chain: string;
  readonly row: string;
  count: number;
}

/** Counts refusals of one kind within a second and records them as one row. */
export class RefusalCounts {
  readonly #clock: Clock;
  readonly #write: (chain: string, body: string) => void;
  readonly #counts = new Map<string, Counted>();
  readonly #named = new Map<string, Set<string>>();

  constructor(clock: Clock, write: (chain: string, body: string) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  /** Counts one refusal of a kind; `toRow` makes the row of the first, which stands for all within one second. */
  count(kind: string, chain: string, toRow: () => string): void {
    // With too many kinds, the rest is counted by chain, of which callers cannot create new ones.
    const key = this.#counts.size < MAX_KINDS || this.#counts.has(kind) ? kind : chain;
    const known = this.#counts.get(key);
    if (known) {
      known.count++;
      return;
    }
    // Made at once, because the row is smaller than the call.
    const counted = { chain, row: toRow(), count: 1 };
    this.#counts.set(key, counted);
    this.#clock.after(WINDOW_MS, () => {
      // Flushed meanwhile, and the key may belong to another count.
      if (this.#counts.get(key) !== counted) return;
      this.#counts.delete(key);
      this.#put(counted);
    });
  }

  /**
   * Whether refusals of a caller may be counted under this name: names can be made up, so only a few are kept apart per
   * second.
   */
  mayName(who: string, kind: string): boolean {
    let named = this.#named.get(who);
    if (!named) {
      if (this.#named.size >= MAX_KINDS) return false;
      this.#named.set(who, (named = new Set()));
      this.#clock.after(WINDOW_MS, () => this.#named.delete(who));
    }
    if (named.size < MAX_NAMED) named.add(kind);
    return named.has(kind);
  }

  /** Records what was counted so far, before the record is closed. */
  flush(): void {
    const counted = [...this.#counts.values()];
    this.#counts.clear();
    for (const one of counted) this.#put(one);
  }

  #put({ chain, row, count }: Counted): void {
    this.#write(chain, `${row.slice(0, -1)},"count":${count}}`);
  }
}
