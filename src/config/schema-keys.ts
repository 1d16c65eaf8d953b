import type { z } from 'zod';
import type { Path } from './yaml-text.ts';

/** The parts of a Zod declaration that are read here. */
interface Definition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly innerType?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
}

/** The keys a declaration knows at a path, in any shape the value may have there. */
export function keysAt(schema: z.core.$ZodType, path: Path): string[] {
  const [key, ...rest] = path;
  const here = definitionOf(schema);
  if (here.options) return [...new Set(here.options.flatMap((option) => keysAt(option, path)))];
  if (key === undefined) return Object.keys(here.shape ?? {});
  const next = here.shape?.[String(key)] ?? here.element ?? here.valueType;
  return next ? keysAt(next, rest) : [];
}

/** Every place in a declaration with a key of this name, such as `server.listen`. */
export function placesOfKey(schema: z.core.$ZodType, key: string): string[] {
  const { shape = {}, options = [] } = definitionOf(schema);
  const below = Object.entries(shape).flatMap(([name, inner]) => [
    ...(name === key ? [name] : []),
    ...placesOfKey(inner, key).map((place) => `${name}.${place}`),
  ]);
  return [...new Set([...below, ...options.flatMap((option) => placesOfKey(option, key))])];
}

/** The declaration without the wrappers for optional values and defaults. */
function definitionOf(schema: z.core.$ZodType): Definition {
  const definition = schema._zod.def as unknown as Definition;
  const inner = definition.innerType ?? (definition.type === 'pipe' ? definition.in : undefined);
  return inner ? definitionOf(inner) : definition;
}

/** The known word that was probably meant, if one is close enough. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const plain = plainly(word);
  const candidates = known
    .map((name) => ({ name, distance: distance(plain, plainly(name)) }))
    .filter(({ distance: off }) => off <= Math.max(1, Math.floor(plain.length / 3)))
    .toSorted((a, b) => a.distance - b.distance);
  return candidates[0]?.name;
}

// `rate-limit` and `rate_limit` both match `rateLimit`.
function plainly(word: string): string {
  return word.toLowerCase().replaceAll(/[_\s-]/g, '');
}

// The number of letters to change, add, remove or swap with the next.
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const exchanged = isExchanged ? rows[i - 2]![j - 2]! + 1 : Infinity;
      row.push(Math.min(changed, exchanged, rows[i - 1]![j]! + 1, row[j - 1]! + 1));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
