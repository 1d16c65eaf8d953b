import { ToolcribError } from '../base/errors.ts';
import { linearPattern } from '../base/linear-pattern.ts';
import { secretSpellings } from '../base/secret-spellings.ts';
import { JsonLook } from './json-look.ts';
import { LiteralFinder } from './literal-finder.ts';
import { secretFormats, secretHint } from './secret-formats.ts';
import { changeWrappedBase64 } from './wrapped-base64.ts';

const MIN_LENGTH = 8;
const LIVE = '[redacted:secret]';
const NUMBER = /^\d+(?:\.\d+)?$/;

/** Removes secrets from a text. */
export type Redact = (text: string) => string;

/** The secrets this process knows and the formats it recognises; the one place where text is redacted. */
export class Secrets {
  readonly #owners = new Map<string, number>();
  readonly #redactPatterns: Redact | undefined;
  #finder: LiteralFinder | undefined;
  #look: JsonLook | undefined;
  /** Whether a known secret may appear as a number. */
  hasNumbers = false;

  /** Further patterns by name, matched in linear time. */
  constructor(patterns: Readonly<Record<string, string>> = {}) {
    this.#redactPatterns = redactPatterns(patterns);
  }

  /**
   * Adds a secret, in all usual spellings; the returned function removes it. Secrets under 8 characters are too
   * common to look for.
   */
  add(secret: string): () => void {
    if (secret.length < MIN_LENGTH) return () => {};
    this.#change(secret, 1);
    let isKnown = true;
    return () => {
      if (isKnown) this.#change(secret, -1);
      isKnown = false;
    };
  }

  /** The text with every secret replaced by `[redacted:<id>]`. */
  redact(text: string): string {
    let safe = text;
    if (this.#owners.size > 0 && text.length >= MIN_LENGTH)
      safe = changeWrappedBase64(this.#redactLive(safe), this.#redactLive);
    if (safe.length >= SHORTEST_HIT && secretHint.test(safe)) safe = redactFormats(safe);
    return this.#redactPatterns ? this.#redactPatterns(safe) : safe;
  }

  /**
   * Whether redacting the strings and keys of a JSON text, or removing what is invisible, may change one of them. A
   * yes may be wrong, a no is not.
   */
  mayBeIn(json: Uint8Array, start: number, end: number): boolean {
    if (this.#redactPatterns || this.hasNumbers) return true;
    this.#look ??= new JsonLook([...this.#spellings(), ...HINTS]);
    return this.#look.finds(json, start, end);
  }

  get #literals(): LiteralFinder {
    return (this.#finder ??= new LiteralFinder(this.#spellings()));
  }

  /** The number, or redacted text if its digits hold a known secret. */
  redactNumber(value: number): number | string {
    if (!this.hasNumbers) return value;
    const text = String(value);
    const safe = this.#redactLive(text);
    return safe === text ? value : safe;
  }

  #change(secret: string, owners: 1 | -1): void {
    const count = (this.#owners.get(secret) ?? 0) + owners;
    if (count > 0) this.#owners.set(secret, count);
    else this.#owners.delete(secret);
    this.#finder = undefined;
    this.#look = undefined;
    if (NUMBER.test(secret)) this.hasNumbers = [...this.#owners.keys()].some((known) => NUMBER.test(known));
  }

  // A short spelling of a long secret, such as a number without leading zeros, is as common as a short secret.
  #spellings(): string[] {
    return [...this.#owners.keys()].flatMap(secretSpellings).filter(({ length }) => length >= MIN_LENGTH);
  }

  readonly #redactLive = (text: string): string => {
    const finder = this.#literals;
    let at = finder.find(text);
    if (at < 0) return text;
    let safe = '';
    let done = 0;
    for (; at >= 0; at = finder.find(text, done)) {
      safe += text.slice(done, at) + LIVE;
      done = at + finder.wordAt(text, at)!.length;
    }
    return safe + text.slice(done);
  };
}

/** Makes a function that replaces the matches of named patterns; `undefined` if there are none. */
export function redactPatterns(patterns: Readonly<Record<string, string>>): Redact | undefined {
  const compiled = Object.entries(patterns).map(([name, source]) => {
    const mark = `[redacted:${name}]`;
    // A pattern may match the empty string, where there is nothing to replace.
    return { pattern: compile(name, source), replace: (match: string) => (match === '' ? '' : mark) };
  });
  if (compiled.length === 0) return undefined;
  return (text) => {
    let safe = text;
    for (const { pattern, replace } of compiled)
      if (pattern.test(safe)) safe = pattern.matcher(safe).replaceAll(replace);
    return safe;
  };
}

// The shortest match: the password in r://:p@h.
const SHORTEST_HIT = 8;

function redactFormats(text: string): string {
  let safe = text;
  for (const { id, hints, pattern } of secretFormats)
    if (hints.some((hint) => safe.includes(hint))) safe = safe.replaceAll(pattern, `[redacted:${id}]`);
  return safe;
}

const HINTS = secretFormats.flatMap(({ hints }) => hints);

function compile(name: string, source: string): ReturnType<typeof linearPattern> {
  try {
    return linearPattern(source);
  } catch (cause) {
    throw new ToolcribError(
      'invalid_config',
      `The pattern "${name}" cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
}
