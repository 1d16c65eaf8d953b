import { expect, onTestFinished, test } from 'vitest';
import { Pool, type ConnectionPlan, type PooledConnection } from '../../src/gateway/upstreams/pool.ts';
import { connect, defineTool } from '../../src/index.ts';
import { createFakeClock, type FakeClock } from '../../src/testing.ts';
import { serve } from '../client/peers.ts';
import { within } from '../within.ts';

interface Bench {
  readonly pool: Pool;
  readonly clock: FakeClock;
  /** How many connections were opened and closed, and whether opening fails. */
  readonly counts: { opened: number; closed: number; fails: boolean };
  connection(plan?: Partial<ConnectionPlan>): PooledConnection;
}

/** A pool of real connections to one server, with a clock that only the test moves. */
async function openPool(limits = { maxConnections: 10, maxPerTenant: 2 }): Promise<Bench> {
  const url = await serve([defineTool({ name: 'hello', description: 'Greets.' }, () => 'hello')]);
  const clock = createFakeClock();
  const pool = new Pool(clock, limits);
  onTestFinished(() => pool.close());
  const counts = { opened: 0, closed: 0, fails: false };
  const plan: ConnectionPlan = {
    upstream: 'web',
    tenant: undefined,
    idleMs: 10_000,
    lifetimeMs: 60_000,
    open: async () => {
      if (counts.fails) throw new Error('down');
      const client = await connect(url);
      counts.opened++;
      const close = (): Promise<void> => {
        counts.closed++;
        return client.close();
      };
      return { client, close };
    },
    onOpened: () => {},
    onEnded: () => {},
  };
  return { pool, clock, counts, connection: (more = {}) => pool.connection({ ...plan, ...more }) };
}

const use = async (connection: PooledConnection): Promise<void> =>
  connection.use(async (client) => void (await client.listTools()));

test('an unused connection is closed after its idle time, and health checks do not count as use', async () => {
  const { clock, counts, connection: make, pool } = await openPool();
  const connection = make();
  await use(connection);
  clock.advance(9_000);
  await connection.upkeep(async (client) => void (await client.listTools()));
  expect(counts).toMatchObject({ opened: 1, closed: 0 });
  clock.advance(2_000);
  expect(counts).toMatchObject({ opened: 1, closed: 1 });
  expect(pool.size).toBe(0);
  await use(connection);
  expect(counts.opened).toBe(2);
});

test('an old connection is replaced between calls, never during one', async () => {
  const { clock, counts, connection: make } = await openPool();
  const connection = make({ idleMs: Infinity });
  await use(connection);
  clock.advance(50_000);
  expect(counts.closed).toBe(0);
  let finish: () => void = () => {};
  const during = connection.use(() => new Promise<void>((resolve) => (finish = resolve)));
  clock.advance(30_000);
  expect(counts.closed).toBe(0);
  finish();
  await during;
  expect(counts.closed).toBe(1);
  await use(connection);
  expect(counts.opened).toBe(2);
});

test('connections opened together are not replaced at the same time', async () => {
  const { clock, counts, connection: make } = await openPool({ maxConnections: 40, maxPerTenant: 2 });
  const connections = Array.from({ length: 20 }, () => make({ idleMs: Infinity }));
  await Promise.all(connections.map(use));
  clock.advance(54_000 + 1_000);
  const early = counts.closed;
  clock.advance(12_000);
  expect(early).toBeLessThan(20);
  expect(counts.closed).toBe(20);
});

test('a server that keeps failing is retried less and less often, at random moments', async () => {
  const { clock, counts, connection: make } = await openPool();
  counts.fails = true;
  const pausesOf = async (): Promise<number[]> => {
    const connection = make();
    const pauses: number[] = [];
    for (let attempt = 0; attempt < 10; attempt++) {
      await expect(use(connection)).rejects.toThrow('down');
      pauses.push(connection.pauseMs);
      // During the pause no connection is tried, and callers get its duration.
      if (connection.pauseMs > 0)
        await expect(use(connection)).rejects.toMatchObject({
          code: 'upstream_unavailable',
          data: { retryAfterMs: expect.any(Number) },
        });
      clock.advance(connection.pauseMs + 1);
    }
    return pauses;
  };
  const [one, other] = [await pausesOf(), await pausesOf()];
  expect(one[0]).toBe(0);
  expect(one[1]).toBeGreaterThanOrEqual(250);
  expect(one[1]).toBeLessThanOrEqual(500);
  expect(one[9]).toBeGreaterThanOrEqual(30_000);
  expect(one[9]).toBeLessThanOrEqual(60_000);
  expect(one).not.toEqual(other);
});

