import { content, type ContentBlock } from '../../core/content.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import { upstreamFailure } from '../../core/authoring/upstream-failure.ts';
import type { OutboundResponse } from '../../net/outbound.ts';
import type { Conceal } from '../conceal-secrets.ts';
import { plainText } from './text.ts';
import { isJsonType } from './operation.ts';

/** A parsed response: the value if it was JSON, and what a model is shown. */
export interface ReadAnswer {
  /** Only set for JSON. */
  readonly value?: unknown;
  readonly content: readonly ContentBlock[];
}

/** The error for the model when the API refuses a call. */
export interface ApiRefusal {
  readonly error: string;
  readonly status: number;
  readonly message?: string;
  readonly retry_after_seconds?: number;
}

/** What reading a response needs. */
export interface AnswerParts {
  readonly maxBytes: number;
  /** Whether the call can be repeated without further effect. */
  readonly isRepeatable: boolean;
  /** Removes secrets from a text. */
  readonly conceal: Conceal;
}

/** Reads a successful response. */
export function readApiAnswer(response: OutboundResponse, parts: AnswerParts): ReadAnswer | ApiRefusal {
  const { status, body, isCut } = response;
  const mediaType = mediaTypeOf(response, parts);
  const kind = kindOf(mediaType, body);
  if (isCut && kind !== 'text') return tooLarge(status, parts);
  if (body.length === 0) return shown(`The API answered ${status} without content.`);
  if (PICTURES.has(mediaType)) return { content: [content.image(body, mediaType)] };
  if (kind === 'binary') {
    const what = mediaType === '' ? 'data' : mediaType;
    return shown(`The API answered with ${body.length} bytes of ${what}, which cannot be shown as text.`);
  }
  // A character that was cut in two is left out.
  const text = new TextDecoder().decode(body, { stream: isCut });
  const value = kind === 'json' ? readValue(text, parts) : undefined;
  if (value !== undefined) return { value, ...shown(JSON.stringify(value)) };
  const end = isCut ? `\n[Cut here: the answer is longer than ${parts.maxBytes} bytes.]` : '';
  return shown(`${parts.conceal(text, { isCut })}${end}`);
}

/** Reads a refusal; temporary failures are thrown, so that stages can retry and count them. */
export function readRefusal(response: OutboundResponse, parts: AnswerParts): ApiRefusal {
  const { status } = response;
  const headers = { get: (name: string) => response.headers[name] ?? null };
  const later = upstreamFailure({ status, headers });
  if (later && OUTAGES.has(status)) {
    const seconds = later.retry_after_seconds;
    const text = `The API is not available now (${status}). ${later.message}${doubt(parts)}`;
    const data = seconds === undefined ? {} : { data: { retryAfterMs: seconds * 1000 } };
    throw new ToolcribError('upstream_unavailable', text, data);
  }
  if (later && status === 429) {
    const { error, message, retry_after_seconds: seconds } = later;
    return { error, status, message, ...(seconds !== undefined && { retry_after_seconds: seconds }) };
  }
  const message = messageIn(response, parts);
  return { error: wordsFor(status), status, ...(message !== '' && { message }) };
}

/** What to say about a call whose outcome is unknown. */
export function doubt({ isRepeatable }: Pick<AnswerParts, 'isRepeatable'>): string {
  return isRepeatable ? '' : ' It may have been carried out all the same: look before you repeat it.';
}

const OUTAGES: ReadonlySet<number> = new Set([502, 503, 504]);
const PICTURES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const TEXTS =
  /^(?:text\/.*|application\/(?:[\w.+-]+\+)?(?:xml|yaml)|application\/(?:x-yaml|javascript|x-ndjson|x-www-form-urlencoded|graphql)|image\/svg\+xml)$/;
const MAX_MESSAGE = 500;
const MAX_DEPTH = 100;

function shown(text: string): { readonly content: readonly ContentBlock[] } {
  return { content: [content.text(text)] };
}

