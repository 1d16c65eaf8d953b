import { parseJson } from '../../base/parse-json.ts';
import { endOfText } from './json-with-comments.ts';

/** Where a member begins: its key, and its value. */
export interface JsonPlace {
  readonly key: number;
  readonly value: number;
}

/** Where everything in a JSON text begins, by path, and where it stops being JSON. */
export interface JsonPlaces {
  at(path: readonly PropertyKey[]): JsonPlace | undefined;
  readonly errorAt: number | undefined;
}

/** Finds the places of a JSON text; for complaints alone, since the built-in parser is faster and tells no places. */
export function placesInJson(text: string): JsonPlaces {
  const walk = new Walk(text);
  const errorAt = walk.all();
  return { at: (path) => walk.places.get(JSON.stringify(path)), errorAt };
}

const MAX_DEPTH = 100;
const SPACE = /[ \t\r\n]*/y;
const SIMPLE = /(?:true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;

class Walk {
  readonly places = new Map<string, JsonPlace>();
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  // The place of the first error, if there is one.
  all(): number | undefined {
    const isWhole = this.#value([], 0) && this.#next() === undefined;
    return isWhole ? undefined : this.#at;
  }

  #next(): string | undefined {
    this.#skip(SPACE);
    return this.#text[this.#at];
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found !== undefined;
  }

  #value(path: readonly PropertyKey[], key: number): boolean {
    const first = this.#next();
    this.places.set(JSON.stringify(path), { key, value: this.#at });
    if (path.length > MAX_DEPTH) return false;
    if (first === '{') return this.#items('}', () => this.#member(path));
    if (first === '[') {
      let index = 0;
      return this.#items(']', () => this.#value([...path, index++], this.#at));
    }
    return first === '"' ? this.#string() !== undefined : this.#skip(SIMPLE);
  }

  #items(close: string, item: () => boolean): boolean {
    this.#at++;
    if (this.#next() === close) return this.#pass();
    for (;;) {
      if (!item()) return false;
      const next = this.#next();
      if (next === close) return this.#pass();
      if (next !== ',') return false;
      this.#at++;
    }
  }

  #pass(): boolean {
    this.#at++;
    return true;
  }

  #member(path: readonly PropertyKey[]): boolean {
    if (this.#next() !== '"') return false;
    const key = this.#at;
    const name = this.#string();
    if (name === undefined || this.#next() !== ':') return false;
    this.#at++;
    return this.#value([...path, name], key);
  }

  #string(): string | undefined {
    const end = endOfText(this.#text, this.#at);
    try {
      const value = parseJson(this.#text.slice(this.#at, end)) as string;
      this.#at = end;
      return value;
    } catch {
      return undefined;
    }
  }
}
