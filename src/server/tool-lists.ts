import { ToolcribError } from '../core/errors.ts';
import type { Tool } from '../core/tool.ts';
import type { Implementation, Revision } from '../protocol/revision.ts';

/** How lists are cut and labelled. */
export interface ListOptions {
  readonly pageSize: number;
  readonly info: Implementation;
}

/** The encoded pages of tool lists, kept as long as the list itself: 1,000 tools are a quarter of a megabyte to encode. */
export class ToolLists {
  readonly #options: ListOptions;
  readonly #pages = new WeakMap<readonly Tool[], Map<string, Buffer>>();

  constructor(options: ListOptions) {
    this.#options = options;
  }

  /** The bytes of one page of a list, in one revision. */
  page(tools: readonly Tool[], revision: Revision, cursor: string | undefined): Buffer {
    const start = cursor === undefined ? 0 : readCursor(cursor, tools);
    const key = `${revision.version} ${start}`;
    let pages = this.#pages.get(tools);
    if (!pages) this.#pages.set(tools, (pages = new Map<string, Buffer>()));
    let page = pages.get(key);
    if (!page) pages.set(key, (page = this.#encode(tools, revision, start)));
    return page;
  }

  #encode(tools: readonly Tool[], revision: Revision, start: number): Buffer {
    const { pageSize, info } = this.#options;
    const shown = tools.slice(start, start + pageSize);
    const last = shown.at(-1);
    const hasMore = start + pageSize < tools.length;
    const page = {
      tools: shown.map((tool) => revision.encodeTool(tool)),
      nextCursor: hasMore && last ? Buffer.from(last.name).toString('base64url') : undefined,
    };
    return Buffer.from(JSON.stringify(revision.encodeToolPage(page, info)));
  }
}

// A cursor names the last tool of the page before, so that it stays good while other tools come and go.
function readCursor(cursor: string, tools: readonly Tool[]): number {
  const name = Buffer.from(cursor, 'base64url').toString();
  const before = tools.findIndex((tool) => tool.name === name);
  if (before < 0 || Buffer.from(name).toString('base64url') !== cursor) {
    throw new ToolcribError(
      'invalid_params',
      'This cursor is not one of ours, or its list has changed; list again without one.',
    );
  }
  return before + 1;
}
