/** Whether a value is a JSON object: not an array and not null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The items of a list; none where the value is not a list. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Whether data is nested deeper than so many levels. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(levels - 1, item));
}

/** A deep copy of JSON data; faster than `structuredClone`, which handles much more than JSON. */
export function copyJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyJson) as T;
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (key === '__proto__') define(copy, key, copyJson(value[key]));
    else copy[key] = copyJson(value[key]);
  }
  return copy as T;
}

// Assigning to `__proto__` would set the prototype, and hide the field from later checks.
function define(copy: object, key: string, value: unknown): void {
  Object.defineProperty(copy, key, { value, enumerable: true, writable: true, configurable: true });
}

/** About how much of `room` remains after a value, below 0 if it is too large; stops early, so it is cheap. */
export function roomAfter(value: unknown, room: number): number {
  if (typeof value === 'string') return room - value.length;
  if (typeof value !== 'object' || value === null) return room - 8;
  if (ArrayBuffer.isView(value)) return room - value.byteLength;
  let left = room - 8;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && left >= 0; index++) left = roomAfter(value[index], left);
    return left;
  }
  for (const key in value) {
    if (left < 0) break;
    left = roomAfter((value as Record<string, unknown>)[key], left - key.length);
  }
  return left;
}
