import { types } from 'node:util';
import { ToolcribError } from '../../base/errors.ts';
import { noteLongIntegers, notedLongIntegers } from '../../base/exact-json.ts';
import { cleanText, isPlainText } from '../../observe/clean-text.ts';
import type { Redact, Secrets } from '../../observe/secrets.ts';
import { isMedia, typeOfMedia } from './media-type.ts';

// Deeper data cannot be written as JSON anyway.
const MAX_DEPTH = 512;
// Bytes that JSON adds around values.
const BRACKETS = 2;
const QUOTES = 2;
const AROUND_KEY = 4;
const NOTHING = 4;
// The fewest bytes an array element takes, and a numbered entry, with the comma.
const LEAST_ENTRY = 2;
const LEAST_NUMBERED = 6;
// Shorter than any secret that is looked for.
const MAX_KNOWN_KEY = 8;
const MAX_KNOWN_KEYS = 1_000;
const ADDRESSES: ReadonlySet<string> = new Set(['uri', 'url']);

/** How a cleaner treats text. */
export interface CleanerOptions {
  readonly maxBytes: number;
  readonly redact: Redact | undefined;
  /** Used for numbers; text uses `redact`. */
  readonly secrets?: Secrets | undefined;
  readonly escapeHtml: boolean;
}

/**
 * Cleans text and data of any shape and counts about how many bytes of JSON they make; clean values are returned
 * unchanged.
 */
export class Cleaner {
  readonly #maxBytes: number;
  readonly #redact: Redact | undefined;
  readonly #secrets: Secrets | undefined;
  readonly #escapeHtml: boolean;
  readonly #path: object[] = [];
  readonly #knownKeys = new Set<string>();
  #hasBlocks = false;
  /** The UTF-8 size of everything cleaned since this was set to 0, data as JSON. */
  bytes = 0;

  constructor({ maxBytes, redact, secrets, escapeHtml }: CleanerOptions) {
    this.#maxBytes = maxBytes;
    this.#redact = redact;
    this.#secrets = secrets;
    this.#escapeHtml = escapeHtml;
  }

  /** Cleans text for a reader. */
  text(text: string): string {
    return this.#clean(text, this.#escapeHtml);
  }

  /** Cleans a field name or a URL, which is never escaped. */
  name(text: string): string {
    return this.#clean(text, false);
  }

  /** Cleans JSON data with its keys; throws if it is not JSON. */
  data<T>(value: T): T {
    return this.#start(value, false);
  }

  /** Cleans data that may hold content blocks or resources, whose base64 is not text. */
  blocks<T>(value: T): T {
    return this.#start(value, true);
  }

  /** Cleans data that came from elsewhere, with the digits that its numbers have lost. */
  noted<T extends object>(value: T): T {
    const clean = this.data(value);
    const longs = notedLongIntegers(value);
    if (!longs) return clean;
    const digits = this.data(longs);
    if (clean === value && digits === longs) return value;
    const copy = clean === value ? { ...value } : clean;
    noteLongIntegers(copy, digits);
    return copy;
  }

  /** Throws if the counted size is over the limit. */
  checkSize(): void {
    if (this.bytes > this.#maxBytes) throw tooLarge(this.#maxBytes);
  }

  #start<T>(value: T, hasBlocks: boolean): T {
    this.#path.length = 0;
    this.#hasBlocks = hasBlocks;
    const clean = this.#value(value, '') as T;
    this.checkSize();
    return clean;
  }

  // Checked before long work starts.
  #requireRoom(entries: number, least: number): void {
    if (this.bytes + entries * least > this.#maxBytes) throw tooLarge(this.#maxBytes);
  }

  #clean(text: string, isEscaped: boolean): string {
    const isPlain = isPlainText(text);
    let clean = isPlain ? text : this.#freed(text);
    if (this.#redact) clean = this.#redact(clean);
    if (isEscaped) clean = escapeMarkup(clean);
    this.bytes += isPlain ? clean.length : Buffer.byteLength(clean);
    return clean;
  }

  // Removing invisible characters may cut into a secret, so that the rest is not recognised: secrets are also redacted
  // before.
  #freed(text: string): string {
    const clean = cleanText(text);
    if (clean === text || !this.#redact) return clean;
    const safe = this.#redact(text);
    return safe === text ? clean : cleanText(safe);
  }

  // Rows repeat their keys. A short key holds no secret, so a clean one stays clean.
  #key(key: string): string {
    this.bytes += AROUND_KEY;
    if (this.#knownKeys.has(key)) {
      this.bytes += key.length;
      return key;
    }
    const clean = this.name(key);
    if (key.length < MAX_KNOWN_KEY && clean === key && isPlainText(key)) {
      if (this.#knownKeys.size >= MAX_KNOWN_KEYS) this.#knownKeys.clear();
      this.#knownKeys.add(key);
    }
    return clean;
  }

