import { expect, test } from 'vitest';
import type { Caller } from '../../core/caller.ts';
import { createFakeClock } from '../../testing.ts';
import { Accounts } from './call-counts.ts';
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
  const accounts = new Accounts();
  const buckets = new Buckets(accounts);
  const slots = new Slots(accounts);
  let strangers = 0;
  return {
    clock,
    accounts,
    slots,
    take: (caller: Caller, rates: Partial<Rates>): number =>
      buckets.take(caller, { caller: NO_LIMIT, tenant: undefined, tool: undefined, ...rates }, clock),
    claim: (caller: Caller): Claim => slots.claim(caller, ALONE, clock),
    /** Newcomers have the accounts of others looked at. */
    sweep(): void {
      for (let made = 0; made < 100; made++)
        accounts.of(callerOf('stranger', `tenant-${strangers++}`), clock);
    },
  };
}

test('a caller has one account, whichever credential it signs in with', () => {
  const { accounts, clock } = open();
  const account = accounts.of(callerOf('ada'), clock);
  expect(accounts.of(callerOf('ada'), clock)).toBe(account);
  expect(accounts.of(callerOf('bob'), clock)).not.toBe(account);
  expect(accounts.of(callerOf('ada', 'other'), clock)).not.toBe(account);
  expect(accounts.of(callerOf('bob'), clock).tenant).toBe(account.tenant);
  expect(accounts.of(callerOf('ada', 'other'), clock).tenant).not.toBe(account.tenant);
});

test('after a pause a caller has a new account, the same for all its credentials', () => {
  const { accounts, clock, sweep } = open();
  const [one, other] = [callerOf('ada'), callerOf('ada')];
  const before = [accounts.of(one, clock), accounts.of(other, clock)];
  clock.advance(HOUR);
  sweep();
  const after = accounts.of(other, clock);
  expect(before).not.toContain(after);
  expect(accounts.of(one, clock)).toBe(after);
  expect(after.tenant.members).toBe(1);
});

test.each<[what: string, rates: Partial<Rates>]>([
  ['a caller', { caller: ONE_AN_HOUR }],
  ['a tenant', { tenant: ONE_AN_HOUR }],
  ['a tool', { tool: { name: 'pay', ...ONE_AN_HOUR } }],
])('the rate of %s outlasts every sweep for as long as it is used up', (_what, rates) => {
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

test('what one caller used up of the rate of its tenant, another finds used up after it has gone', () => {
  const { take, accounts, clock, sweep } = open();
  expect(take(callerOf('ada'), { tenant: { everyMs: HOUR, aheadMs: 2 * HOUR } })).toBe(0);
  expect(take(callerOf('bob'), { tenant: { everyMs: HOUR, aheadMs: 2 * HOUR } })).toBe(0);
  clock.advance(30_000);
  const before = accounts.size;
  sweep();
  // Of the two one is enough to keep what both used up.
  expect(accounts.size).toBe(before - 1 + 100);
  expect(take(callerOf('ada'), { tenant: ONE_AN_HOUR })).toBeGreaterThan(0);
});

test('a call that is under way, or waits, keeps its slot and its place however long it takes', () => {
  const { slots, claim, clock, sweep } = open();
  const held = claim(callerOf('ada'));
  expect(slots.tryEnter(held)).toBe(true);
  const waiting = claim(callerOf('bob'));
  expect(slots.queueUp(waiting)).toBeDefined();
  clock.advance(HOUR);
  sweep();
  expect(claim(callerOf('ada')).account).toBe(held.account);
  expect(claim(callerOf('bob')).account).toBe(waiting.account);
  expect(slots.tryEnter(claim(callerOf('cyn')))).toBe(false);
  slots.leave(held);
  expect(waiting.account.underWay).toBe(1);
  slots.leave(waiting);
  clock.advance(HOUR);
  sweep();
  expect(claim(callerOf('bob')).account).not.toBe(waiting.account);
});
