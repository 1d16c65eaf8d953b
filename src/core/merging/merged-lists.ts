import { makeRoomIn } from '../memory/bounded-map.ts';

// More sets of lists than this are not remembered at once; callers who see the same share one.
const MAX_KNOWN = 256;

/** Puts lists of several sources together: the same array as long as every source gives the same. */
export class MergedLists<T> {
  // Numbers instead of the lists themselves: comparing a hundred lists with those of each set would take longer.
  readonly #numbers = new WeakMap<readonly T[], number>();
  readonly #known = new Map<string, readonly T[]>();
  #last = 0;

  /** The lists as one, made by `put` where they are new. */
  of(
    lists: readonly (readonly T[])[],
    put: (lists: readonly (readonly T[])[]) => readonly T[],
  ): readonly T[] {
    const key = lists.map((list) => this.#numberOf(list)).join();
    let merged = this.#known.get(key);
    if (!merged) {
      makeRoomIn(this.#known, MAX_KNOWN);
      this.#known.set(key, (merged = Object.freeze(put(lists))));
    }
    return merged;
  }

  #numberOf(list: readonly T[]): number {
    let number = this.#numbers.get(list);
    if (number === undefined) this.#numbers.set(list, (number = ++this.#last));
    return number;
  }
}
