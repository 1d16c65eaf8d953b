import { createHash } from 'node:crypto';
import type { Awaitable } from '../../base/awaitable.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import type { Log } from '../../observe/log.ts';
import { OPERATOR_CHAIN } from '../../store/journal/chain.ts';
import type { Entry } from '../../store/store.ts';
import {
  pinnedThing,
  type ListedDefinition,
  type PinDigests,
  type PinLister,
  type PinPlace,
  type Pins,
  type PinTool,
  type SeenDefinition,
} from '../../store/pin.ts';
import type { Defined } from './defined.ts';
import { scanDefinition } from './scan.ts';

/** The parts that a pin book needs. */
export interface PinBookParts {
  readonly pins: Pins;
  readonly log: Log;
  readonly clock?: Clock;
}

/** How a definition that is not the pinned one is dealt with. */
export interface PinRule {
  readonly mode: 'approve' | 'first-use';
  /** Whether the operator named this tool, so that its first definition counts whenever it appears. */
  readonly isNamed: boolean;
  /** Whether held definitions are recorded. */
  readonly isRecorded: boolean;
}

/** Whether a definition may be used; `unknown` if the store could not be asked, which is asked again next time. */
export type Verdict = 'admitted' | 'held' | 'unknown';

// A server that invents tools or definitions without end must fill neither the disk nor the record.
const MAX_PER_ACCOUNT = 5_000;
const MAX_BYTES = 262_144;
const MAX_LISTING_BYTES = 8 * 1_048_576;
const QUIET_MS = 10_000;

/** Knows which definitions are pinned, and keeps those that wait; it follows what other processes approve. */
export class PinBook {
  readonly #parts: Required<PinBookParts>;
  readonly #pins = new Map<string, PinDigests>();
  readonly #counts = new Map<string, number>();
  readonly #known = new Set<string>();
  readonly #digests = new WeakMap<object, string>();
  readonly #quietUntil = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #revision = 0;
  #epoch = 0;
  #loading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isLoaded = false;