function mediaTypeOf({ headers }: OutboundResponse, { conceal }: AnswerParts): string {
  // Before lower-casing, which would hide a secret.
  const [whole] = conceal(headers['content-type'] ?? '').split(';');
  const type = whole!.trim().toLowerCase();
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) ? type : '';
}

function kindOf(mediaType: string, body: Uint8Array): 'json' | 'text' | 'binary' {
  if (isJsonType(mediaType)) return 'json';
  if (TEXTS.test(mediaType)) return 'text';
  if (mediaType !== '') return 'binary';
  return isText(body) ? 'text' : 'binary';
}

function isText(body: Uint8Array): boolean {
  try {
    return !new TextDecoder('utf-8', { fatal: true }).decode(body).includes('\0');
  } catch {
    return false;
  }
}

function readValue(text: string, { conceal }: AnswerParts): unknown {
  try {
    const value = parseJson(text);
    // One search over all texts is faster than one per text, and rarely finds anything.
    const texts: string[] = [];
    gatherTexts(value, texts, 0);
    const all = texts.join('\n');
    return conceal(all) === all ? value : concealIn(value, conceal);
  } catch {
    return undefined;
  }
}

// In the value and not in its JSON text, where a secret may be escaped several times.
function concealIn(value: unknown, conceal: Conceal): unknown {
  if (typeof value === 'string') return conceal(value);
  if (typeof value === 'number') return concealInNumber(value, conceal);
  if (Array.isArray(value)) return value.map((item) => concealIn(item, conceal));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [conceal(key), concealIn(item, conceal)]),
  );
}

function concealInNumber(value: number, conceal: Conceal): number | string {
  const text = String(value);
  const clean = conceal(text);
  return clean === text ? value : clean;
}

function gatherTexts(value: unknown, texts: string[], depth: number): void {
  if (depth > MAX_DEPTH) throw new RangeError('The answer is nested too deeply to be handled as data.');
  if (Array.isArray(value)) {
    for (const item of value) gatherTexts(item, texts, depth + 1);
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      texts.push(key);
      gatherTexts(item, texts, depth + 1);
    }
  } else texts.push(String(value));
}

function tooLarge(status: number, { maxBytes }: AnswerParts): ApiRefusal {
  return {
    error: 'The answer is too large',
    status,
    message: `It is longer than ${maxBytes} bytes; ask for less, for example for a smaller page.`,
  };
}

function wordsFor(status: number): string {
  switch (status) {
    case 400:
    case 422:
      return 'The API did not accept these arguments';
    case 401:
      return 'The API did not accept the credential of this server';
    case 403:
      return 'The API does not allow this';
    case 404:
    case 410:
      return 'The API has nothing there';
    case 409:
      return 'The API reports a conflict';
    default:
      if (status >= 500) return 'The API failed';
      return status >= 400 ? 'The API refused the call' : 'The API gave no usable answer';
  }
}

// Only a plain message: HTML pages and stack traces do not help a model.
function messageIn(response: OutboundResponse, parts: AnswerParts): string {
  const { body, isCut } = response;
  const mediaType = mediaTypeOf(response, parts);
  if (isCut || body.length > 65_536) return '';
  const text = new TextDecoder().decode(body);
  if (isJsonType(mediaType)) return plainText(findMessage(readValue(text, parts), 0), MAX_MESSAGE);
  if (mediaType !== 'text/plain' || text.length > MAX_MESSAGE) return '';
  return plainText(parts.conceal(text), MAX_MESSAGE);
}

const MESSAGE_KEYS = ['message', 'detail', 'error_description', 'title', 'error', 'errors', 'reason'];

function findMessage(value: unknown, depth: number): string {
  if (typeof value === 'string') return value;
  if (depth > 3) return '';
  if (Array.isArray(value)) {
    const parts = value.slice(0, 5).map((item) => findMessage(item, depth + 1));
    return parts.filter((part) => part !== '').join('; ');
  }
  if (!isObject(value)) return '';
  for (const key of MESSAGE_KEYS) {
    const found = Object.hasOwn(value, key) ? findMessage(value[key], depth + 1) : '';
    if (found !== '') return found;
  }
  return '';
}
