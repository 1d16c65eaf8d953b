import { expect, test } from 'vitest';
import type { Caller } from '../core/caller.ts';
import { createFakeClock } from '../testing.ts';
import type { Claims } from './jwt-claims.ts';
import { MAX_TOKEN_CALLERS, TokenCallers } from './token-callers.ts';

const tenant = Object.freeze({ id: 'north', name: 'north', data: {} });

function setUp() {
  const clock = createFakeClock();
  const gone: Caller[] = [];
  const callers = new TokenCallers({ clock, toleranceMs: 60_000, onGone: (caller) => gone.push(caller) });
  const claims = (caller: string, lastsMs: number): Claims => ({
    caller,
    tenant: 'north',
    scopes: [],
    roles: [],
    expiresAt: clock.now() + lastsMs,
  });
  return { clock, gone, callers, claims };
}

test('a caller ends when its longest-lived token expires, in whatever order the tokens came', () => {
  const { clock, gone, callers, claims } = setUp();
  const { caller } = callers.name(claims('ada', 5_000), tenant);
  expect(callers.name(claims('ada', 9_000), tenant).caller).toBe(caller);
  callers.name(claims('ada', 1_000), tenant);
  clock.advance(8_999);
  callers.sweep();
  expect(gone).toEqual([]);
  clock.advance(1);
  callers.sweep();
  callers.sweep();
  expect(gone).toEqual([caller]);
});

test('the same claims give a new caller object after the tenant has changed', () => {
  const { callers, claims } = setUp();
  const { caller } = callers.name(claims('ada', 5_000), tenant);
  expect(callers.name(claims('ada', 5_000), { ...tenant }).caller).not.toBe(caller);
});

test('a caller that is evicted at the limit is ended, and no other', () => {
  const { gone, callers, claims } = setUp();
  const [first, second] = ['ada', 'bob'].map((id) => callers.name(claims(id, 5_000), tenant));
  for (let i = 2; i <= MAX_TOKEN_CALLERS; i++) callers.name(claims(`c${i}`, 5_000), tenant);
  expect(gone).toEqual([first!.caller]);
  expect([first!.isGone, second!.isGone]).toEqual([true, false]);
  expect(callers.name(claims('ada', 5_000), tenant).caller).not.toBe(first!.caller);
});
