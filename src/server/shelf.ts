/** Keeps things by id for many owners within limits; whoever goes over makes room by losing its own oldest, never another's. */
export class Shelf<T> {
  readonly #limits: { readonly total: number; readonly perOwner: number };
  readonly #things = new Map<string, { readonly owner: string; readonly thing: T }>();
  readonly #owned = new Map<string, Set<string>>();
  readonly #onDrop: (id: string, thing: T) => void;

  constructor(
    limits: { readonly total: number; readonly perOwner: number },
    onDrop: (id: string, thing: T) => void = () => {},
  ) {
    this.#limits = limits;
    this.#onDrop = onDrop;
  }

  get(id: string): T | undefined {
    return this.#things.get(id)?.thing;
  }

  values(): T[] {
    return [...this.#things.values()].map(({ thing }) => thing);
  }

  /** Puts a thing in its place, or in a new one. */
  set(id: string, owner: string, thing: T): void {
    const isNew = !this.#things.has(id);
    this.#things.set(id, { owner, thing });
    if (!isNew) return;
    let ids = this.#owned.get(owner);
    if (!ids) this.#owned.set(owner, (ids = new Set()));
    ids.add(id);
    const isOver = ids.size > this.#limits.perOwner || this.#things.size > this.#limits.total;
    const [oldest] = ids;
    // The newcomer is its owner's last, so it goes only where the owner has nothing else and the shelf is full.
    if (isOver && oldest !== undefined) this.#drop(oldest);
  }

  delete(id: string): boolean {
    const kept = this.#things.get(id);
    if (!kept) return false;
    this.#things.delete(id);
    const ids = this.#owned.get(kept.owner);
    ids?.delete(id);
    if (ids?.size === 0) this.#owned.delete(kept.owner);
    return true;
  }

  #drop(id: string): void {
    const thing = this.get(id) as T;
    this.delete(id);
    this.#onDrop(id, thing);
  }
}
