/** A value for conditions, and its size. */
export interface ConditionValue {
  readonly value: unknown;
  /** The number of values, plus one for every sixteen characters of text. */
  readonly size: number;
}

const MAX_DEPTH = 100;

/**
 * Copies JSON data for the evaluator: objects become maps, because a key named "constructor" would be read as a class.
 */
export function toConditionValue(data: unknown): ConditionValue {
  let size = 0;
  const copy = (value: unknown, depth: number): unknown => {
    size += typeof value === 'string' ? 1 + value.length / 16 : 1;
    if (typeof value !== 'object' || value === null) return value;
    if (depth >= MAX_DEPTH) throw new RangeError('The arguments are nested too deeply for a condition.');
    if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1));
    if (!isPlain(value)) return value;
    const map = new Map<string, unknown>();
    for (const key of Object.keys(value)) {
      const item = (value as Record<string, unknown>)[key];
      if (item === undefined) continue;
      size += key.length / 16;
      map.set(key, copy(item, depth + 1));
    }
    return map;
  };
  const value = copy(data, 0);
  return { value, size };
}

// Objects that a schema made of the arguments, such as a date, are passed unchanged.
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
