import { ownerOf } from '../core/caller.ts';
import type { PendingRequest } from './pending-request.ts';

/**
 * The requests under way, by id. The tables that a Map leaves behind keep finished requests from being collected,
 * which cost a fifth of a call.
 */
export class PendingRequests {
  // A power of two, so that the low bits of an id are its place.
  #places: (PendingRequest | undefined)[] = Array.from({ length: 128 });
  #lastId = 0;
  size = 0;

  /** An id whose place is free. */
  nextId(): number {
    if (this.size * 2 >= this.#places.length) this.#grow();
    do this.#lastId++;
    while (this.#places[this.#placeOf(this.#lastId)]);
    return this.#lastId;
  }

  add(pending: PendingRequest): void {
    this.#places[this.#placeOf(pending.outgoing.id)] = pending;
    this.size++;
  }

  /** The request that has this id, which may be anything a server sends. */
  get(id: unknown): PendingRequest | undefined {
    if (typeof id !== 'number') return undefined;
    const pending = this.#places[this.#placeOf(id)];
    return pending?.outgoing.id === id ? pending : undefined;
  }

  delete({ outgoing: { id } }: PendingRequest): void {
    if (!this.get(id)) return;
    this.#places[this.#placeOf(id)] = undefined;
    this.size--;
  }

  /** Those that are under way now. */
  all(): PendingRequest[] {
    return this.#places.filter((pending) => pending !== undefined);
  }

  /** The call that a message on no stream of its own belongs to: only where there is no other. */
  onlyCall(): PendingRequest | 'several' | undefined {
    const calls = this.all().filter(({ onQuestion }) => onQuestion);
    if (calls.length <= 1) return calls[0];
    // A call that waits for its answer asks nothing more; the person asked is the same one at any rate.
    const [only, ...others] = calls.filter(({ questions }) => questions === 0);
    return only && others.length === 0 && areOfOneCaller(calls) ? only : 'several';
  }

  #placeOf(id: number): number {
    return id & (this.#places.length - 1);
  }

  #grow(): void {
    const requests = this.all();
    this.#places = Array.from({ length: this.#places.length * 2 });
    for (const pending of requests) this.#places[this.#placeOf(pending.outgoing.id)] = pending;
  }
}

function areOfOneCaller(calls: readonly PendingRequest[]): boolean {
  const [first, ...rest] = calls.map(({ caller }) => caller && ownerOf(caller));
  return first !== undefined && rest.every((owner) => owner === first);
}
