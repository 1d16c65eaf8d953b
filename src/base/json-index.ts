import { hashStart, mixHash } from './seeded-hash.ts';

/** How many steps a search may still take; its owner refills it. */
export interface StepBudget {
  steps: number;
}

/** A set of JSON values that finds a value by hash instead of comparing all of them. */
export class JsonIndex {
  readonly #budget: StepBudget;
  readonly #values: unknown[] = [];
  readonly #places = new Map<number, number>();

  constructor(budget: StepBudget) {
    this.#budget = budget;
  }

  /** Whether the same value was added. */
  has(value: unknown): boolean {
    return this.#places.has(this.#placeFor(value));
  }

  /** Adds a value; if an equal one is there already, returns that one's index. */
  add(value: unknown): number | undefined {
    const place = this.#placeFor(value);
    const known = this.#places.get(place);
    if (known === undefined) this.#places.set(place, this.#values.push(value) - 1);
    return known;
  }

  // The place of an equal value, or a free one: values with the same hash are stored next to each other.
  #placeFor(value: unknown): number {
    let place = hashJson(value, this.#budget);
    for (let known = this.#places.get(place); known !== undefined; known = this.#places.get(++place))
      if (isSameJson(this.#values[known], value)) break;
    return place;
  }
}

const LETTERS_A_STEP = 16;
const floats = new Float64Array(1);
const halves = new Int32Array(floats.buffer);
const KINDS = { true: 1, false: 2, null: 3, number: 4, string: 5, list: 6, object: 7 };

function hashJson(value: unknown, budget: StepBudget): number {
  if (--budget.steps < 0) throw new RangeError('Comparing this would take too long.');
  if (typeof value === 'string') return hashText(value, budget);
  if (typeof value === 'number') return hashNumber(value);
  if (typeof value !== 'object' || value === null)
    return mixHash(hashStart, KINDS[String(value) as keyof typeof KINDS] ?? 0);
  if (Array.isArray(value)) {
    let hash = mixHash(hashStart, KINDS.list);
    for (const item of value) hash = mixHash(hash, hashJson(item, budget));
    return hash;
  }
  // A sum does not depend on the order of the members.
  let sum = mixHash(hashStart, KINDS.object);
  for (const key of Object.keys(value))
    sum = (sum + mixHash(hashText(key, budget), hashJson(value[key as keyof object], budget))) | 0;
  return sum;
}

function hashText(text: string, budget: StepBudget): number {
  budget.steps -= text.length / LETTERS_A_STEP;
  let hash = mixHash(hashStart, KINDS.string);
  for (let at = 0; at < text.length; at++) hash = mixHash(hash, text.charCodeAt(at));
  return hash;
}

function hashNumber(number: number): number {
  // 0 and -0 are equal.
  floats[0] = number === 0 ? 0 : number;
  return mixHash(mixHash(mixHash(hashStart, KINDS.number), halves[0]!), halves[1]!);
}

function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const keys = Object.keys(one);
  if (Array.isArray(one) !== Array.isArray(other) || keys.length !== Object.keys(other).length) return false;
  return keys.every(
    (key) => Object.hasOwn(other, key) && isSameJson(one[key as keyof object], other[key as keyof object]),
  );
}
