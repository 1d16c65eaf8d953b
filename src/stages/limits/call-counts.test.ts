import { expect, test } from 'vitest';
import type { Caller } from '../../core/caller.ts';
import { createFakeClock } from '../../testing.ts';
import { CallCounts } from './call-counts.ts';
import { Buckets, type Rates } from './buckets.ts';
import { Slots, type Claim, type SlotLimits } from './slots.ts';

const HOUR = 3_600_000;
const ONE_AN_HOUR = { everyMs: HOUR, aheadMs: HOUR };
const NO_LIMIT = { everyMs: 0, aheadMs: HOUR };
const ALONE: SlotLimits = { perCaller: 1, perTenant: 1, tool: undefined, queue: 9 };

function callerOf(id: string, tenant = 'acme'): Caller {
  return { id, tenant: { id: tenant, name: tenant, data: {} }, scopes: [], roles: [] };
}

function open() {
  const clock = createFakeClock();
  const callCounts = new CallCounts();
  const buckets = new Buckets(callCounts);
  const slots = new Slots(callCounts);
  let strangers = 0;
  return {
    clock,
    callCounts,
    slots,
    take: (caller: Caller, rates: Partial<Rates>): number =>
      buckets.take(caller, { caller: NO_LIMIT, tenant: undefined, tool: undefined, ...rates }, clock),
    claim: (caller: Caller): Claim => slots.claim(caller, ALONE, clock),
    /** Newcomers have the counts of others looked at. */
    sweep(): void {
      for (let made = 0; made < 100; made++)
        callCounts.of(callerOf('stranger', `tenant-${strangers++}`), clock);
    },
  };
}

test('a caller has the same counts for all its credentials', () => {
  const { callCounts, clock } = open();
  const counts = callCounts.of(callerOf('ada'), clock);
  expect(callCounts.of(callerOf('ada'), clock)).toBe(counts);
  expect(callCounts.of(callerOf('bob'), clock)).not.toBe(counts);
  expect(callCounts.of(callerOf('ada', 'other'), clock)).not.toBe(counts);
  expect(callCounts.of(callerOf('bob'), clock).tenant).toBe(counts.tenant);
  expect(callCounts.of(callerOf('ada', 'other'), clock).tenant).not.toBe(counts.tenant);
});

test('after a pause a caller gets new counts, the same for all its credentials', () => {
  const { callCounts, clock, sweep } = open();
  const [one, other] = [callerOf('ada'), callerOf('ada')];
  const before = [callCounts.of(one, clock), callCounts.of(other, clock)];
  clock.advance(HOUR);
  sweep();
  const after = callCounts.of(other, clock);
  expect(before).not.toContain(after);
  expect(callCounts.of(one, clock)).toBe(after);
  expect(after.tenant.members).toBe(1);
});

test.each<[what: string, rates: Partial<Rates>]>([
  ['a caller', { caller: ONE_AN_HOUR }],
  ['a tenant', { tenant: ONE_AN_HOUR }],
  ['a tool', { tool: { name: 'pay', ...ONE_AN_HOUR } }],
])('the used rate of %s is remembered until it has recovered', (_what, rates) => {
  const { take, clock, sweep } = open();
  const ada = callerOf('ada');
  expect(take(ada, rates)).toBe(0);
  clock.advance(HOUR - 1_000);
  sweep();
  expect(take(ada, rates)).toBeGreaterThan(0);
  clock.advance(1_000);
  sweep();
  expect(take(ada, rates)).toBe(0);
});

test('the rate that one caller used of its tenant still counts for others after the caller has gone', () => {
  const { take, callCounts, clock, sweep } = open();
  expect(take(callerOf('ada'), { tenant: { everyMs: HOUR, aheadMs: 2 * HOUR } })).toBe(0);
  expect(take(callerOf('bob'), { tenant: { everyMs: HOUR, aheadMs: 2 * HOUR } })).toBe(0);
  clock.advance(30_000);
  const before = callCounts.size;
  sweep();
  // Of the two one is enough to keep what both used up.
  expect(callCounts.size).toBe(before - 1 + 100);
  expect(take(callerOf('ada'), { tenant: ONE_AN_HOUR })).toBeGreaterThan(0);
});

test('a running or waiting call keeps its slot and its place, however long it takes', () => {
  const { slots, claim, clock, sweep } = open();
  const held = claim(callerOf('ada'));
  expect(slots.tryEnter(held)).toBe(true);
  const waiting = claim(callerOf('bob'));
  expect(slots.queueUp(waiting)).toBeDefined();
  clock.advance(HOUR);
  sweep();
  expect(claim(callerOf('ada')).counts).toBe(held.counts);
  expect(claim(callerOf('bob')).counts).toBe(waiting.counts);
  expect(slots.tryEnter(claim(callerOf('cyn')))).toBe(false);
  slots.leave(held);
  expect(waiting.counts.underWay).toBe(1);
  slots.leave(waiting);
  clock.advance(HOUR);
  sweep();
  expect(claim(callerOf('bob')).counts).not.toBe(waiting.counts);
});
