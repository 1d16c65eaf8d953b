import type { SharedRun } from './shared-run.ts';

/** Limits of a cache. */
export interface CacheLimits {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** A cached result. */
export interface KeptResult {
  /** As JSON, so that no receiver can change what the next one gets. */
  readonly text: string;
  /** The clock tick at which it expires. */
  readonly expiresAt: number;
  /** Its size as recorded. */
  readonly bytes?: number | undefined;
}

/** Results by key, evicted least recently used first, and the runs under way; survives a reload. */
export class ResultCache {
  readonly #kept = new Map<string, KeptResult>();
  #limits: CacheLimits;
  #bytes = 0;
  /** The runs that calls with the same key may join. */
  readonly runs = new Map<string, SharedRun>();

  constructor(limits: CacheLimits = { maxEntries: 10_000, maxBytes: 64 * 1_048_576 }) {
    this.#limits = limits;
  }

  /** How many results are cached. */
  get size(): number {
    return this.#kept.size;
  }

  /** About how much memory they use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sets new limits and evicts at once. */
  limit(limits: CacheLimits): void {
    this.#limits = limits;
    this.#evict();
  }

  /** A result that is still valid at the given clock tick. */
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

  /** Caches a result until it expires. */
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
