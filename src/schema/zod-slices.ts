import { nothing, orElse, type Awaitable } from '../base/awaitable.ts';
import { Turns } from '../base/turns.ts';
import { fewIssues, type Payload } from './few-issues.ts';
import { MAX_ISSUES, partsLeft } from './parts.ts';
import { frameOf, type Context, type Frame, type ZodSchema } from './zod-frames.ts';

// Smaller values are checked in one go.
const FEW_PARTS = 200;
// Most large values take less than this first slice, and their calls stay in order. All that begin in one turn of the
// event loop share it.
const FIRST_MS = 12;
const SLICE_MS = 8;
// Shorter with async checks, because their work goes on after the slice.
const WAITING_SLICE_MS = 3;

const turns = new Turns();

/** Until when the check of one value may run, and whether it waits. */
export interface Slices {
  readonly tenant: string;
  readonly startedAt: number;
  context: Context;
  until: number;
}

/** Work in steps: it waits for a promise that it yields, and gives others a turn where it yields none. */
export type Steps<T> = Generator<Promise<unknown> | undefined, T>;

/** Begins to check a value of a tenant. */
export function beginSlices(context: Context, tenant = ''): Slices {
  const startedAt = performance.now();
  return { tenant, startedAt, context, until: startedAt + firstMs };
}

// What is left of the first slice in this turn of the event loop.
let firstMs = FIRST_MS;

function useFirst(ms: number): void {
  if (firstMs === FIRST_MS) setImmediate(() => (firstMs = FIRST_MS));
  firstMs = Math.max(0, firstMs - ms);
}

/** Runs to the end at once if that is soon; later slices wait for a turn each. */
export function runSlices<T>(steps: Steps<Awaitable<T>>, slices: Slices): Awaitable<T> {
  return orElse(
    () => {
      const first = steps.next();
      useFirst(performance.now() - slices.startedAt);
      return first.done ? first.value : runLater(steps, first.value, slices);
    },
    // A check that throws rejects the promise, as it does with Zod alone.
    (error) => Promise.reject(error as Error),
  );
}

async function runLater<T>(
  steps: Steps<Awaitable<T>>,
  first: Promise<unknown> | undefined,
  slices: Slices,
): Promise<T> {
  let waitFor = first;
  for (;;) {
    await (waitFor ?? turns.next(slices.tenant));
    slices.until = performance.now() + (slices.context.async ? WAITING_SLICE_MS : SLICE_MS);
    const step = steps.next();
    if (step.done) return step.value;
    waitFor = step.value;
  }
}

/** Checks the members that can be checked on their own, and then the value itself. */
export function* checkInFrame(
  frame: Frame,
  value: unknown,
  slices: Slices,
): Steps<Payload | Promise<Payload>> {
  const members = frame.membersOf(value);
  const results: Payload[] = [];
  const waiting: Promise<void>[] = [];
  const shortened = shortener();
  for (const [index, { inner, value: member }] of members.entries()) {
    const own = isLarge(member) ? frameOf(inner) : undefined;
    const result = own ? yield* checkInFrame(own, member, slices) : runOnce(inner, member, slices);
    if (result instanceof Promise) {
      const settled = result.then((later) => void (results[index] = shortened(later)));
      // `Promise.all` below reports the failure; until then Node must not take it for an unhandled one.
      settled.catch(nothing);
      waiting.push(settled);
    } else results[index] = shortened(result);
    if (performance.now() > slices.until) yield undefined;
  }
  if (waiting.length > 0) yield Promise.all(waiting);
  return frame.takeOver(members, results, () => runWhole(frame.whole, value, slices));
}

// Nothing shows more than the first problems, but every wrong member keeps one.
function shortener(): (result: Payload) => Payload {
  let left = MAX_ISSUES;
  return (result) => {
    const most = Math.max(1, left);
    left -= result.issues.length;
    return result.issues.length > most ? fewIssues(most)(result) : result;
  };
}

// Never run twice: the first run has changed the results of the members.
function runWhole({ _zod }: ZodSchema, value: unknown, slices: Slices): Payload | Promise<Payload> {
  const result = _zod.run({ value, issues: [] }, { async: true });
  if (result instanceof Promise) slices.context = { async: true };
  return result;
}

// As Zod does it: synchronously, and once more if anything in it is not. Zod keeps state in the context of a run.
function runOnce({ _zod }: ZodSchema, value: unknown, slices: Slices): Payload | Promise<Payload> {
  if (!slices.context.async) {
    try {
      const result = _zod.run({ value, issues: [] }, { ...slices.context });
      if (!(result instanceof Promise)) return result;
      result.catch(nothing);
    } catch {
      // Zod may only have said that the check has to wait; a true error is thrown again below.
    }
    slices.context = { async: true };
  }
  return _zod.run({ value, issues: [] }, { ...slices.context });
}

function isLarge(value: unknown): boolean {
  return partsLeft(value, FEW_PARTS) < 0;
}
