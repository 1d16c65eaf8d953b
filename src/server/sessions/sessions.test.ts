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

test('A9 a session is found by its owner, however often it signs in, and by nobody else', async () => {
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

test('A8 what nobody uses is swept, streams and all, without anybody asking', async () => {
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

test('a session with something under way is not idle, but has an end', async () => {
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
  const { max } = sessionLimits;
  onTestFinished(() => void (sessionLimits.max = max));
  sessionLimits.max = 10;
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

test('a session from the memory goes on, and is announced once', async () => {
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

/** Sessions whose memory takes its time over what it is told to. */
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

test('A9 a session that ends while it is looked for stays ended', async () => {
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

test('a session from the memory is over a day after it was opened', async () => {
  const { sessions, memory, clock } = open();
  const { id } = await sessions.open(ada, revision, client);
  clock.advance(sessionLimits.absoluteMs + 1);
  await expect(new Sessions(memory, clock).find(id, ada)).rejects.toThrow(unknown);
});

test('a memory that fails while sessions are swept does not end the process, and the sweep is repeated', async () => {
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

test('closing streams lets sessions live', async () => {
  const { sessions } = open();
  const session = await sessions.open(ada, revision, client);
  let ended = false;
  session.serverStream.attach({ event: () => {}, end: () => void (ended = true) });
  sessions.endStreams();
  expect(ended).toBe(true);
  expect(await sessions.find(session.id, ada)).toBe(session);
});
