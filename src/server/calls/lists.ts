import { ToolcribError } from '../../base/errors.ts';
import { writeExact } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import type { Implementation, Revision } from '../../protocol/revisions/revision.ts';

/** A kind of list: the member that holds it, what identifies an entry, and how an entry looks in a revision. */
export interface ListKind<T> {
  readonly member: string;
  readonly keyOf: (item: T) => string;
  readonly encode: (item: T, features: Revision['features']) => JsonObject;
  /** About how many bytes an entry takes, where entries can be large: then a page ends before it is too large. */
  readonly weigh?: (item: T) => number;
}

/** How lists are cut and labelled. */
export interface ListOptions {
  readonly pageSize: number;
  readonly info: Implementation;
}

/** The encoded pages of lists, kept as long as the list itself: 1,000 tools are a quarter of a megabyte to encode. */
export class Lists {
  readonly #options: ListOptions;
  readonly #pages = new WeakMap<readonly unknown[], Map<string, Buffer>>();

  constructor(options: ListOptions) {
    this.#options = options;
  }

  /** The bytes of one page of a list, in one revision. */
  page<T>(
    items: readonly T[],
    kind: ListKind<T>,
    { revision, cursor }: { revision: Revision; cursor: string | undefined },
  ): Buffer {
    const start = cursor === undefined ? 0 : startAfter(cursor, items, kind);
    // Only whole pages are kept: a cursor may name any entry, and keeping a page for each would fill the memory.
    if (start % this.#options.pageSize !== 0) return this.#encode(items, kind, { revision, start });
    const key = `${kind.member} ${revision.version} ${start}`;
    let pages = this.#pages.get(items);
    if (!pages) this.#pages.set(items, (pages = new Map<string, Buffer>()));
    let page = pages.get(key);
    if (!page) pages.set(key, (page = this.#encode(items, kind, { revision, start })));
    return page;
  }

  #encode<T>(
    items: readonly T[],
    kind: ListKind<T>,
    { revision, start }: { revision: Revision; start: number },
  ): Buffer {
    const end = this.#endOf(items, kind, start);
    const { info } = this.#options;
    const shown = items.slice(start, end);
    const last = shown.at(-1);
    const hasMore = end < items.length && last !== undefined;
    const body = {
      [kind.member]: shown.map((item) => kind.encode(item, revision.features)),
      nextCursor: hasMore ? Buffer.from(kind.keyOf(last)).toString('base64url') : undefined,
    };
    const page = revision.frame(body, info, 'cacheable');
    return Buffer.from(shown.some(hasLongIntegers) ? writeExact(page)! : JSON.stringify(page));
  }

  #endOf<T>(items: readonly T[], { weigh }: ListKind<T>, start: number): number {
    const last = Math.min(start + this.#options.pageSize, items.length);
    if (!weigh) return last;
    let room = MAX_PAGE_BYTES;
    for (let end = start; end < last; end++) {
      room -= weigh(items[end]!);
      // An entry is never split, so each page has at least one.
      if (room < 0 && end > start) return end;
    }
    return last;
  }
}

function hasLongIntegers(item: unknown): boolean {
  return isObject(item) && item['longIntegers'] !== undefined;
}

// Well below the largest message that clients take.
const MAX_PAGE_BYTES = 1_000_000;

// A cursor names the last entry of the page before: it stays valid while other entries come and go, and reveals nothing
// that the list does not.
function startAfter<T>(cursor: string, items: readonly T[], { keyOf }: ListKind<T>): number {
  const key = Buffer.from(cursor, 'base64url').toString();
  const before = items.findIndex((item) => keyOf(item) === key);
  if (before < 0 || Buffer.from(key).toString('base64url') !== cursor) {
    throw new ToolcribError(
      'invalid_params',
      'This cursor is not one of ours, or its list has changed; list again without one.',
    );
  }
  return before + 1;
}
