import type { Clock } from '../base/clock.ts';
import { andThen, orElse, type Awaitable } from '../base/awaitable.ts';
import { makeRoomIn } from '../core/memory/bounded-map.ts';

/** How long cached identities are used. */
export const lookupLimits = {
  /** From this age an answer is refreshed in the background. */
  refreshMs: 2_000,
  /** From this age calls wait for the refresh, so a revoked credential works no longer than this. */
  freshMs: 4_000,
  /** From this age an unused answer is refreshed: its caller may hold a stream open. */
  idleMs: 30_000,
  /** How long the last answer is used while the store fails. */
  graceMs: 60_000,
  /** How long an answer may take. */
  answerMs: 2_000,
  retryMs: 1_000,
  absentMs: 2_000,
  maxFound: 100_000,
  maxAbsent: 10_000,
};

const SWEEP_MS = 2_000;
const AT_ONCE = 100;

/** Where a lookup gets its values, and who is notified of changes. */
export interface LookupOptions<T> {
  readonly ask: (key: string) => Awaitable<T | undefined>;
  readonly watch: (listener: () => void) => () => void;
  /** When `watch` was last known to have reported every change. */
  readonly confirmedAt?: (() => number) | undefined;
  readonly clock: Clock;
  /** Whether a new answer equals the old one; then the old value is kept, so that it can be compared by identity. */
  readonly isSame: (known: T, found: T) => boolean;
  /** Whether a value has expired. */
  readonly isOver?: (value: T) => boolean;
  /** Called with every value that is no longer valid. */
  readonly onGone: (value: T) => void;
  /** Called every two seconds while anything is cached. */
  readonly onSweep?: () => void;
}

/** A cached value, and how far it can be trusted. */
export interface LookupEntry<T> {
  readonly key: string;
  readonly value: T;
  /** The state of the store at the time of the answer; in another state it must be checked. */
  generation: number;
  isDropped: boolean;
  checkedAt: number;
  retryAt: number;
  checking: Promise<void> | undefined;
}

/** When a question was asked, and in which state of the store. */
interface Asked {
  readonly askedAt: number;
  readonly generation: number;
}

/**
 * Caches a store's answers about identities for a short time: immediate while fresh, and never for long while the store
 * fails.
 */
export class Lookup<T> {
  readonly #options: LookupOptions<T>;
  readonly #found = new Map<string, LookupEntry<T>>();
  readonly #absent = new Map<string, number>();
  readonly #asking = new Map<string, Promise<T | undefined>>();
  readonly #unwatch: () => void;
  #generation = 0;
  // The last confirmation seen in this generation or an earlier one.
  #confirmedAt = 0;
  // Since when the store has not answered.
  #silentSince: number | undefined;
  #rechecking = false;
  #closed = false;
  #stopSweep: (() => void) | undefined;

  constructor(options: LookupOptions<T>) {
    this.#options = options;
    this.#unwatch = options.watch(() => this.#doubt());
  }

