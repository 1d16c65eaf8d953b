/**
 * Parses JSON text. Use it instead of `JSON.parse` for all text from outside or from storage: some versions of
 * Node read a key that is written with an escape as another key with the same beginning, if an object with that
 * other key exists.
 */
export function parseJson(text: string): unknown {
  return MISREADS_KEYS && hasEscapedKey(text) ? readJson(text) : (JSON.parse(text) as unknown);
}

/** The same for text that is known to have a key with an escape. */
export function parseEscapedKeys(text: string): unknown {
  return MISREADS_KEYS ? readJson(text) : (JSON.parse(text) as unknown);
}

/**
 * Reads JSON text without the engine's reading of keys; throws for the same texts as `JSON.parse`.
 * `exact` gives integers that a number cannot hold as `bigint`.
 */
export function readJson(text: string, integers?: 'exact'): unknown {
  return new Reader(text, integers === 'exact').read();
}

/** Whether a key of this text is written with an escape. */
export function hasEscapedKey(text: string): boolean {
  let backslash = text.indexOf('\\');
  let quote = backslash < 0 ? -1 : text.indexOf('"');
  while (quote >= 0) {
    const end = endOfString(text, quote);
    if (backslash < end) {
      if (text.charCodeAt(skipSpace(text, end + 1)) === COLON) return true;
      backslash = text.indexOf('\\', end + 1);
      if (backslash < 0) return false;
    }
    quote = text.indexOf('"', end + 1);
  }
  return false;
}

const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

// Uses a key that occurs nowhere else, because the first text is what makes the engine misread the second.
const MISREADS_KEYS = ((): boolean => {
  const [, read] = ['{"toolcrib asks":1,"\\\\":1}', '{"toolcrib asks":1,"\\u0041":1}'].map(
    (text) => JSON.parse(text) as object,
  );
  return !Object.hasOwn(read!, 'A');
})();

/** Builds objects and arrays itself; the engine reads strings and numbers correctly. */
class Reader {
  readonly #text: string;
  readonly #isExact: boolean;
  #at = 0;
  // The open containers, and for each open object the key whose value is being read.
  readonly #open: (unknown[] | Record<string, unknown>)[] = [];
  readonly #keys: string[] = [];

  constructor(text: string, isExact: boolean) {
    this.#text = text;
    this.#isExact = isExact;
  }

  read(): unknown {
    for (;;) {
      let value = this.#begin();
      while (value !== UNFINISHED) {
        const holder = this.#open.at(-1);
        if (holder === undefined) return this.#end(value);
        this.#put(holder, value);
        value = this.#goOn(holder);
      }
    }
  }

  // Reads a scalar or an empty container; returns nothing yet if a container was opened.
  #begin(): unknown {
    const first = this.#next();
    if (first === QUOTE) return this.#string();
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return this.#bare();
    this.#at++;
    const container = first === OPEN_BRACE ? {} : [];
    if (this.#next() === closingOf(container)) {
      this.#at++;
      return container;
    }
    this.#open.push(container);
    if (first === OPEN_BRACE) this.#key();
    return UNFINISHED;
  }

  // After a member: reads another one, or closes its container.
  #goOn(holder: unknown[] | Record<string, unknown>): unknown {
    const next = this.#next();
    this.#at++;
    if (next === closingOf(holder)) return this.#open.pop();
    if (next !== COMMA) fail();
    if (!Array.isArray(holder)) this.#key();
    return UNFINISHED;
  }

  #put(holder: unknown[] | Record<string, unknown>, value: unknown): void {
    if (Array.isArray(holder)) {
      holder.push(value);
      return;
    }
    const key = this.#keys.pop()!;
    // Assigning to `__proto__` would set the prototype.
    if (key === '__proto__')
      Object.defineProperty(holder, key, { value, enumerable: true, writable: true, configurable: true });
    else holder[key] = value;
  }

  #end(value: unknown): unknown {
    if (skipSpace(this.#text, this.#at) < this.#text.length) fail();
    return value;
  }

  #key(): void {
    if (this.#next() !== QUOTE) fail();
    this.#keys.push(this.#string());
    if (this.#next() !== COLON) fail();
    this.#at++;
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at;
    let at = start + 1;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE || code === BACKSLASH || code < 0x20) break;
    }
    if (text.charCodeAt(at) === QUOTE) {
      this.#at = at + 1;
      return text.slice(start + 1, at);
    }
    this.#at = endOfString(text, start) + 1;
    return JSON.parse(text.slice(start, this.#at)) as string;
  }

  // Numbers, true, false and null; anything else is refused.
  #bare(): unknown {
    const text = this.#text;
    const start = this.#at;
    let at = start;
    let whole = 0;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code)) break;
      whole = whole * 10 + code - 0x30;
      if (code < 0x30 || code > 0x39) whole = Number.NaN;
    }
    this.#at = at;
    const isPlain = at > start && at - start <= MAX_PLAIN_DIGITS && whole >= 10 ** (at - start - 1);
    if (isPlain) return whole;
    const value = JSON.parse(text.slice(start, at)) as unknown;
    return this.#isExact && isRounded(value, text.slice(start, at)) ? BigInt(text.slice(start, at)) : value;
  }

  #next(): number {
    this.#at = skipSpace(this.#text, this.#at);
    return this.#text.charCodeAt(this.#at);
  }
}

// An integer beyond what a number holds exactly.
function isRounded(value: unknown, text: string): boolean {
  return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(text);
}

const UNFINISHED = Symbol('unfinished');
// Integers of up to this many digits are exact.
const MAX_PLAIN_DIGITS = 15;

function fail(): never {
  throw new SyntaxError('This is not JSON.');
}

function closingOf(container: unknown[] | Record<string, unknown>): number {
  return Array.isArray(container) ? CLOSE_BRACKET : CLOSE_BRACE;
}

// The closing quote of the string that starts here, or the end of the text.
function endOfString(text: string, start: number): number {
  let end = start;
  do {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
  } while (isEscaped(text, end));
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === BACKSLASH) before--;
  return (at - before) % 2 === 1;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  for (let code = text.charCodeAt(at); code <= 0x20 && isSpace(code); code = text.charCodeAt(at)) at++;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