  constructor(parts: PinBookParts) {
    this.#parts = { clock: systemClock, ...parts };
    parts.pins.watch(() => void this.#follow());
  }

  /** Grows when a pin changed that verdicts were reached with. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Tells of changes of pins until the returned function is called. */
  watch(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /** Whether something of a server is pinned for an account, so that its first listing is over. */
  isKnown({ server, account }: PinLister): boolean {
    return (
      this.#known.has(listerKey({ server, account })) || this.#known.has(listerKey({ server, account: '' }))
    );
  }

  /** Pins the first listing of a server to an account as a whole; does nothing where it is known. */
  async introduce(lister: PinLister, items: readonly Defined[]): Promise<void> {
    try {
      if (!this.#isLoaded) await this.#load();
      if (this.isKnown(lister)) return;
      const at = this.#parts.clock.now();
      const listing = this.#fitting(
        lister,
        items.map((item) => listedOf(item, at)),
      );
      if (listing.length === 0) return;
      await this.#parts.pins.pinListing(lister, listing);
      await this.#load();
      for (const { tool, ...seen } of listing) {
        const place = { ...lister, tool };
        if (this.#pins.get(keyOf(place))?.pinned === seen.digest) this.#warn(place, seen);
      }
    } catch (cause) {
      const what = 'The first listing of a server could not be pinned, so what it lists is held.';
      this.#parts.log('error', what, { ...lister, cause });
    }
  }

  // Entries beyond the limit are held, like all that come after the first listing.
  #fitting(lister: PinLister, listing: readonly ListedDefinition[]): readonly ListedDefinition[] {
    let room = MAX_LISTING_BYTES;
    return listing.filter(({ tool, ...seen }, at) => {
      if (at >= MAX_PER_ACCOUNT || this.#isTooMuch({ ...lister, tool }, seen)) return false;
      room -= Buffer.byteLength(seen.definition);
      return room >= 0;
    });
  }

  /** Whether a definition is the pinned one; a new one is pinned or held, depending on the mode. */
  judge(defined: Defined, rule: PinRule): Awaitable<Verdict> {
    if (!this.#isLoaded) return this.#judgeLater(defined, rule);
    const { item, place } = defined;
    const pin = this.#find(place);
    let digest = this.#digests.get(item);
    if (digest === undefined) this.#digests.set(item, (digest = digestOf(defined.definition())));
    if (pin?.pinned === digest) return 'admitted';
    const seen = { digest, definition: defined.definition(), at: this.#parts.clock.now() };
    if (this.#isTooMuch(place, seen)) return 'held';
    if (pin?.pinned !== undefined || rule.mode === 'approve') return this.#hold(place, seen, rule);
    if (rule.isNamed) return this.#pinFirst(place, seen);
    // New is what comes after the first listing; before it, nothing can be decided.
    return this.isKnown(place) ? this.#hold(place, seen, rule) : 'unknown';
  }

  async #judgeLater(defined: Defined, rule: PinRule): Promise<Verdict> {
    try {
      await this.#load();
    } catch (cause) {
      this.#parts.log('error', 'Pins cannot be read, so tools and skills of other servers are held.', {
        cause,
      });
      return 'unknown';
    }
    return this.judge(defined, rule);
  }

  async #pinFirst(place: PinPlace, seen: SeenDefinition): Promise<Verdict> {
    try {
      const { pinned } = await this.#parts.pins.pinFirst(place, seen);
      this.#set({ ...place, pinned: pinned?.digest, held: undefined, revision: 0 });
      const isOurs = pinned?.digest === seen.digest;
      if (isOurs) this.#warn(place, seen);
      return isOurs ? 'admitted' : 'unknown';
    } catch (cause) {
      return this.#failed(place, cause);
    }
  }

  async #hold(place: PinPlace, seen: SeenDefinition, { isRecorded }: PinRule): Promise<Verdict> {
    const key = keyOf(place);
    const pin = this.#find(place);
    const now = this.#parts.clock.now();
    if (pin?.held === seen.digest) return 'held';
    // One that changes all the time is looked at again later, so that the newest one can be approved.
    if ((this.#quietUntil.get(key) ?? 0) > now) return 'unknown';
    this.#quietUntil.set(key, now + QUIET_MS);
    const isNew = pin?.pinned === undefined;
    try {
      if (await this.#isApproved(place, seen)) return 'admitted';
      const row = isRecorded ? this.#rowOf(place, seen, isNew) : undefined;
      const held = await this.#parts.pins.hold(place, seen, row);
      this.#set({ ...place, pinned: pin?.pinned, held: seen.digest, revision: 0 });
      if (!held) return 'held';
      const { kind } = pinnedThing(place);
      const what = isNew
        ? `A new ${kind} is held`
        : `The definition of a ${kind} has changed, and it is held`;
      this.#parts.log('warn', `${what}; see: toolcrib pins diff ${nameFor(place)}`, factsOf(place, seen));
      return 'held';
    } catch (cause) {
      this.#quietUntil.delete(key);
      return this.#failed(place, cause);
    }
  }

  // An approval for one account counts for other accounts with the same definition.
  async #isApproved(place: PinPlace, { digest }: SeenDefinition): Promise<boolean> {
    if (place.account === '') return false;
    const pin = await this.#parts.pins.pinApproved(place, digest);
    if (pin) this.#set({ ...place, pinned: digest, held: undefined, revision: 0 });
    return pin !== undefined;
  }

  #failed(place: PinPlace, cause: unknown): Verdict {
    const what = `A pin could not be written, so the ${pinnedThing(place).kind} is held.`;
    this.#parts.log('error', what, { ...place, cause });
    return 'unknown';
  }

  #warn(place: PinPlace, seen: SeenDefinition): void {
    const facts = factsOf(place, seen);
    const what = `The definition of a new ${pinnedThing(place).kind} deserves a look`;
    if (facts.findings > 0)
      this.#parts.log('warn', `${what}; see: toolcrib pins diff ${nameFor(place)}`, facts);
  }

  #isTooMuch(place: PinPlace, seen: SeenDefinition): boolean {
    const isLarge = Buffer.byteLength(seen.definition) > MAX_BYTES;
    const isMany =
      !this.#pins.has(keyOf(place)) && (this.#counts.get(listerKey(place)) ?? 0) >= MAX_PER_ACCOUNT;
    if (!isLarge && !isMany) return false;
    const now = this.#parts.clock.now();
    if ((this.#quietUntil.get(place.server) ?? 0) <= now) {
      this.#quietUntil.set(place.server, now + QUIET_MS);
      const { server, kind } = pinnedThing(place);
      const why = isLarge
        ? `it is larger than ${MAX_BYTES} bytes`
        : `it has more than ${MAX_PER_ACCOUNT} ${kind}s`;
      this.#parts.log('warn', `A ${kind} of ${server} is held and cannot be approved: ${why}.`);
    }
    return true;
  }

  #rowOf(place: PinPlace, { digest }: SeenDefinition, isNew: boolean): Entry {
    const { server, kind, name } = pinnedThing(place);
    const { account } = place;
    const did = `${isNew ? 'new' : 'changed'} ${kind} held`;
    const at = new Date(this.#parts.clock.now()).toISOString();
    const whose = account !== '' && { account };
    const body = JSON.stringify({
      kind: 'operator',
      at,
      by: 'toolcrib',
      did,
      server,
      ...whose,
      [kind]: name,
      digest,
    });
    return { chain: OPERATOR_CHAIN, body };
  }

  #load(): Promise<void> {
    if (!this.#loading) return (this.#loading = this.#take().finally(() => void (this.#loading = undefined)));
    // The one under way may have read before the change that this is about.
    this.#next ??= this.#loading
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#load();
      });
    return this.#next;
  }

  async #take(): Promise<void> {
    const changed = await this.#parts.pins.changed(this.#revision);
    let isOther = false;
    for (const pin of changed) {
      const known = this.#find(pin);
      const isDismissed = known?.held !== undefined && pin.held === undefined;
      // There are no verdicts yet for unknown definitions.
      const isDecided = known !== undefined && (known.pinned !== pin.pinned || isDismissed);
      // Somebody has decided, so the next change is reported at once.
      if (isDecided) this.#quietUntil.delete(keyOf(pin));
      isOther ||= isDecided;
      this.#set(pin);
      this.#revision = Math.max(this.#revision, pin.revision);
    }
    const isFirst = !this.#isLoaded;
    this.#isLoaded = true;
    if (isFirst || !isOther) return;
    this.#epoch++;
    for (const listener of this.#listeners) listener();
  }

  // Until something was judged there is nothing to follow.
  async #follow(): Promise<void> {
    if (!this.#isLoaded) return;
    try {
      await this.#load();
    } catch (cause) {
      this.#parts.log('error', 'Changes of pins cannot be read; it will be tried again.', { cause });
    }
  }

  #set(pin: PinDigests): void {
    const key = keyOf(pin);
    const lister = listerKey(pin);
    if (!this.#pins.has(key)) this.#counts.set(lister, (this.#counts.get(lister) ?? 0) + 1);
    this.#pins.set(key, pin);
    if (pin.pinned !== undefined) this.#known.add(lister);
  }

  // A pin without an account counts for each account without a pin of its own.
  #find(place: PinPlace): PinDigests | undefined {
    const own = this.#pins.get(keyOf(place));
    if (own || place.account === '') return own;
    const shared = this.#pins.get(keyOf({ ...place, account: '' }));
    return shared && { ...shared, held: undefined };
  }
}

function listedOf({ place: { tool }, definition: define }: Defined, at: number): ListedDefinition {
  const definition = define();
  return { tool, digest: digestOf(definition), definition, at };
}

function digestOf(definition: string): string {
  return createHash('sha256').update(definition).digest('base64url');
}

function factsOf(place: PinPlace, { digest, definition }: SeenDefinition) {
  const findings = scanDefinition(definition);
  const kinds = [...new Set(findings.map(({ kind }) => kind))].join(', ');
  const { server, kind, name } = pinnedThing(place);
  const whose = place.account !== '' && { account: place.account };
  return {
    server,
    ...whose,
    [kind]: name,
    digest,
    findings: findings.length,
    ...(kinds !== '' && { kinds }),
  };
}

// The server chooses the name, and an operator may paste the line into a shell.
function nameFor(place: PinTool): string {
  const { server, name } = pinnedThing(place);
  return /^[\w.-]+$/.test(name) ? `${server}.${name}` : server;
}

function keyOf(place: PinPlace): string {
  return `${listerKey(place)}\n${place.tool}`;
}

function listerKey({ server, account }: PinLister): string {
  return `${server}\n${account}`;
}
