import type {
  ListedDefinition,
  Pin,
  PinApproval,
  PinDigests,
  PinLister,
  PinnedDefinition,
  PinPlace,
  Pins,
  PinTool,
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

  async pinListing({ server, account }: PinLister, listing: readonly ListedDefinition[]): Promise<void> {
    const counts = (pin: Pin): boolean => pin.account === account || pin.account === '';
    if (this.#all().some((pin) => pin.server === server && counts(pin) && pin.pinned)) return;
    for (const { tool, ...seen } of listing) this.#pinFirst({ server, account, tool }, seen);
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

  // Older approvals do not count: a server could go back to a definition that was replaced since.
  async pinApproved(place: PinPlace, digest: string): Promise<Pin | undefined> {
    const own = this.#find(place)?.pinned;
    if (own?.digest === digest) return undefined;
    const approved = this.#ofTool(place)
      .flatMap(({ pinned }) => (pinned?.digest === digest && pinned.by !== undefined ? pinned : []))
      .toSorted((a: PinnedDefinition, b: PinnedDefinition) => b.at - a.at)[0];
    if (!approved || (own && own.at >= approved.at)) return undefined;
    return this.#change(place, { pinned: approved, held: undefined });
  }

  async hold(place: PinPlace, seen: SeenDefinition, row: Entry | undefined): Promise<Pin | undefined> {
    const known = this.#find(place);
    if (known?.held?.digest === seen.digest || known?.pinned?.digest === seen.digest) return undefined;
    if (row) this.#write(row);
    return this.#change(place, { pinned: known?.pinned, held: seen });
  }

  async approve(tool: PinTool, { digest, by, at }: PinApproval, row: Entry): Promise<readonly Pin[]> {
    const waiting = this.#ofTool(tool).filter(({ held }) => held?.digest === digest);
    if (waiting.length === 0) return [];
    this.#write(row);
    const approved = waiting.map((pin) =>
      this.#put(pin, { pinned: { ...pin.held!, at, by }, held: undefined }),
    );
    this.#tell();
    return approved;
  }

  async dismiss(tool: PinTool, digest: string, row: Entry): Promise<boolean> {
    const waiting = this.#ofTool(tool).filter(({ held }) => held?.digest === digest);
    if (waiting.length === 0) return false;
    this.#write(row);
    for (const pin of waiting) this.#put(pin, { pinned: pin.pinned, held: undefined });
    this.#tell();
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

  #ofTool({ server, tool }: PinTool): readonly Pin[] {
    return this.#all().filter((pin) => pin.server === server && pin.tool === tool);
  }

  // The pin of an account begins with the pin without an account.
  #find(place: PinPlace): Pin | undefined {
    const shared = this.#pins.get(keyOf({ ...place, account: '' }));
    return this.#pins.get(keyOf(place)) ?? (shared && { ...shared, ...place, held: undefined });
  }

  #change(place: PinPlace, state: Pick<Pin, 'pinned' | 'held'>): Pin {
    const pin = this.#put(place, state);
    this.#tell();
    return pin;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  #put({ server, account, tool }: PinPlace, state: Pick<Pin, 'pinned' | 'held'>): Pin {
    const pin: Pin = { server, account, tool, ...state, revision: ++this.#revision };
    this.#pins.set(keyOf(pin), pin);
    return pin;
  }
}

function keyOf({ server, account, tool }: PinPlace): string {
  return `${server}\n${tool}\n${account}`;
}

function byPlace(a: PinPlace, b: PinPlace): number {
  return keyOf(a) < keyOf(b) ? -1 : 1;
}
