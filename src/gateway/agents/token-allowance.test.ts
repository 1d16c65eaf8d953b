import { expect, test } from 'vitest';
import type { Caller } from '../../core/caller.ts';
import { createFakeClock } from '../../testing.ts';
import { TokenAllowance } from './token-allowance.ts';

const caller = (tenant: string, id: string): Caller => ({
  tenant: { id: tenant, name: '', data: {} },
  id,
  scopes: [],
  roles: [],
});
const limits = { tokens: 60, tokensPerHour: 100 };

test('simultaneous runs share the hourly allowance of their caller, and return what they did not use', () => {
  const allowance = new TokenAllowance(createFakeClock());
  const ada = caller('north', 'ada');
  const first = allowance.take(ada, 'support', limits);
  const second = allowance.take(ada, 'support', limits);
  expect([first.tokens, second.tokens]).toEqual([60, 40]);
  expect(() => allowance.take(ada, 'support', limits)).toThrow('try again in 60 min');
  first.settle(10);
  first.settle(0);
  expect(allowance.take(ada, 'support', limits).tokens).toBe(50);
});

test('each caller, each tenant and each agent has an hourly allowance of its own', () => {
  const clock = createFakeClock();
  const allowance = new TokenAllowance(clock);
  allowance.take(caller('north', 'ada'), 'support', limits).settle(150);
  expect(() => allowance.take(caller('north', 'ada'), 'support', limits)).toThrow('used up');
  expect(allowance.take(caller('south', 'ada'), 'support', limits).tokens).toBe(60);
  expect(allowance.take(caller('north', 'bob'), 'support', limits).tokens).toBe(60);
  expect(allowance.take(caller('north', 'ada'), 'other', limits).tokens).toBe(60);
  clock.advance(3_600_000);
  expect(allowance.take(caller('north', 'ada'), 'support', limits).tokens).toBe(60);
});
