import { z } from 'zod';
import { absentTools } from '../../core/absent-tool.ts';
import type { Call } from '../../core/call.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { Deadlines } from '../../base/deadlines.ts';
import { ToolcribError } from '../../base/errors.ts';
import { compileGlobTable } from '../../base/glob.ts';
import type { Result } from '../../core/result.ts';
import { andThen, orElse, whenOver, type Awaitable } from '../../base/awaitable.ts';
import type { CallRecord } from '../../core/record.ts';
import type { Next, Stage } from '../../core/stage.ts';
import { governedName } from '../../core/tool.ts';
import { Slots, type Claim, type SlotLimits } from './slots.ts';

const count = z.int().min(1);

/** How many calls may be under way at once. */
export const concurrencyOptions = z.strictObject({
  perCaller: count.default(16).describe('How many calls of one caller may be under way at once.'),
  perTenant: count
    .default(64)
    .describe('How many calls of all callers of a tenant may be under way at once.'),
  perTool: z
    .record(z.string().min(1), count)
    .default({})
    .describe(
      'How many calls of a tool may be under way at once, by everybody together; by name or pattern such as "github.*".',
    ),
  queue: z.int().min(0).default(64).describe('How many calls of a tenant may wait for their turn.'),
  waitSeconds: z.number().positive().max(3600).default(10).describe('How long a call may wait for its turn.'),
});

/** What the stage needs; the given slots survive a reload. */
export interface ConcurrencyParts {
  readonly clock?: Clock;
  readonly slots?: Slots;
}

/** Limits how many calls are under way at once; further calls wait in a queue for a limited time. */
export function concurrency(
  options: z.input<typeof concurrencyOptions> = {},
  parts: ConcurrencyParts = {},
): Stage {
  const { perCaller, perTenant, perTool, queue, waitSeconds } = concurrencyOptions.parse(options, {
    jitless: true,
  });
  const { clock = systemClock, slots = new Slots() } = parts;
  const admission: Admission = { slots, clock, deadlines: new Deadlines(clock), waitMs: waitSeconds * 1000 };
  const everywhere: SlotLimits = { perCaller, perTenant, tool: undefined, queue };
  const mostOf = compileGlobTable(perTool);
  return {
    name: 'concurrency',
    wrap(tool, next) {
      if (absentTools.has(tool)) return next;
      const name = governedName(tool);
      const most = mostOf(name);
      const limits = most === undefined ? everywhere : { ...everywhere, tool: { name, most } };
      return (call) => enter(call, next, { admission, limits });
    },
    wrapReading: (next) => (call) => enter(call, next, { admission, limits: everywhere }),
  };
}

interface Admission {
  readonly slots: Slots;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly waitMs: number;
}

interface Entrance {
  readonly admission: Admission;
  readonly limits: SlotLimits;
}

function enter<C extends Call>(call: C, next: Next<C>, entrance: Entrance): Awaitable<Result> {
  const lender = call.record.within;
  return lender?.slot === 'free'
    ? enterOn(lender, call, { next, entrance })
    : enterAlone(call, next, entrance);
}

// A call that waits for one made within it does nothing itself, so that one uses its slot.
function enterOn<C extends Call>(
  lender: CallRecord,
  call: C,
  { next, entrance }: { readonly next: Next<C>; readonly entrance: Entrance },
): Awaitable<Result> {
  const limits = { ...entrance.limits, isLent: true };
  const giveBack = (): void => void (lender.slot = 'free');
  lender.slot = 'lent';
  const work = orElse(
    () => enterAlone(call, next, { ...entrance, limits }),
    (error) => {
      giveBack();
      throw error;
    },
  );
  return andThen(work, (result) => {
    giveBack();
    return result;
  });
}

function enterAlone<C extends Call>(
  call: C,
  next: Next<C>,
  { admission, limits }: Entrance,
): Awaitable<Result> {
  const claim = admission.slots.claim(call.caller, limits, admission.clock);
  if (admission.slots.tryEnter(claim)) return run(call, next, { claim, admission });
  return waitForSlot(call, claim, admission).then(() => run(call, next, { claim, admission }));
}

async function waitForSlot(call: Call, claim: Claim, { slots, deadlines, waitMs }: Admission): Promise<void> {
  const waiter = slots.queueUp(claim);
  if (!waiter) throw busy();
  const stop = deadlines.start(waitMs, () => waiter.giveUp(busy()));
  try {
    await call.cancellation.race(waiter.turn);
  } catch (error) {
    slots.stepOut(waiter);
    throw error;
  } finally {
    stop();
  }
}

interface Slot {
  readonly claim: Claim;
  readonly admission: Admission;
}

function run<C extends Call>(
  call: C,
  next: Next<C>,
  { claim, admission: { slots } }: Slot,
): Awaitable<Result> {
  let work: Awaitable<Result>;
  call.record.slot = 'free';
  try {
    work = next(call);
  } catch (error) {
    slots.leave(claim);
    throw error;
  }
  // A stopped call ends in the timeout stage further in, so that the stages between see how it ended.
  if (work instanceof Promise) return whenOver(work, () => slots.leave(claim));
  slots.leave(claim);
  return work;
}

// When a call will end is unknown; a full queue has usually moved on by then.
const RETRY_AFTER_MS = 1_000;

function busy(): ToolcribError {
  const text = `Too many calls are under way; try again in ${RETRY_AFTER_MS / 1000} s.`;
  return new ToolcribError('busy', text, { data: { retryAfterMs: RETRY_AFTER_MS } });
}
