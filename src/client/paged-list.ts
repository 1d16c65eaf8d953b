import { ToolcribError } from '../base/errors.ts';
import {
  longIntegersAt,
  noteLongIntegers,
  notedLongIntegers,
  type LongIntegers,
} from '../base/exact-json.ts';
import { isObject } from '../base/json.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';

/** How the pages of a list are fetched, and how long they are good for. */
export interface PagedListParts<T> {
  /** The member of a page that holds the items. */
  readonly member: string;
  readonly maxPages: number;
  /** The longest all pages together may be. */
  readonly maxBytes: number;
  readonly now: () => number;
  fetchPage(cursor: string | undefined): Promise<Page>;
  read(items: readonly unknown[]): readonly T[];
  /** Whether changes are announced, so that the fetched list stays valid until then. */
  readonly isWatched: () => boolean;
}

/** One page, whose long integers are noted of it, and how long its message was. */
export interface Page {
  readonly result: JsonObject;
  readonly bytes: number;
}

const LONGEST_TTL_MS = 86_400_000;

/** A list of a server, over all its pages, kept as long as the server says. */
export class PagedList<T> {
  readonly #parts: PagedListParts<T>;
  #items: readonly T[] | undefined;
  #goodUntil = -Infinity;
  #loading: Promise<readonly T[]> | undefined;
  #version = 0;

  constructor(parts: PagedListParts<T>) {
    this.#parts = parts;
  }

  /** What was fetched last, however long ago. */
  get latest(): readonly T[] | undefined {
    return this.#items;
  }

  /** The list, fetched again if it is no longer valid. */
  get(): Promise<readonly T[]> {
    if (this.#items && this.#parts.now() < this.#goodUntil) return Promise.resolve(this.#items);
    return this.load();
  }

  /** Fetches the list; requests meanwhile get the same one. */
  load(): Promise<readonly T[]> {
    return (this.#loading ??= this.#fetch().finally(() => (this.#loading = undefined)));
  }

  /** What is there is no longer good. */
  invalidate(): void {
    this.#version++;
    this.#goodUntil = -Infinity;
    this.#loading = undefined;
  }

  async #fetch(): Promise<readonly T[]> {
    const version = this.#version;
    const asked = this.#parts.now();
    const items: unknown[] = [];
    const seen = new Set<string>();
    let ttlMs = LONGEST_TTL_MS;
    let cursor: string | undefined;
    let left = this.#parts.maxBytes;
    do {
      const { result: page, bytes } = await this.#parts.fetchPage(cursor);
      if ((left -= bytes) < 0)
        throw new ToolcribError(
          'invalid_answer',
          `The server sends a list of over ${this.#parts.maxBytes} bytes.`,
        );
      const found = page[this.#parts.member];
      if (!Array.isArray(found))
        throw new ToolcribError('invalid_answer', `The server sent a list without "${this.#parts.member}".`);
      noteItems(found, longIntegersAt(notedLongIntegers(page), this.#parts.member));
      items.push(...(found as unknown[]));
      ttlMs = Math.min(ttlMs, this.#ttlOf(page));
      cursor = nextOf(page, seen, this.#parts.maxPages);
    } while (cursor !== undefined);
    const read = Object.freeze(this.#parts.read(items));
    if (version !== this.#version) return read;
    this.#items = read;
    this.#goodUntil = asked + ttlMs;
    return read;
  }

  #ttlOf({ ttlMs }: JsonObject): number {
    if (typeof ttlMs === 'number' && ttlMs >= 0) return this.#parts.isWatched() ? LONGEST_TTL_MS : ttlMs;
    return this.#parts.isWatched() ? LONGEST_TTL_MS : 0;
  }
}

function noteItems(items: readonly unknown[], longs: LongIntegers | undefined): void {
  if (!longs) return;
  for (const [index, item] of items.entries())
    if (isObject(item)) noteLongIntegers(item, longIntegersAt(longs, index));
}

function nextOf({ nextCursor }: JsonObject, seen: Set<string>, maxPages: number): string | undefined {
  if (typeof nextCursor !== 'string') return undefined;
  if (seen.has(nextCursor) || seen.size + 1 >= maxPages)
    throw new ToolcribError(
      'invalid_answer',
      `The server sends a list without end, or of over ${maxPages} pages.`,
    );
  seen.add(nextCursor);
  return nextCursor;
}
