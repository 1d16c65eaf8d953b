import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { ToolRegistry } from '../../core/registry.ts';
import { databaseQueryTool } from '../database/query-database.ts';
import { sharedPatience, type SqlDriver } from './driver.ts';

/** A clock that only moves when it is told to. */
function stoppedClock(): (ms: number) => void {
  let at = 1_000;
  const ticks = vi.spyOn(systemClock, 'ticks').mockImplementation(() => at);
  onTestFinished(() => ticks.mockRestore());
  return (ms) => {
    at += ms;
  };
}

test('D5 every step of a call gets the remaining time, and starting a process does not count', () => {
  const pass = stoppedClock();
  const outer = sharedPatience({ timeoutMs: 5_000, signal: new AbortController().signal });
  pass(2_000);
  const inner = sharedPatience(outer);
  expect(inner.timeoutMs).toBe(3_000);
  pass(1_000);
  inner.extend?.(400);
  expect([inner.timeoutMs, outer.timeoutMs, { ...outer }.timeoutMs]).toEqual([2_400, 2_400, 2_400]);
  pass(9_000);
  expect(outer.timeoutMs).toBe(1);
});

test('D5 query_database has one time limit for reading the columns and the rows', async () => {
  const pass = stoppedClock();
  const told: number[] = [];
  const db: SqlDriver = {
    dialect: 'sqlite',
    async columns(_table, { timeoutMs }) {
      told.push(timeoutMs);
      pass(3_000);
      return ['id'];
    },
    async query({ timeoutMs }) {
      told.push(timeoutMs);
      return { columns: ['id'], rows: [[1]], isCut: false };
    },
    close: async () => {},
  };
  const tool = databaseQueryTool({ db, tables: ['orders'], timeoutSeconds: 5 });
  await new ToolRegistry().registerTool(tool).execute('query_database', { table: 'orders' });
  expect(told).toEqual([5_000, 2_000]);
});
