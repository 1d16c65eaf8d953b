import { expect, test } from 'vitest';
import { localCaller, type Caller } from '../core/caller.ts';
import { CallerLimit } from './caller-limit.ts';

const callerOf = (tenant: string, id: string): Caller => ({
  ...localCaller,
  id,
  tenant: { id: tenant, name: tenant, data: {} },
});

/** Takes for ever new callers of a tenant until it is refused; returns how often it was not. */
function fill(limit: CallerLimit, tenant: string): number {
  for (let count = 0; ; count++) {
    try {
      limit.take(callerOf(tenant, `c${count}`));
    } catch {
      return count;
    }
  }
}

test('a caller may hold a limited number, and may take again what it gave back', () => {
  const limit = new CallerLimit('streams', { total: 10, perCaller: 2 });
  const caller = callerOf('a', 'one');
  const leave = limit.take(caller);
  limit.take(caller);
  expect(() => limit.take(caller)).toThrow('At most 2 streams may be open for one caller.');
  leave();
  leave();
  limit.take(caller);
  expect(() => limit.take(caller)).toThrow();
});

test('a tenant with many callers may use the whole limit, and leaves room for other tenants', () => {
  const limit = new CallerLimit('streams', { total: 100, perCaller: 2 });
  expect(fill(limit, 'hostile')).toBe(100);
  expect(fill(limit, 'other')).toBe(50);
  expect(fill(limit, 'third')).toBe(33);
  expect(fill(limit, 'hostile')).toBe(0);
});

test('with any number of tenants the total is at most twice the limit', () => {
  const limit = new CallerLimit('streams', { total: 100, perCaller: 100 });
  let taken = 0;
  for (let tenant = 0; tenant < 500; tenant++) taken += fill(limit, `t${tenant}`);
  expect(taken).toBeLessThanOrEqual(200);
});

test('a slot that a tenant gave back is free for every tenant', () => {
  const limit = new CallerLimit('streams', { total: 2, perCaller: 2 });
  const leaves = ['a', 'b'].map((id) => limit.take(callerOf('one', id)));
  for (const leave of leaves) leave();
  expect(fill(limit, 'two')).toBe(2);
});
