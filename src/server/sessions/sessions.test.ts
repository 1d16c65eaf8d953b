import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { localCaller, type Caller } from '../../core/caller.ts';
import { Cancellation } from '../../base/cancellation.ts';
import type { Memory, SessionRecord } from '../../core/memory/memory.ts';
import { revisionOf } from '../../protocol/revisions/revisions.ts';
import { createFakeClock } from '../../testing.ts';
import { createInMemory } from '../../core/memory/in-memory.ts';
import type { Session } from './session.ts';
import { sessionLimits, Sessions } from './sessions.ts';

const ada: Caller = { ...localCaller, id: 'ada' };
const bob: Caller = { ...localCaller, id: 'bob' };
const revision = revisionOf('2025-11-25')!;
const client = { name: 'test', version: '1', protocolVersion: '2025-11-25', capabilities: {} };
const unknown = expect.objectContaining({ code: 'unknown_session' }) as Error;

function open(change: Partial<Memory> = {}) {
  const clock = createFakeClock();
  const records = new Map<string, SessionRecord>();
  const memory: Memory = {
    ...createInMemory(clock),
    sessions: {
      put: (record) => void records.set(record.id, record),
      get: (id) => records.get(id),
      delete: (id) => void records.delete(id),
    },
    ...change,
  };
  return { clock, records, memory, sessions: new Sessions(memory, clock) };
}

test('A9 a session is found by its owner, however often the owner signs in, and by no other caller', async () => {
  const { sessions, records } = open();
  const session = await sessions.open(ada, revision, client);
  expect(await sessions.find(session.id, { ...ada })).toBe(session);
  const tenant = { ...ada.tenant, id: 'other' };
  for (const stranger of [bob, { ...ada, tenant }]) {
    await expect(sessions.find(session.id, stranger)).rejects.toThrow(unknown);
    await expect(sessions.end(session.id, stranger)).rejects.toThrow(unknown);
  }
  await expect(sessions.find('invented', ada)).rejects.toThrow(unknown);
  expect(records.size).toBe(1);
});

test('A8 unused sessions are removed with their streams, without any request', async () => {
  const { sessions, clock, records } = open();
  const session = await sessions.open(ada, revision, client);
  let ended = false;
  session.onEnd = () => {
    ended = true;
  };
  clock.advance(sessionLimits.idleMs);
  await setImmediate();
  expect([ended, records.size]).toEqual([false, 1]);
  clock.advance(60_000);
  await setImmediate();
  expect([ended, records.size]).toEqual([true, 0]);
});

test('a session with a running call is not idle, but has a maximum lifetime', async () => {
  const { sessions, clock, records } = open();
  const session = await sessions.open(ada, revision, client);
  const cancellation = new Cancellation();
  void session.perform(1, cancellation, () => new Promise(() => {}));
  for (let ms = 0; ms < sessionLimits.absoluteMs; ms += 60_000) {
    clock.advance(60_000);
    await Promise.resolve();
  }
  expect(records.size).toBe(1);
  expect(cancellation.reason).toBe(undefined);
  for (let turn = 0; turn < 2; turn++) {
    clock.advance(60_000);
    await setImmediate();
  }
  expect(records.size).toBe(0);
  expect(cancellation.reason).toMatchObject({ code: 'cancelled' });
});

test('A8 no number of handshakes makes more sessions than the limit', async () => {
  limitSessions({ max: 10 });
  const { sessions, records } = open();
  const opened: Session[] = [];
  for (let count = 0; count < 1_000; count++) {
    opened.push(await sessions.open(ada, revision, client));
    expect(records.size).toBeLessThanOrEqual(10);
    // In use all the time, so that it stays.
    await sessions.find(opened[0]!.id, ada);
  }
  expect(await sessions.find(opened[0]!.id, ada)).toBe(opened[0]);
  await expect(sessions.find(opened[1]!.id, ada)).rejects.toThrow(unknown);
});

/** Allows fewer sessions while a test runs. */
function limitSessions(limits: Partial<typeof sessionLimits>): void {
  const before = { ...sessionLimits };
  onTestFinished(() => void Object.assign(sessionLimits, before));
  Object.assign(sessionLimits, limits);
}

