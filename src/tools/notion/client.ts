import type { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import { upstreamFailure } from '../../core/authoring/upstream-failure.ts';
import type { Fetch } from '../../net/outbound.ts';
import { notionOptions } from './options.ts';
import { originFetch } from '../origin-fetch.ts';
import { withoutEnd } from '../without-end.ts';

/** What a client is made with; the default `fetch` reaches only the API's own origin. */
export type NotionSettings = z.input<typeof notionOptions> & { readonly fetch?: Fetch };

/** A page or a database, as the API returns it. */
export type NotionPage = Readonly<Record<string, unknown>> & { readonly id: string };

/** A failure of the API, in words for a model; nothing the API said is repeated. */
export class NotionError extends Error {
  override readonly name = 'NotionError';
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** A client of the Notion API. */
export class NotionClient {
  readonly #token: string;
  readonly #baseUrl: string;
  readonly #version: string;
  readonly #fetch: Fetch;

  constructor({ fetch, ...options }: NotionSettings) {
    const { token, baseUrl, version } = notionOptions.parse(options, { jitless: true });
    this.#token = token;
    this.#baseUrl = withoutEnd(baseUrl, '/');
    this.#version = version;
    this.#fetch = fetch ?? originFetch(baseUrl, 'api.notion.com');
  }

  /** Finds pages by words in their titles, up to the limit. */
  async searchPages(query: string, limit: number, signal?: AbortSignal): Promise<readonly NotionPage[]> {
    const found: NotionPage[] = [];
    let cursor: string | undefined;
    // Bounded, in case the API always reports more and returns nothing.
    for (let round = 0; round < MAX_ROUNDS && found.length < limit; round++) {
      const body = {
        query,
        page_size: limit - found.length,
        filter: { property: 'object', value: 'page' },
        ...(cursor !== undefined && { start_cursor: cursor }),
      };
      const { results, next_cursor: next } = await this.#send('POST', '/search', { body, signal });
      if (!Array.isArray(results)) throw unreadable();
      found.push(...results.filter(isPage));
      if (typeof next !== 'string') break;
      cursor = next;
    }
    return found.slice(0, limit);
  }

  /** Reads the properties of a page, not its content. */
  async getPage(id: string, signal?: AbortSignal): Promise<NotionPage> {
    return toPage(await this.#send('GET', pathOf(id), { signal }));
  }

  /** Reads the text on a page, block by block; `isWhole` says whether there was no more of it. */
  async getText(id: string, signal?: AbortSignal): Promise<PageText> {
    const lines: string[] = [];
    let cursor: string | undefined;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const rest = cursor === undefined ? '' : `&start_cursor=${encodeURIComponent(cursor)}`;
      const path = `${pathOf(id).replace('/pages/', '/blocks/')}/children?page_size=100${rest}`;
      const { results, next_cursor: next } = await this.#send('GET', path, { signal });
      if (!Array.isArray(results)) throw unreadable();
      lines.push(...results.flatMap(lineOf));
      if (typeof next !== 'string') return { text: lines.join('\n'), isWhole: true };
      cursor = next;
    }
    return { text: lines.join('\n'), isWhole: false };
  }

  /** Moves a page to the trash; the API cannot delete it for good. */
  async trashPage(id: string, signal?: AbortSignal): Promise<NotionPage> {
    return toPage(await this.#send('PATCH', pathOf(id), { body: { in_trash: true }, signal }));
  }

  async #send(
    method: string,
    path: string,
    { body, signal }: { readonly body?: unknown; readonly signal: AbortSignal | undefined },
  ): Promise<Readonly<Record<string, unknown>>> {
    const headers = {
      authorization: `Bearer ${this.#token}`,
      'notion-version': this.#version,
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    try {
      const response = await this.#fetch(`${this.#baseUrl}${path}`, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
      return await readAnswer(response);
    } catch (error) {
      // A cancelled call is reported as cancelled, not as Notion being unreachable.
      signal?.throwIfAborted();
      if (error instanceof NotionError) throw error;
      throw new NotionError('unreachable', 'Notion could not be reached. Try again later.', error);
    }
  }
}

const MAX_ROUNDS = 20;

/** The text on a page. */
export interface PageText {
  readonly text: string;
  readonly isWhole: boolean;
}

const MARKS: Readonly<Record<string, string>> = {
  heading_1: '# ',
  heading_2: '## ',
  heading_3: '### ',
  bulleted_list_item: '- ',
  numbered_list_item: '1. ',
  quote: '> ',
};

// A block has its text under the name of its type; blocks without text, such as pictures, are left out.
function lineOf(block: unknown): readonly string[] {
  if (!isObject(block) || typeof block['type'] !== 'string') return [];
  const content = block[block['type']];
  const parts = isObject(content) && Array.isArray(content['rich_text']) ? content['rich_text'] : [];
  const texts = parts.map((part: unknown) => (isObject(part) ? part['plain_text'] : undefined));
  const text = texts.filter((one) => typeof one === 'string').join('');
  return text === '' ? [] : [`${MARKS[block['type']] ?? ''}${text}`];
}

// Any other id could lead to another endpoint of the API.
function pathOf(id: string): string {
  if (!pageIdPattern.test(id)) throw new NotionError('invalid_id', invalidPageId);
  return `/pages/${id}`;
}

/** The form of a page id. */
export const pageIdPattern = /^[A-Za-z0-9-]{1,64}$/;

/** The message for any other id. */
export const invalidPageId = 'Page id must be letters, digits and dashes, as search_pages returns it';

async function readAnswer(response: Response): Promise<Readonly<Record<string, unknown>>> {
  if (!response.ok) {
    await response.body?.cancel();
    throw failureOf(response);
  }
  const text = await response.text();
  try {
    const answer: unknown = parseJson(text);
    if (isObject(answer)) return answer;
  } catch {
    // Reported below, with every other invalid response.
  }
  throw unreadable();
}

const TOLD: Readonly<Record<number, readonly [code: string, message: string]>> = {
  400: ['validation_error', 'Notion could not use the arguments. Check the page id and the query.'],
  401: [
    'unauthorized',
    'Notion does not accept the token of this server. Only its operator can change that.',
  ],
  403: ['restricted_resource', 'The Notion integration of this server may not do this.'],
  404: [
    'object_not_found',
    'There is no such page, or it is not shared with the Notion integration of this server. Find pages with search_pages.',
  ],
  409: ['conflict_error', 'Somebody changed the page at the same time. Try again.'],
};

function failureOf(response: Response): NotionError {
  const passing = upstreamFailure(response);
  if (passing) {
    const code = passing.code === 429 ? 'rate_limited' : 'service_unavailable';
    return new NotionError(code, `${passing.error}. ${passing.message}`);
  }
  const [code, message] = TOLD[response.status] ?? ['failed', 'Notion did not do this. Try another way.'];
  return new NotionError(code, message);
}

function unreadable(): NotionError {
  return new NotionError('unreadable', 'Notion answered something that cannot be read. Try again later.');
}

function isPage(value: unknown): value is NotionPage {
  return isObject(value) && typeof value['id'] === 'string';
}

function toPage(answer: unknown): NotionPage {
  if (!isPage(answer)) throw unreadable();
  return answer;
}
