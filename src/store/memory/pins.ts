import type {
  ListedDefinition,
  Pin,
  PinApproval,
  PinDigests,
  PinPlace,
  Pins,
  SeenDefinition,
} from '../pin.ts';
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
    return this.#all().filter(({ pinned, held }) => pinned ?? held);
  }

  changed(after: number): readonly PinDigests[] {
    return this.#all()
      .filter(({ revision }) => revision > after)
      .map(({ pinned, held, ...pin }) => ({ ...pin, pinned: pinned?.digest, held: held?.digest }));
  }

  async pinListing(server: string, listing: readonly ListedDefinition[]): Promise<void> {
    if (this.#all().some((pin) => pin.server === server && pin.pinned)) return;
    for (const { tool, ...seen } of listing) this.#pinFirst({ server, tool }, seen);
    this.#tell();
  }

  async pinFirst(place: PinPlace, seen: SeenDefinition): Promise<Pin> {
    const pin = this.#pinFirst(place, seen);
    this.#tell();
    return pin;
  }

  #pinFirst(place: PinPlace, seen: SeenDefinition): Pin {
    const known = this.#find(place);
    if (known?.pinned) return known;
    const held = known?.held?.digest === seen.digest ? undefined : known?.held;
    return this.#put(place, { pinned: { ...seen, by: undefined }, held });
  }

  async hold(place: PinPlace, seen: SeenDefinition, row: Entry | undefined): Promise<Pin | undefined> {
    const known = this.#find(place);
    if (known?.held?.digest === seen.digest || known?.pinned?.digest === seen.digest) return undefined;
    if (row) this.#write(row);
    return this.#change(place, { pinned: known?.pinned, held: seen });
  }

  async approve(place: PinPlace, { digest, by, at }: PinApproval, row: Entry): Promise<Pin | undefined> {
    const held = this.#find(place)?.held;
    if (held?.digest !== digest) return undefined;
    this.#write(row);
    return this.#change(place, { pinned: { ...held, at, by }, held: undefined });
  }

  async dismiss(place: PinPlace, digest: string, row: Entry): Promise<boolean> {
    const known = this.#find(place);
    if (known?.held?.digest !== digest) return false;
    this.#write(row);
    this.#change(place, { pinned: known.pinned, held: undefined });
    return true;
  }

  watch(listener: () => void): () => void {
    // Two subscribers may pass the same function; each removes only its own.
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  #all(): readonly Pin[] {
    return [...this.#pins.values()].toSorted(byPlace);
  }

  #find(place: PinPlace): Pin | undefined {
    return this.#pins.get(keyOf(place));
  }

  #change(place: PinPlace, state: Pick<Pin, 'pinned' | 'held'>): Pin {
    const pin = this.#put(place, state);
    this.#tell();
    return pin;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  #put({ server, tool }: PinPlace, state: Pick<Pin, 'pinned' | 'held'>): Pin {
    const pin: Pin = { server, tool, ...state, revision: ++this.#revision };
    this.#pins.set(keyOf(pin), pin);
    return pin;
  }
}

function keyOf({ server, tool }: PinPlace): string {
  return `${server}\n${tool}`;
}

function byPlace(a: PinPlace, b: PinPlace): number {
  return keyOf(a) < keyOf(b) ? -1 : 1;
}