  /** The value of a key; fails if it is not cached and the store fails. Passing a known entry saves the search. */
  get(key: string, kept?: LookupEntry<T>): Awaitable<T | undefined> {
    const entry = kept && !kept.isDropped ? kept : this.#found.get(key);
    if (!entry) return this.#askFirst(key);
    // A confirmed answer is as good as a new one.
    const { clock, confirmedAt } = this.#options;
    const now = clock.ticks();
    const confirmedAgo = now - (confirmedAt?.() ?? 0);
    const isSure = entry.generation === this.#generation;
    if (confirmedAgo < lookupLimits.refreshMs && isSure) return entry.value;
    const age = Math.min(confirmedAgo, now - entry.checkedAt);
    if (age < lookupLimits.refreshMs && isSure) return entry.value;
    const checked = this.#check(key, entry);
    if (age < lookupLimits.freshMs && isSure) return this.#found.get(key)?.value;
    return andThen(checked, () => this.#believe(key));
  }

  /** The entry of a cached key. */
  entryOf(key: string): LookupEntry<T> | undefined {
    return this.#found.get(key);
  }

  /** Stops asking and clears the cache. */
  close(): void {
    this.#closed = true;
    this.#unwatch();
    this.#stopSweep?.();
    for (const entry of this.#found.values()) entry.isDropped = true;
    this.#found.clear();
    this.#absent.clear();
  }

  #askFirst(key: string): Awaitable<T | undefined> {
    const until = this.#absent.get(key);
    if (until !== undefined && until > this.#options.clock.ticks()) return undefined;
    const asking = this.#asking.get(key);
    if (asking) return asking;
    const generation = this.#generation;
    const askedAt = this.#options.clock.ticks();
    const answer = andThen(this.#ask(key), (value) => {
      if (this.#closed) return undefined;
      if (value === undefined) {
        if (generation === this.#generation) this.#noteAbsent(key);
        return undefined;
      }
      return this.#note(key, value, { askedAt, generation });
    });
    if (answer instanceof Promise) {
      this.#asking.set(
        key,
        answer.finally(() => this.#asking.delete(key)),
      );
      return this.#asking.get(key)!;
    }
    return answer;
  }

  #ask(key: string): Awaitable<T | undefined> {
    const answer = this.#options.ask(key);
    if (answer instanceof Promise) return this.#bounded(answer).then(this.#hear);
    return this.#hear(answer);
  }

  readonly #hear = <V>(answer: V): V => {
    this.#silentSince = undefined;
    return answer;
  };

  #bounded<V>(answer: Promise<V>): Promise<V> {
    return new Promise<V>((resolve, reject) => {
      const stop = this.#options.clock.after(lookupLimits.answerMs, () =>
        reject(new Error(`The store did not answer within ${lookupLimits.answerMs} ms.`)),
      );
      answer.then(resolve, reject).finally(stop);
    });
  }

  // Never fails: without an answer the last one is used, as long as it is valid.
  #check(key: string, entry: LookupEntry<T>): Awaitable<void> {
    if (entry.checking) {
      return entry.checking.then(() =>
        entry.generation === this.#generation ? undefined : this.#check(key, entry),
      );
    }
    const { clock } = this.#options;
    if (clock.ticks() < entry.retryAt || this.#found.get(key) !== entry) return;
    const generation = this.#generation;
    const askedAt = clock.ticks();
    const checked = orElse<void>(
      () => andThen(this.#ask(key), (value) => this.#settle(key, entry, { value, generation, askedAt })),
      () => {
        this.#silentSince ??= clock.ticks();
        entry.retryAt = clock.ticks() + lookupLimits.retryMs;
        if (this.#isOutOfGrace(entry)) this.#drop(entry);
      },
    );
    if (!(checked instanceof Promise)) return checked;
    entry.checking = checked.finally(() => {
      entry.checking = undefined;
    });
    return entry.checking;
  }

  #settle(
    key: string,
    entry: LookupEntry<T>,
    { value, generation, askedAt }: Asked & { readonly value: T | undefined },
  ): void {
    if (this.#found.get(key) !== entry) return;
    if (value !== undefined && this.#options.isSame(entry.value, value)) {
      entry.checkedAt = askedAt;
      entry.generation = generation;
      entry.retryAt = 0;
      return;
    }
    this.#drop(entry);
    if (value !== undefined) this.#note(key, value, { askedAt, generation });
  }

  #believe(key: string): T | undefined {
    const entry = this.#found.get(key);
    if (!entry) return undefined;
    if (!this.#isOutOfGrace(entry)) return entry.value;
    this.#drop(entry);
    return undefined;
  }

  // The grace period counts from when the answer was last known to be right: a confirmation covers only entries of its
  // own generation.
  #isOutOfGrace({ generation, checkedAt }: LookupEntry<T>): boolean {
    const { clock, confirmedAt } = this.#options;
    const confirmed = generation === this.#generation ? (confirmedAt?.() ?? 0) : 0;
    return clock.ticks() - Math.max(checkedAt, confirmed) > lookupLimits.graceMs;
  }

  #note(key: string, value: T, { askedAt: checkedAt, generation }: Asked): T {
    if (this.#found.size >= lookupLimits.maxFound) {
      const [oldest] = this.#found.values();
      if (oldest) this.#drop(oldest);
    }
    this.#absent.delete(key);
    this.#found.set(key, {
      key,
      value,
      generation,
      isDropped: false,
      checkedAt,
      retryAt: 0,
      checking: undefined,
    });
    this.#stopSweep ??= this.#options.clock.after(SWEEP_MS, () => this.#sweep());
    return value;
  }

  #noteAbsent(key: string): void {
    this.#absent.delete(key);
    makeRoomIn(this.#absent, lookupLimits.maxAbsent);
    this.#absent.set(key, this.#options.clock.ticks() + lookupLimits.absentMs);
  }

  #drop(entry: LookupEntry<T>): void {
    entry.isDropped = true;
    this.#found.delete(entry.key);
    this.#options.onGone(entry.value);
  }

  #doubt(): void {
    if (!this.#rechecking) this.#keepConfirmation();
    this.#generation++;
    this.#absent.clear();
    if (!this.#rechecking) void this.#recheckAll();
  }

  // Entries confirmed before a change were right until then. The latest confirmation may already include the change, so
  // the one before it counts.
  #keepConfirmation(): void {
    for (const entry of this.#found.values()) {
      if (entry.generation === this.#generation && entry.checkedAt < this.#confirmedAt)
        entry.checkedAt = this.#confirmedAt;
    }
  }

  // A caller with an open stream sends no requests, so after a change all cached entries are checked.
  async #recheckAll(): Promise<void> {
    this.#rechecking = true;
    for (let generation = -1; generation !== this.#generation && !this.#closed;) {
      generation = this.#generation;
      const entries = [...this.#found];
      for (let i = 0; i < entries.length; i += AT_ONCE)
        await Promise.all(entries.slice(i, i + AT_ONCE).map(async ([key, entry]) => this.#check(key, entry)));
    }
    this.#rechecking = false;
  }

  #sweep(): void {
    const { clock, confirmedAt, isOver, onSweep } = this.#options;
    const now = clock.ticks();
    // If the store has failed for a while, entries are not all asked for first, which would take minutes.
    const isSilent = this.#silentSince !== undefined && now - this.#silentSince > lookupLimits.freshMs;
    this.#confirmedAt = confirmedAt?.() ?? 0;
    // First, so that what this sweep removes is reported again in the next.
    onSweep?.();
    const hadAny = this.#found.size > 0;
    let asked = 0;
    for (const [key, entry] of this.#found) {
      if (isOver?.(entry.value) || (isSilent && this.#isOutOfGrace(entry))) this.#drop(entry);
      else if (
        asked < AT_ONCE &&
        (now - entry.checkedAt > lookupLimits.idleMs || entry.generation !== this.#generation)
      ) {
        asked++;
        void this.#check(key, entry);
      }
    }
    this.#stopSweep = hadAny && !this.#closed ? clock.after(SWEEP_MS, () => this.#sweep()) : undefined;
  }
}