const memberOf = (tenant: string, id = 'ada'): Caller => ({
  ...ada,
  id,
  tenant: { ...ada.tenant, id: tenant },
});
const never = (): Promise<never> => new Promise(() => {});

test('A8 a tenant with many callers ends only sessions of its own, however long those of others are idle', async () => {
  limitSessions({ max: 10 });
  const { sessions, records } = open();
  const idle = await sessions.open(memberOf('small'), revision, client);
  const mine: Session[] = [];
  for (let count = 0; count < 100; count++)
    mine.push(await sessions.open(memberOf('large', `c${count}`), revision, client));
  expect(records.size).toBe(10);
  expect(await sessions.find(idle.id, memberOf('small'))).toBe(idle);
  expect(await sessions.find(mine[99]!.id, memberOf('large', 'c99'))).toBe(mine[99]);
  await expect(sessions.find(mine[0]!.id, memberOf('large', 'c0'))).rejects.toThrow(unknown);
});

test('A8 a tenant that comes later gets its share of the sessions', async () => {
  limitSessions({ max: 10 });
  const { sessions } = open();
  for (let count = 0; count < 10; count++)
    await sessions.open(memberOf('large', `c${count}`), revision, client);
  const later: Session[] = [];
  for (let count = 0; count < 5; count++)
    later.push(await sessions.open(memberOf('later', `c${count}`), revision, client));
  for (const session of later) expect(await sessions.find(session.id, session.caller)).toBe(session);
});

test('with more tenants than sessions, the tenant ends its session that has used it longest ago', async () => {
  limitSessions({ max: 3 });
  const { sessions } = open();
  const opened: Session[] = [];
  for (const tenant of ['a', 'b', 'c']) opened.push(await sessions.open(memberOf(tenant), revision, client));
  await sessions.find(opened[0]!.id, memberOf('a'));
  await sessions.open(memberOf('d'), revision, client);
  await expect(sessions.find(opened[1]!.id, memberOf('b'))).rejects.toThrow(unknown);
  for (const kept of [opened[0]!, opened[2]!]) expect(await sessions.find(kept.id, kept.caller)).toBe(kept);
});

test.each([
  ['of the same caller', { perCaller: 3 }, 'ada'],
  ['of other callers of the tenant', { max: 3 }, 'bob'],
])('a session with a call under way stays while there are idle ones %s', async (_whose, limits, id) => {
  limitSessions(limits);
  const { sessions } = open();
  const busy = await sessions.open(ada, revision, client);
  const cancellation = new Cancellation();
  void busy.perform(1, cancellation, never);
  const listened = await sessions.open(memberOf(ada.tenant.id, id), revision, client);
  listened.serverStream.attach({ event: () => {}, end: () => {} });
  const idle = await sessions.open(memberOf(ada.tenant.id, id), revision, client);
  await sessions.open(ada, revision, client);
  await expect(sessions.find(idle.id, idle.caller)).rejects.toThrow(unknown);
  for (const kept of [busy, listened]) expect(await sessions.find(kept.id, kept.caller)).toBe(kept);
  expect(cancellation.reason).toBe(undefined);
});

test('when calls are under way on all sessions, the one used longest ago ends, and never the new one', async () => {
  limitSessions({ perCaller: 2 });
  const { sessions } = open();
  const [first, second] = [
    await sessions.open(ada, revision, client),
    await sessions.open(ada, revision, client),
  ];
  for (const session of [first, second]) void session.perform(1, new Cancellation(), never);
  const third = await sessions.open(ada, revision, client);
  await expect(sessions.find(first.id, ada)).rejects.toThrow(unknown);
  expect(await sessions.find(third.id, ada)).toBe(third);
});

test('a session from the memory can be continued, and is announced once', async () => {
  const { sessions, memory, clock } = open();
  const { id } = await sessions.open(ada, revision, client);
  const elsewhere = new Sessions(memory, clock);
  const restored: Session[] = [];
  elsewhere.onRestore = (session) => void restored.push(session);
  const [first, second] = await Promise.all([elsewhere.find(id, ada), elsewhere.find(id, ada)]);
  expect(second).toBe(first);
  expect(restored).toEqual([first]);
  expect(first).toMatchObject({ id, revision, client, ready: true });
});

