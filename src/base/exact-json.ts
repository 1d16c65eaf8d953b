import { isObject } from './json.ts';
import { readJson } from './parse-json.ts';

/** Integers that a number cannot hold, as they were written, by the JSON pointer of their place. */
export type LongIntegers = Readonly<Record<string, string>>;

/** The long integers of a JSON text; `undefined` where there are none. */
export function longIntegersOf(text: string): LongIntegers | undefined {
  const found: Record<string, string> = {};
  note(readJson(text, 'exact'), '', found);
  return Object.keys(found).length > 0 ? found : undefined;
}

/** The long integers below a place, with pointers that begin there. */
export function longIntegersAt(longs: LongIntegers | undefined, place: string): LongIntegers | undefined {
  const below = Object.entries(longs ?? {}).filter(([pointer]) => pointer.startsWith(`${place}/`));
  if (below.length === 0) return undefined;
  return Object.fromEntries(below.map(([pointer, text]) => [pointer.slice(place.length), text]));
}

/** A copy of a value in which long integers are whole again, as far as nobody put something else in their place. */
export function withLongIntegers(value: unknown, longs: LongIntegers, place = ''): unknown {
  const text = typeof value === 'number' && Object.hasOwn(longs, place) ? longs[place] : undefined;
  if (text !== undefined && Number(text) === value) return BigInt(text);
  if (Array.isArray(value))
    return value.map((item, index) => withLongIntegers(item, longs, `${place}/${index}`));
  if (!isObject(value) || 'toJSON' in value) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      withLongIntegers(item, longs, `${place}/${escaped(key)}`),
    ]),
  );
}

/** JSON text in which integers of any size are written out, where they are given as `bigint`. */
export function writeExact(value: unknown): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if ('toJSON' in value && typeof value.toJSON === 'function') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => writeExact(item) ?? 'null').join(',')}]`;
  const members = Object.entries(value).flatMap(([key, member]) => {
    const text = writeExact(member);
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`];
  });
  return `{${members.join(',')}}`;
}

function note(value: unknown, place: string, found: Record<string, string>): void {
  if (typeof value === 'bigint') found[place] = String(value);
  else if (Array.isArray(value)) value.forEach((item, index) => note(item, `${place}/${index}`, found));
  else if (isObject(value))
    for (const key of Object.keys(value)) note(value[key], `${place}/${escaped(key)}`, found);
}

function escaped(key: string): string {
  return key.includes('~') || key.includes('/') ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key;
}
