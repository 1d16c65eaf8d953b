import type { Exchange } from './pending-request.ts';

/**
 * The requests under way, by id. The tables that a Map leaves behind keep finished requests from being collected,
 * which cost a fifth of a call.
 */
export class Pending {
  // A power of two, so that the low bits of an id are its place.
  #places: (Exchange | undefined)[] = Array.from({ length: 128 });
  #lastId = 0;
  size = 0;

  /** An id whose place is free. */
  nextId(): number {
    if (this.size * 2 >= this.#places.length) this.#grow();
    do this.#lastId++;
    while (this.#places[this.#placeOf(this.#lastId)]);
    return this.#lastId;
  }

  add(exchange: Exchange): void {
    this.#places[this.#placeOf(exchange.outgoing.id)] = exchange;
    this.size++;
  }

  /** The request that has this id, which may be anything a server sends. */
  get(id: unknown): Exchange | undefined {
    if (typeof id !== 'number') return undefined;
    const exchange = this.#places[this.#placeOf(id)];
    return exchange?.outgoing.id === id ? exchange : undefined;
  }

  delete({ outgoing: { id } }: Exchange): void {
    if (!this.get(id)) return;
    this.#places[this.#placeOf(id)] = undefined;
    this.size--;
  }

  /** Those that are under way now. */
  all(): Exchange[] {
    return this.#places.filter((exchange) => exchange !== undefined);
  }

  #placeOf(id: number): number {
    return id & (this.#places.length - 1);
  }

  #grow(): void {
    const exchanges = this.all();
    this.#places = Array.from({ length: this.#places.length * 2 });
    for (const exchange of exchanges) this.#places[this.#placeOf(exchange.outgoing.id)] = exchange;
  }
}
