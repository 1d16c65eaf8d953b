/**
 * A set of active items in an array whose places are reused: with a `Set` that changes on every call, garbage
 * collection would cost too much.
 */
export class SlotList<T extends object> {
  readonly #places: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#places.length - this.#free.length;
  }

  /** Adds an item and returns its place. */
  add(item: T): number {
    const place = this.#free.pop() ?? this.#places.length;
    this.#places[place] = item;
    return place;
  }

  /** Removes an item; `false` if its place already belongs to another one. */
  remove(place: number, item: T): boolean {
    if (this.#places[place] !== item) return false;
    this.#places[place] = undefined;
    this.#free.push(place);
    return true;
  }

  /** Whether an item is still at its place. */
  has(place: number, item: T): boolean {
    return this.#places[place] === item;
  }

  /** All items. */
  all(): T[] {
    return this.#places.filter((item) => item !== undefined);
  }
}
