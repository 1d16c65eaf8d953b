import type { Clock } from '../../base/clock.ts';
import { maxKept, shareLimits } from '../../core/memory/limits.ts';
import { notKept, type NotKept } from '../../core/memory/text.ts';
import type { Reservation } from '../../core/memory/memory.ts';
import { Shares } from '../../core/memory/shares.ts';
import { BoundedMap } from '../../core/memory/bounded-map.ts';
import type { Reservations, Reserved } from '../store.ts';

const KEYS = {
  caller: { rows: 10_000, bytes: Infinity },
  tenant: { rows: 40_000, bytes: Infinity },
  total: { rows: 100_000, bytes: Infinity },
};
const MAX_OUTCOME_BYTES = 64 * 1_048_576;
const ONE = { rows: 1, bytes: 0 };

interface Kept {
  readonly owner: string;
  readonly subject: string;
  readonly expiresAt: number;
  notKept: NotKept | undefined;
}

/** Keeps idempotency keys and outcomes in this process. */
export class InMemoryReservations implements Reservations {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  readonly #keys = new Shares(KEYS);
  // An outcome that is dropped to make room is replaced by its digest; its key stays taken.
  readonly #outcomes = new BoundedMap<string>(
    { ...shareLimits.outcomes, total: { rows: Infinity, bytes: MAX_OUTCOME_BYTES } },
    (id, outcome) => {
      this.#kept.get(id)!.notKept = notKept(outcome);
    },
  );

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(owner: string, key: string): Reserved | undefined {
    const id = idOf(owner, key);
    const kept = this.#current(id);
    return kept && { subject: kept.subject, outcome: this.#outcomes.get(id), notKept: kept.notKept };
  }

  /** Takes a key, unless it is taken or too many are kept. */
  take({ owner, key, subject, expiresAt }: Reservation): 'committed' | 'taken' | 'full' {
    const id = idOf(owner, key);
    if (this.#current(id)) return 'taken';
    if (this.#isFull(owner)) return 'full';
    this.#kept.set(id, { owner, subject, expiresAt, notKept: undefined });
    this.#keys.add(owner, ONE);
    return 'committed';
  }

  async finish(owner: string, key: string, outcome: string): Promise<void> {
    const id = idOf(owner, key);
    const kept = this.#current(id);
    // The first outcome is kept.
    if (!kept || kept.notKept || this.#outcomes.get(id) !== undefined) return;
    const bytes = Buffer.byteLength(outcome);
    if (bytes > maxKept.outcome) kept.notKept = notKept(outcome);
    else this.#outcomes.set(id, outcome, { owner, bytes });
  }

  async release(owner: string, key: string): Promise<void> {
    const id = idOf(owner, key);
    // A call that has an outcome did run, so its key is not released.
    if (this.#outcomes.get(id) === undefined && !this.#kept.get(id)?.notKept) this.#forget(id);
  }

  #current(id: string): Kept | undefined {
    const kept = this.#kept.get(id);
    if (!kept || kept.expiresAt > this.#clock.now()) return kept;
    this.#forget(id);
    return undefined;
  }

  // Dropping a valid key would let its call run twice.
  #isFull(owner: string): boolean {
    if (!this.#keys.over(owner, ONE)) return false;
    const now = this.#clock.now();
    for (const [id, { expiresAt }] of this.#kept) if (expiresAt <= now) this.#forget(id);
    return this.#keys.over(owner, ONE) !== undefined;
  }

  #forget(id: string): void {
    const kept = this.#kept.get(id);
    if (!kept) return;
    this.#outcomes.delete(id);
    this.#kept.delete(id);
    this.#keys.add(kept.owner, { rows: -1, bytes: 0 });
  }
}

// Starts with the length, so that no owner and key can be mistaken for another pair.
function idOf(owner: string, key: string): string {
  return `${owner.length}:${owner}/${key}`;
}
