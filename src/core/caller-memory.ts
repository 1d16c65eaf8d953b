import type { Caller } from './caller.ts';

// What a call asks for comes first, so that it lies together.
const topics = ['view', 'rights', 'account', 'row'] as const;

/** What there is to remember about a caller. */
export type Topic = (typeof topics)[number];

/** For every topic who remembers something, and what. */
type Page = unknown[];

const pages = new WeakMap<Caller, Page>();
// The steps of one call ask about one caller, one after the other.
let last: { readonly caller: Caller; readonly page: Page } | undefined;

/**
 * Remembers something about callers for as long as they are known. What is remembered about one caller lies in one place, since with many
 * callers each further map is a look into cold memory; so of every topic it has one value: one that another memory keeps replaces it.
 */
export class CallerMemory<T> {
  readonly #place: number;

  constructor(topic: Topic) {
    this.#place = topics.indexOf(topic) * 2;
  }

  /** What is remembered about a caller. */
  get(caller: Caller): T | undefined {
    const page = pageOf(caller);
    return page?.[this.#place] === this ? (page[this.#place + 1] as T) : undefined;
  }

  /** Remembers something about a caller. */
  set(caller: Caller, value: T): void {
    let page = pageOf(caller);
    if (!page) pages.set(caller, (page = Array.from({ length: topics.length * 2 })));
    page[this.#place] = this;
    page[this.#place + 1] = value;
  }
}

function pageOf(caller: Caller): Page | undefined {
  if (last?.caller === caller) return last.page;
  const page = pages.get(caller);
  if (page) last = { caller, page };
  return page;
}
