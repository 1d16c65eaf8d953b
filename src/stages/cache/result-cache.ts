import type { SharedRun } from './shared-run.ts';

/** How much a cache may hold. */
export interface CacheLimits {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** A result that is kept. */
export interface KeptResult {
  /** As JSON: nobody who gets a result can change what the next one gets. */
  readonly text: string;
  /** The tick of the clock from which on it is no good. */
  readonly expiresAt: number;
  /** What the record says of its size. */
  readonly bytes?: number | undefined;
}

/** Results by key, the least recently used going first, and the runs under way; outlives the configuration it is used with. */
export class ResultCache {
  readonly #kept = new Map<string, KeptResult>();
  #limits: CacheLimits;
  #bytes = 0;
  /** The runs that calls with the same key may join. */
  readonly runs = new Map<string, SharedRun>();

  constructor(limits: CacheLimits = { maxEntries: 10_000, maxBytes: 64 * 1_048_576 }) {
    this.#limits = limits;
  }

  /** How many results are kept. */
  get size(): number {
    return this.#kept.size;
  }

  /** About how much room they take. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sets other limits; what is over them goes at once. */
  limit(limits: CacheLimits): void {
    this.#limits = limits;
    this.#evict();
  }

  /** A kept result that is still good at the given tick of the clock. */
  find(key: string, now: number): KeptResult | undefined {
    const kept = this.#kept.get(key);
    if (!kept) return undefined;
    if (kept.expiresAt <= now) {
      this.#drop(key, kept);
      return undefined;
    }
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept;
  }

  /** Keeps a result for as long as it says. */
  keep(key: string, kept: KeptResult): void {
    const old = this.#kept.get(key);
    if (old) this.#drop(key, old);
    const size = key.length + kept.text.length;
    // One result too large for the cache must not empty it.
    if (size > this.#limits.maxBytes) return;
    this.#kept.set(key, kept);
    this.#bytes += size;
    this.#evict();
  }

  #evict(): void {
    const { maxEntries, maxBytes } = this.#limits;
    for (const [key, kept] of this.#kept) {
      if (this.#kept.size <= maxEntries && this.#bytes <= maxBytes) break;
      this.#drop(key, kept);
    }
  }

  #drop(key: string, { text }: KeptResult): void {
    this.#kept.delete(key);
    this.#bytes -= key.length + text.length;
  }
}
