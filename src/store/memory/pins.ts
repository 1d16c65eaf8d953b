import type { Pin, PinApproval, PinDigests, PinPlace, Pins, SeenDefinition } from '../pin.ts';
import type { Entry } from '../store.ts';

/** Keeps pins in this process; after a restart every definition is seen for the first time again. */
export class InMemoryPins implements Pins {
  readonly #write: (row: Entry) => void;
  readonly #pins = new Map<string, Pin>();
  readonly #listeners = new Set<() => void>();
  #revision = 0;

  constructor(write: (row: Entry) => void) {
    this.#write = write;
  }

  list(): readonly Pin[] {
    return [...this.#pins.values()].toSorted(byPlace);
  }

  changed(after: number): readonly PinDigests[] {
    return this.list()
      .filter(({ revision }) => revision > after)
      .map(({ pinned, held, ...pin }) => ({ ...pin, pinned: pinned?.digest, held: held?.digest }));
  }

  async pinFirst(place: PinPlace, seen: SeenDefinition): Promise<Pin> {
    const known = this.#find(place);
    if (known?.pinned) return known;
    const held = known?.held?.digest === seen.digest ? undefined : known?.held;
    return this.#put(place, { pinned: { ...seen, by: undefined }, held });
  }

  async hold(place: PinPlace, seen: SeenDefinition, row: Entry | undefined): Promise<Pin | undefined> {
    const known = this.#find(place);
    if (known?.held?.digest === seen.digest || known?.pinned?.digest === seen.digest) return undefined;
    if (row) this.#write(row);
    return this.#put(place, { pinned: known?.pinned, held: seen });
  }

  async approve(place: PinPlace, { digest, by, at }: PinApproval, row: Entry): Promise<Pin | undefined> {
    const held = this.#find(place)?.held;
    if (held?.digest !== digest) return undefined;
    this.#write(row);
    return this.#put(place, { pinned: { ...held, at, by }, held: undefined });
  }

  watch(listener: () => void): () => void {
    // Two subscribers may pass the same function; each removes only its own.
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  #find(place: PinPlace): Pin | undefined {
    return this.#pins.get(keyOf(place));
  }

  #put({ server, tool }: PinPlace, state: Pick<Pin, 'pinned' | 'held'>): Pin {
    const pin: Pin = { server, tool, ...state, revision: ++this.#revision };
    this.#pins.set(keyOf(pin), pin);
    for (const listener of this.#listeners) listener();
    return pin;
  }
}

function keyOf({ server, tool }: PinPlace): string {
  return `${server}\n${tool}`;
}

function byPlace(a: PinPlace, b: PinPlace): number {
  return keyOf(a) < keyOf(b) ? -1 : 1;
}
