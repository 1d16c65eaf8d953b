/** What is under way, by places that are used again: a `Set` that takes in and lets go of everything would keep the garbage collector busy. */
export class Roster<T extends object> {
  readonly #places: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#places.length - this.#free.length;
  }

  /** Takes something in; the answer is its place. */
  add(item: T): number {
    const place = this.#free.pop() ?? this.#places.length;
    this.#places[place] = item;
    return place;
  }

  /** Lets go of what is at a place; `false` when it is somebody else's by now. */
  remove(place: number, item: T): boolean {
    if (this.#places[place] !== item) return false;
    this.#places[place] = undefined;
    this.#free.push(place);
    return true;
  }

  /** Whether something is still at its place. */
  has(place: number, item: T): boolean {
    return this.#places[place] === item;
  }

  /** Everything that is in it. */
  all(): T[] {
    return this.#places.filter((item) => item !== undefined);
  }
}