  #binary(text: string): string {
    this.bytes += text.length;
    this.checkSize();
    return cleanText(text);
  }

  #value(value: unknown, key: string): unknown {
    if (typeof value === 'string') {
      this.bytes += QUOTES;
      return ADDRESSES.has(key) ? this.name(value) : this.text(value);
    }
    if (typeof value === 'object' && value !== null) return this.#inside(value, key);
    if (typeof value === 'bigint') return this.#bigint(value, key);
    if (typeof value === 'number') return this.#number(value);
    this.bytes += value === false ? NOTHING + 1 : NOTHING;
    return value;
  }

  #number(value: number): unknown {
    this.bytes += numberSize(value);
    return this.#secrets?.hasNumbers ? this.#secrets.redactNumber(value) : value;
  }

  // JSON has no BigInt, unless the program defines its toJSON.
  #bigint(value: bigint, key: string): unknown {
    if (!('toJSON' in BigInt.prototype)) throw new TypeError('A BigInt is not JSON.');
    return this.#written(value as unknown as Writable, key);
  }

  #inside(value: object, key: string): unknown {
    // JSON writes a typed array as an object with one key per number.
    if (ArrayBuffer.isView(value) && 'length' in value && !('toJSON' in value))
      this.#requireRoom(value.length as number, LEAST_NUMBERED);
    const prototype: unknown = Object.getPrototypeOf(value);
    // Plain data first: testing for boxed strings and numbers is slower.
    if (prototype !== Object.prototype && prototype !== Array.prototype && !('toJSON' in value)) {
      if (types.isStringObject(value)) return this.#value(String(value), key);
      if (types.isNumberObject(value)) return this.#number(Number(value));
    }
    this.bytes += BRACKETS;
    this.checkSize();
    const path = this.#path;
    if (path.length >= MAX_DEPTH) {
      if (path.includes(value)) throw new TypeError('A circular value is not JSON.');
      throw tooLarge(this.#maxBytes);
    }
    path.push(value);
    const clean = Array.isArray(value)
      ? this.#list(value)
      : 'toJSON' in value && typeof value.toJSON === 'function'
        ? this.#written(value as Writable, key)
        : this.#object(value as Record<string, unknown>);
    path.pop();
    return clean;
  }

  // Values are taken in their JSON form, such as a date as text.
  #written(value: Writable, key: string): unknown {
    const written = value.toJSON(key);
    const clean = this.#value(written, key);
    return clean === written ? value : clean;
  }

  #list(list: readonly unknown[]): readonly unknown[] {
    this.#requireRoom(list.length, LEAST_ENTRY);
    this.bytes += list.length;
    let copy: unknown[] | undefined;
    for (let index = 0; index < list.length; index++) {
      const value = list[index];
      const clean = this.#value(value, '');
      if (Object.is(clean, value)) continue;
      copy ??= [...list];
      copy[index] = clean;
    }
    return copy ?? list;
  }

  #object(object: Readonly<Record<string, unknown>>): object {
    let copy: Record<string, unknown> | undefined;
    const keys = Object.keys(object);
    const binaryKey = this.#hasBlocks ? binaryKeyOf(object) : undefined;
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]!;
      const value = object[key];
      const cleanKey = this.#key(key);
      const clean =
        key === binaryKey && typeof value === 'string'
          ? this.#binary(value)
          : this.#value(key === 'mimeType' && binaryKey === 'data' ? typeOfMedia(object) : value, key);
      if (copy === undefined && cleanKey === key && Object.is(clean, value)) continue;
      copy ??= copyOf(object, keys.slice(0, index));
      // A cleaned key never replaces an existing one.
      if (cleanKey === key || !(Object.hasOwn(object, cleanKey) || Object.hasOwn(copy, cleanKey)))
        setOwn(copy, cleanKey, clean);
    }
    return copy ?? object;
  }
}

interface Writable {
  toJSON(key: string): unknown;
}

// The length of a number's text, mostly without creating the text.
function numberSize(number: number): number {
  if (Number.isInteger(number) && number >= 0 && number < 10_000)
    return number < 100 ? (number < 10 ? 1 : 2) : number < 1_000 ? 3 : 4;
  return Number.isFinite(number) ? String(number).length : NOTHING;
}

function binaryKeyOf(object: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof object['uri'] === 'string') return 'blob';
  return isMedia(object) ? 'data' : undefined;
}

/** The error for a result that cannot be made small enough. */
export function tooLarge(maxBytes: number): ToolcribError {
  return new ToolcribError(
    'result_too_large',
    `The result is larger than ${maxBytes} bytes, or nested too deeply; ask for less, such as fewer rows.`,
  );
}

const MARKUP = /[&<>"']/g;
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text so that HTML shows it literally. */
function escapeMarkup(text: string): string {
  return text.replaceAll(MARKUP, (letter) => ENTITIES[letter]!);
}

function copyOf(object: Readonly<Record<string, unknown>>, keys: readonly string[]): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const key of keys) setOwn(copy, key, object[key]);
  return copy;
}

function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  // Assigning to `__proto__` would change the prototype.
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
  else object[key] = value;
}