/** Sessions with a slow memory. */
function openSlow() {
  const slow = { get: Promise.resolve(), delete: Promise.resolve() };
  const opened = open({
    sessions: {
      put: (record) => void opened.records.set(record.id, record),
      async get(id) {
        const record = opened.records.get(id);
        await slow.get;
        return record;
      },
      async delete(id) {
        await slow.delete;
        opened.records.delete(id);
      },
    },
  });
  const hold = (what: 'get' | 'delete'): (() => void) => {
    let release = (): void => {};
    slow[what] = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  };
  return { ...opened, slow, hold };
}

test('A9 a session that ends while it is searched for stays ended', async () => {
  const { sessions, slow, hold } = openSlow();
  const { id } = await sessions.open(ada, revision, client);
  const release = hold('get');
  const found = sessions.find(id, ada);
  slow.get = Promise.resolve();
  await sessions.end(id, ada);
  release();
  await expect(found).rejects.toThrow(unknown);
  await expect(sessions.find(id, ada)).rejects.toThrow(unknown);
});

test('A9 a session that is ended while it is looked up stays ended', async () => {
  const { sessions, hold } = openSlow();
  const { id } = await sessions.open(ada, revision, client);
  const forget = hold('delete');
  const ended = sessions.end(id, ada);
  await setImmediate();
  const release = hold('get');
  const found = sessions.find(id, ada);
  forget();
  await ended;
  release();
  await expect(found).rejects.toThrow(unknown);
  await expect(sessions.find(id, ada)).rejects.toThrow(unknown);
});

test('a session that is looked up while it ends takes no room afterwards', async () => {
  limitSessions({ max: 2 });
  const { sessions, hold } = openSlow();
  const { id } = await sessions.open(memberOf('a'), revision, client);
  const forget = hold('delete');
  const ended = sessions.end(id, memberOf('a'));
  await setImmediate();
  await sessions.find(id, memberOf('a'));
  forget();
  await ended;
  const next = [
    await sessions.open(memberOf('b'), revision, client),
    await sessions.open(memberOf('b'), revision, client),
  ];
  for (const session of next) expect(await sessions.find(session.id, session.caller)).toBe(session);
});

test('a session from the memory ends a day after it was opened', async () => {
  const { sessions, memory, clock } = open();
  const { id } = await sessions.open(ada, revision, client);
  clock.advance(sessionLimits.absoluteMs + 1);
  await expect(new Sessions(memory, clock).find(id, ada)).rejects.toThrow(unknown);
});

test('a memory that fails while sessions are removed does not end the process, and the removal is repeated', async () => {
  let works = false;
  let deleted = 0;
  const { sessions, clock } = open({
    sessions: {
      put: () => {},
      get: () => undefined,
      delete: async () => {
        if (!works) throw new Error('connection refused');
        deleted++;
      },
    },
  });
  await sessions.open(ada, revision, client);
  await sessions.open(ada, revision, client);
  for (let ms = 0; ms <= sessionLimits.idleMs + 60_000; ms += 60_000) {
    clock.advance(60_000);
    await setImmediate();
  }
  works = true;
  clock.advance(60_000);
  await setImmediate();
  expect(deleted).toBeGreaterThan(0);
});

test('a session that the memory cannot forget does not keep others from being removed', async () => {
  const deleted = new Set<string>();
  let broken = '';
  const { sessions, clock } = open({
    sessions: {
      put: () => {},
      get: () => undefined,
      delete: async (id) => {
        if (id === broken) throw new Error('locked');
        deleted.add(id);
      },
    },
  });
  broken = (await sessions.open(ada, revision, client)).id;
  const others = [await sessions.open(ada, revision, client), await sessions.open(bob, revision, client)];
  for (let ms = 0; ms <= sessionLimits.idleMs + 60_000; ms += 60_000) {
    clock.advance(60_000);
    await setImmediate();
  }
  expect([...deleted]).toEqual(others.map(({ id }) => id));
});

test('closing the streams does not end the sessions', async () => {
  const { sessions } = open();
  const session = await sessions.open(ada, revision, client);
  let ended = false;
  session.serverStream.attach({ event: () => {}, end: () => void (ended = true) });
  sessions.endStreams();
  expect(ended).toBe(true);
  expect(await sessions.find(session.id, ada)).toBe(session);
});
