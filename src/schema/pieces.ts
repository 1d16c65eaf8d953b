import { isObject } from '../base/json.ts';
import { partsLeft } from './parts.ts';

// A piece with more parts than these is divided further.
const PIECE_PARTS = 400;
const HALF = PIECE_PARTS / 2;

/** A value with fewer members than another, and the list or object in it that some were left out of. */
export interface Piece {
  readonly part: unknown;
  readonly focus: unknown;
}

const offsets = new WeakMap<object, number>();

/** By how many places the items of a piece of a list come later in the whole list. */
export function offsetOf(list: object): number {
  return offsets.get(list) ?? 0;
}

/** Smaller values that are otherwise like a large one; only small members beside large ones are in all of them. */
export function* piecesOf(value: unknown): Generator<Piece> {
  if (Array.isArray(value)) yield* piecesOfList(value);
  else if (isObject(value)) yield* piecesOfObject(value);
}

function* piecesOfList(list: readonly unknown[]): Generator<Piece> {
  if (list.length === 1) {
    for (const { part, focus } of piecesOf(list[0])) yield { part: moved([part], list, 0), focus };
    return;
  }
  const half = Math.ceil(list.length / 2);
  for (const from of [0, half]) {
    const part = moved(list.slice(from, from + half), list, from);
    yield { part, focus: part };
  }
}

function moved(part: unknown[], list: readonly unknown[], by: number): unknown[] {
  offsets.set(part, offsetOf(list) + by);
  return part;
}

function* piecesOfObject(value: Readonly<Record<string, unknown>>): Generator<Piece> {
  const entries = Object.entries(value);
  const large = entries.filter(([, member]) => isLarge(member, HALF));
  const rest = Object.fromEntries(entries.map(([key, member]) => [key, thinned(member)]));
  if (large.length === 0 || (isLarge(rest, HALF) && entries.length > 1)) {
    const half = Math.ceil(entries.length / 2);
    for (const some of [entries.slice(0, half), entries.slice(half)]) {
      const part = Object.fromEntries(some);
      yield { part, focus: part };
    }
    return;
  }
  for (const [key, member] of large) {
    if (large.length > 1) yield { part: { ...rest, [key]: member }, focus: undefined };
    else for (const { part, focus } of piecesOf(member)) yield { part: { ...rest, [key]: part }, focus };
  }
}

function thinned(value: unknown): unknown {
  if (!isLarge(value, 1)) return value;
  if (Array.isArray(value)) return [thinned(value[0])];
  if (!isObject(value) || !isLarge(value, HALF)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, thinned(member)]));
}

/** Whether a value has more than so many parts. */
export function isLarge(value: unknown, parts = PIECE_PARTS): boolean {
  return partsLeft(value, parts) < 0;
}
