import { andThen, type Awaitable } from '../../base/awaitable.ts';
import type { Defined } from './defined.ts';
import type { PinBook, PinRule, Verdict } from './pin-book.ts';

/** How the definitions of a server are dealt with; `undefined` where nothing is held. */
export type RuleOf = (defined: Defined) => PinRule | undefined;

interface Known {
  /** When the verdict was reached, in changes of pins. */
  readonly epoch: number;
  readonly verdict: Verdict;
}

/** Lets through the pinned entries of one kind. */
export class Admission<T extends object> {
  readonly #book: PinBook;
  readonly #ruleOf: RuleOf;
  readonly #definedOf: (item: T) => Defined | undefined;
  readonly #verdicts = new WeakMap<T, Known>();
  readonly #lists = new WeakMap<readonly T[], { readonly epoch: number; readonly shown: readonly T[] }>();

  constructor(book: PinBook, ruleOf: RuleOf, definedOf: (item: T) => Defined | undefined) {
    this.#book = book;
    this.#ruleOf = ruleOf;
    this.#definedOf = definedOf;
  }

  /** The entries of a list that may be used: the same array for the same list until pins change. */
  admit(all: readonly T[]): Awaitable<readonly T[]> {
    const known = this.#lists.get(all);
    if (known?.epoch === this.#book.epoch) return known.shown;
    const fresh = all.filter((item) => this.#isNew(item));
    return fresh.length > 0 ? this.#introduce(fresh).then(() => this.#judgeAll(all)) : this.#judgeAll(all);
  }

  /** One thing, if it may be used; `listed` is asked for where the first listing of its server is yet to be pinned. */
  admitOne(item: T, listed: () => Awaitable<readonly T[]>): Awaitable<T | undefined> {
    const known = this.#verdicts.get(item);
    if (known?.epoch === this.#book.epoch) return known.verdict === 'admitted' ? item : undefined;
    const judged = (): Awaitable<T | undefined> =>
      andThen(this.#judge(item), (verdict) => (verdict === 'admitted' ? item : undefined));
    // The first lookup pins the whole listing, so that later entries count as new.
    return this.#isNew(item)
      ? andThen(
          andThen(listed(), (all) => this.admit(all)),
          judged,
        )
      : judged();
  }

  #isNew(item: T): boolean {
    const defined = this.#definedOf(item);
    if (!defined || this.#book.isKnown(defined.place)) return false;
    return this.#ruleOf(defined)?.mode === 'first-use';
  }

  #judge(item: T): Awaitable<Verdict> {
    const last = this.#verdicts.get(item);
    const { epoch } = this.#book;
    if (last?.epoch === epoch) return last.verdict;
    const defined = this.#definedOf(item);
    const rule = defined && this.#ruleOf(defined);
    if (!rule) {
      this.#verdicts.set(item, { epoch, verdict: 'admitted' });
      return 'admitted';
    }
    return andThen(this.#book.judge(defined, rule), (verdict) => {
      if (verdict !== 'unknown') this.#verdicts.set(item, { epoch, verdict });
      return verdict;
    });
  }

  #judgeAll(all: readonly T[]): Awaitable<readonly T[]> {
    const { epoch } = this.#book;
    return andThen(whole(all.map((item) => this.#judge(item))), (verdicts) => {
      const isWhole = verdicts.every((verdict) => verdict === 'admitted');
      const shown = isWhole ? all : Object.freeze(all.filter((_item, at) => verdicts[at] === 'admitted'));
      if (!verdicts.includes('unknown')) this.#lists.set(all, { epoch, shown });
      return shown;
    });
  }

  async #introduce(items: readonly T[]): Promise<void> {
    const defined = items.map((item) => this.#definedOf(item)!);
    // A list is that of one caller, so all that a server lists is of one account.
    const listers = new Map(defined.map(({ place }) => [place.server, place]));
    const of = (server: string): readonly Defined[] => defined.filter(({ place }) => place.server === server);
    await Promise.all(
      Array.from(listers, ([server, { account }]) => this.#book.introduce({ server, account }, of(server))),
    );
  }
}

function whole(verdicts: readonly Awaitable<Verdict>[]): Awaitable<readonly Verdict[]> {
  return verdicts.some((verdict) => verdict instanceof Promise)
    ? Promise.all(verdicts.map(async (verdict) => verdict))
    : (verdicts as readonly Verdict[]);
}