test('a response resets the backoff: the next failure counts as the first', async () => {
  const { counts, connection: make, clock } = await openPool();
  const connection = make();
  counts.fails = true;
  for (let attempt = 0; attempt < 3; attempt++) {
    await expect(use(connection)).rejects.toThrow('down');
    clock.advance(connection.pauseMs + 1);
  }
  counts.fails = false;
  await use(connection);
  connection.noteAnswer();
  clock.advance(11_000);
  counts.fails = true;
  await expect(use(connection)).rejects.toThrow('down');
  expect(connection.pauseMs).toBe(0);
});

test('an idle connection of a tenant is closed for its next one; when all are busy the tenant is refused, and no other', async () => {
  const { counts, connection: make, pool } = await openPool();
  const [first, second, third] = [1, 2, 3].map(() => make({ tenant: 'north' }));
  await use(first!);
  let finish: () => void = () => {};
  const busy = second!.use(() => new Promise<void>((resolve) => (finish = resolve)));
  await expect.poll(() => counts.opened).toBe(2);
  await use(third!);
  expect(counts.closed).toBe(1);
  expect(first!.isRetired).toBe(true);
  const held = third!.use(() => new Promise<void>(() => {}));
  void held;
  await expect(use(make({ tenant: 'north' }))).rejects.toMatchObject({ code: 'busy' });
  await use(make({ tenant: 'south' }));
  expect(pool.size).toBe(3);
  finish();
  await busy;
});

test('the total number of connections is limited across all tenants', async () => {
  const { counts, connection: make, pool } = await openPool({ maxConnections: 2, maxPerTenant: 9 });
  const connections = [make(), make({ tenant: 'north' })];
  for (const connection of connections) await use(connection);
  await use(make({ tenant: 'south' }));
  expect(pool.size).toBe(2);
  expect(counts.closed).toBe(1);
});

test('a call waits for a connection only up to its time limit, and the connection is kept for the next call or closed', async () => {
  const { counts, connection: make, pool } = await openPool();
  const { plan } = make();
  let proceed: () => void = () => {};
  const slowly: ConnectionPlan['open'] = async () => {
    await new Promise<void>((resolve) => (proceed = resolve));
    return plan.open();
  };
  const connection = make({ open: slowly });
  const hurried = async (): Promise<void> => connection.use(() => {}, 20);
  await expect(hurried()).rejects.toMatchObject({ code: 'timed_out' });
  proceed();
  await expect.poll(() => connection.isIdle).toBe(true);
  await use(connection);
  expect(counts).toMatchObject({ opened: 1, closed: 0 });
  const other = make({ open: slowly });
  await expect((async () => other.use(() => {}, 20))()).rejects.toMatchObject({ code: 'timed_out' });
  other.retire();
  proceed();
  await expect.poll(() => counts).toMatchObject({ opened: 2, closed: 1 });
  expect(pool.size).toBe(1);
});

test('closing the pool closes idle connections at once, and ends', async () => {
  const { counts, connection: make, pool } = await openPool();
  await use(make());
  await within(5_000, 'the pool to close', pool.close());
  expect(counts.closed).toBe(1);
});

test('failures are remembered for a minute after their pause, so that later ones wait longer', async () => {
  const { clock, counts, connection: make } = await openPool();
  counts.fails = true;
  const connection = make();
  await expect(use(connection)).rejects.toThrow('down');
  expect(connection.pauseMs).toBe(0);
  expect(connection.isOver).toBe(false);
  clock.advance(5_000);
  await expect(use(connection)).rejects.toThrow('down');
  expect(connection.pauseMs).toBeGreaterThan(0);
  clock.advance(connection.pauseMs + 60_001);
  expect(connection.isOver).toBe(true);
});
