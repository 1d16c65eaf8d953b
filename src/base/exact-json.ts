import { readJson } from './parse-json.ts';

/**
 * Integers that a number cannot hold, as they were written, below the keys and indexes that lead to them. A tree,
 * because paths as text would repeat each key for every integer below it, which a message could make endlessly large.
 */
export interface LongIntegers {
  readonly [key: string]: string | LongIntegers;
}

/** The long integers of a JSON text; `undefined` where there are none. */
export function longIntegersOf(text: string): LongIntegers | undefined {
  const found = digitsIn(readJson(text, 'exact'));
  return typeof found === 'string' ? undefined : found;
}

/** The long integers below a place. */
export function longIntegersAt(
  longs: LongIntegers | undefined,
  ...place: readonly (string | number)[]
): LongIntegers | undefined {
  let found: string | LongIntegers | undefined = longs;
  for (const key of place) found = memberOf(found, key);
  return typeof found === 'string' ? undefined : found;
}

/** A copy of a value with its long integers restored, except where another value has replaced them. */
export function withLongIntegers(value: unknown, longs: string | LongIntegers | undefined): unknown {
  if (longs === undefined) return value;
  if (typeof longs === 'string')
    return typeof value === 'number' && Number(longs) === value ? BigInt(longs) : value;
  if (Array.isArray(value)) return value.map((item, index) => withLongIntegers(item, memberOf(longs, index)));
  if (typeof value !== 'object' || value === null || writesItself(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withLongIntegers(item, memberOf(longs, key))]),
  );
}

/**
 * JSON text in which integers of any size are written out, where they are given as `bigint`. `step` is what each level
 * is indented by.
 */
export function writeExact(value: unknown, step = '', margin = '\n'): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (writesItself(value)) return writeExact(value.toJSON(), step, margin);
  const inner = margin + step;
  const around =
    step === '' ? { first: '', next: ',', last: '' } : { first: inner, next: `,${inner}`, last: margin };
  const enclose = (parts: readonly string[]): string =>
    parts.length === 0 ? '' : around.first + parts.join(around.next) + around.last;
  if (Array.isArray(value))
    return `[${enclose(value.map((item) => writeExact(item, step, inner) ?? 'null'))}]`;
  const colon = step === '' ? ':' : ': ';
  const members = Object.entries(value).flatMap(([key, member]) => {
    const text = writeExact(member, step, inner);
    return text === undefined ? [] : [`${JSON.stringify(key)}${colon}${text}`];
  });
  return `{${enclose(members)}}`;
}

/** JSON text; of integers given as `bigint`, too, and as `JSON.stringify` writes it where there are none. */
export function writeJson(value: object): string {
  try {
    // A program may have them written as texts.
    if (!('toJSON' in BigInt.prototype)) return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError) || !/BigInt/.test(error.message)) throw error;
  }
  return writeExact(value)!;
}

/** The same value with the nearest number in place of each `bigint`; the very same one where it holds none. */
export function withoutBigints(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(withoutBigints);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const members = Object.entries(value);
  const rounded = members.map(([key, member]) => [key, withoutBigints(member)] as const);
  return rounded.some(([, member], index) => member !== members[index]![1])
    ? Object.fromEntries(rounded)
    : value;
}

/** JSON text of a value whose long integers are these; as `JSON.stringify` writes it where there are none. */
export function writeWithLongIntegers(value: unknown, longs: LongIntegers | undefined): string {
  const hasAny = longs !== undefined && Object.keys(longs).length > 0;
  return hasAny ? writeExact(withLongIntegers(value, longs))! : JSON.stringify(value);
}

/** Notes the long integers of something that came from elsewhere. */
export function noteLongIntegers(of: object, longs: LongIntegers | undefined): void {
  if (longs) noted.set(of, longs);
}

/** The long integers that were noted of this very object. */
export function notedLongIntegers(of: object): LongIntegers | undefined {
  return noted.get(of);
}

/** Something that came from elsewhere, with the long integers that were noted of it. */
export function exactly(value: object): unknown {
  return withLongIntegers(value, noted.get(value));
}

/** The same as JSON text. */
export function exactText(value: object): string {
  return writeWithLongIntegers(value, noted.get(value));
}

// Apart from the values: those are numbers to everybody who does arithmetic or checks with them.
const noted = new WeakMap<object, LongIntegers>();

function digitsIn(value: unknown): string | LongIntegers | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return undefined;
  let found: Record<string, string | LongIntegers> | undefined;
  const note = (item: unknown, key: string | number): void => {
    const digits = digitsIn(item);
    if (digits === undefined) return;
    found ??= Object.create(null) as Record<string, string | LongIntegers>;
    found[key] = digits;
  };
  if (Array.isArray(value)) value.forEach(note);
  else for (const key of Object.keys(value)) note((value as Record<string, unknown>)[key], key);
  return found;
}

function memberOf(
  longs: string | LongIntegers | undefined,
  key: string | number,
): string | LongIntegers | undefined {
  return typeof longs === 'object' && Object.hasOwn(longs, key) ? longs[key] : undefined;
}

function writesItself(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}
