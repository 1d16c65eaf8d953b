import { describe, expect, test } from 'vitest';
import { absentTool } from '../../core/absent-tool.ts';
import type { ResourceCall, ToolCall } from '../../core/call.ts';
import { localCaller, type Caller } from '../../core/caller.ts';
import { Cancellation } from '../../base/cancellation.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { Memory } from '../../core/memory/memory.ts';
import { CallRecord } from '../../core/record.ts';
import type { Result } from '../../core/result.ts';
import { withStages, type Stage } from '../../core/stage.ts';
import type { ToolSource } from '../../core/source.ts';
import type { Tool } from '../../core/tool.ts';
import { createInMemoryStore } from '../../store/memory/store.ts';
import { OpenIntents } from '../../store/journal/intent.ts';
import type { Entry, Journal } from '../../store/store.ts';
import { createFakeClock, createTestCall, recordingSource, type FakeClock } from '../../testing.ts';
import { audit } from '../record/audit.ts';
import { commit } from '../record/commit.ts';
import { concurrency, concurrencyOptions } from './concurrency.ts';
import { idempotency, idempotencyKey } from '../idempotency.ts';
import { Slots } from './slots.ts';
import { timeout } from '../timeout.ts';

const ada = callerCalled('ada');
const bob = callerCalled('bob');
const DONE: Result = { kind: 'done', data: 'ok' };
// Tests whose call would never end if they failed are given up soon.
const FAST_MS = 1_000;

test('a caller has a limited number of running calls; the next one starts when one ends', async () => {
  const { start, running, end, slots } = gated({ perCaller: 2 });
  const calls = [start('a'), start('b'), start('c')];
  await settle();
  expect(running()).toEqual(['a', 'b']);
  expect(slots).toMatchObject({ running: 2, waiting: 1 });
  end('a');
  await calls[0];
  await settle();
  expect(running()).toEqual(['b', 'c']);
  end('b');
  end('c');
  await Promise.all(calls);
  expect(slots).toMatchObject({ running: 0, waiting: 0 });
});

test('control: without the stage they all run at once', async () => {
  const started: string[] = [];
  const source = withStages(recordingSource(), []);
  const wait = toolCalled('wait', { handler: () => (started.push('x'), new Promise(() => {})) });
  for (let made = 0; made < 100; made++) void source.call(createTestCall(wait));
  await settle();
  expect(started).toHaveLength(100);
});

test('waiting calls start in the order they came', async () => {
  const { start, running, end } = gated({ perCaller: 1 });
  for (const name of ['a', 'b', 'c', 'd']) void start(name);
  const order: string[] = [];
  for (let turn = 0; turn < 4; turn++) {
    await settle();
    const [name = ''] = running();
    order.push(name);
    end(name);
  }
  expect(order).toEqual(['a', 'b', 'c', 'd']);
});

test('a call that arrives just as a slot becomes free does not overtake waiting calls', async () => {
  const { start, running, end } = gated({ perCaller: 1 });
  void start('first');
  void start('second');
  end('first');
  await settle();
  void start('third');
  await settle();
  expect(running()).toEqual(['second']);
});

test('a caller at its limit does not delay others of its tenant, nor a tenant at its limit other tenants', async () => {
  const { start, running } = gated({ perCaller: 1, perTenant: 2 });
  void start('a1', { caller: ada });
  void start('a2', { caller: ada });
  void start('b1', { caller: bob });
  void start('c1', { caller: callerCalled('carol') });
  void start('g1', { caller: callerCalled('gus', 'globex') });
  await settle();
  expect(running()).toEqual(['a1', 'b1', 'g1']);
});

test('a tool has a limit for all callers together, and tenants take turns', async () => {
  const { start, running, end } = gated({ perTool: { 'slow*': 1, '*': 50 } });
  const [acme, globex] = [ada, callerCalled('gus', 'globex')];
  void start('slow', { caller: acme, key: 'acme 1' });
  void start('slow', { caller: acme, key: 'acme 2' });
  void start('slow', { caller: acme, key: 'acme 3' });
  void start('slow', { caller: globex, key: 'globex 1' });
  void start('quick', { caller: acme, key: 'quick' });
  await settle();
  expect(running()).toEqual(['acme 1', 'quick']);
  const order: string[] = [];
  for (let turn = 0; turn < 4; turn++) {
    const name = running().find((key) => key !== 'quick')!;
    order.push(name);
    end(name);
    await settle();
  }
  expect(order).toEqual(['acme 1', 'acme 2', 'globex 1', 'acme 3']);
});

test('a nested call uses the slot of its outer call, and counts for the limit of its tool', async () => {
  const { start, running, end, slots } = gated({ perCaller: 1, perTool: { slow: 1 } });
  const outer = new CallRecord();
  const within = (key: string, name = key): void =>
    void start(name, { key, record: new CallRecord('first', outer) });
  void start('outer', { record: outer });
  within('first');
  within('second');
  void start('other');
  await settle();
  expect(running()).toEqual(['outer', 'first']);
  end('first');
  await settle();
  within('slow 1', 'slow');
  void start('slow', { caller: bob, key: 'slow of bob' });
  await settle();
  expect(running()).toEqual(['outer', 'slow 1']);
  end('slow 1');
  await settle();
  expect(running()).toEqual(['outer', 'slow of bob']);
  end('outer');
  await settle();
  expect(running()).toEqual(['slow of bob', 'second']);
  end('second');
  await settle();
  expect(running()).toEqual(['slow of bob', 'other']);
  for (const name of running()) end(name);
  await settle();
  expect(slots).toMatchObject({ running: 0, waiting: 0 });
});

test('a call that waited too long is refused as busy', async () => {
  const { start, clock, slots, running } = gated({ perCaller: 1, waitSeconds: 10 });
  void start('a');
  const late = start('b');
  clock.advance(9_999);
  await settle();
  expect(slots.waiting).toBe(1);
  clock.advance(1);
  await expect(late).rejects.toMatchObject({
    code: 'busy',
    message: 'Too many calls are under way; try again in 1 s.',
    data: { retryAfterMs: 1_000 },
  });
  expect(slots.waiting).toBe(0);
  expect(running()).toEqual(['a']);
});

test('a call is refused at once if the queue of its tenant is full, and other tenants have queues of their own', async () => {
  const { start, slots } = gated({ perCaller: 1, queue: 2 });
  for (const name of ['a', 'b', 'c']) void start(name);
  await expect(start('d')).rejects.toMatchObject({ code: 'busy' });
  const other = callerCalled('gus', 'globex');
  void start('e', { caller: other });
  void start('f', { caller: other });
  await settle();
  expect(slots).toMatchObject({ running: 2, waiting: 3 });
});

test('a call that is cancelled while it waits leaves the queue, and the next moves up', async () => {
  const { start, running, end, slots } = gated({ perCaller: 1 });
  void start('a');
  const cancellation = new Cancellation();
  const waiting = start('b', { cancellation });
  void start('c');
  cancellation.abort(new ToolcribError('cancelled', 'Enough.'));
  await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
  expect(slots.waiting).toBe(1);
  end('a');
  await settle();
  expect(running()).toEqual(['c']);
});

test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])(
  'a call that is cancelled just as it gets a slot (%i) gives the slot back',
  async (turns) => {
    const { start, running, end, slots } = gated({ perCaller: 1 });
    void start('a');
    const cancellation = new Cancellation();
    const second = start('b', { cancellation });
    void start('c');
    end('a');
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    cancellation.abort(new ToolcribError('cancelled', 'Enough.'));
    await expect(second).rejects.toMatchObject({ code: 'cancelled' });
    await settle();
    expect(running()).toContain('c');
    expect(slots).toMatchObject({ running: 1, waiting: 0 });
  },
  FAST_MS,
);

test.each<[how: string, handler: Tool['handler']]>([
  [
    'throws',
    () => {
      throw new ToolcribError('refused', 'No.');
    },
  ],
  ['fails later', () => Promise.reject(new Error('later'))],
  ['ends at once', () => 'ok'],
  ['ends later', () => Promise.resolve('ok')],
  ['needs input', (_args, { elicit }) => elicit({ message: 'Sure?', schema: {} })],
])('a slot is released when a call %s', async (_how, handler) => {
  const slots = new Slots();
  const source = withStages(recordingSource(), [concurrency({ perCaller: 1 }, { slots })]);
  const tool = toolCalled('a', { handler });
  for (let made = 0; made < 3; made++) {
    await Promise.resolve()
      .then(() => source.call(createTestCall(tool)))
      .catch(() => {});
    expect(slots.running).toBe(0);
  }
});

test(
  'a slot is released when a call is cancelled, even if the tool continues',
  async () => {
    const { start, slots, running } = gated({ perCaller: 1 });
    const cancellation = new Cancellation();
    const call = start('a', { cancellation });
    cancellation.abort(new ToolcribError('cancelled', 'Enough.'));
    await expect(call).rejects.toMatchObject({ code: 'cancelled' });
    expect(running()).toEqual(['a']);
    expect(slots.running).toBe(0);
  },
  FAST_MS,
);

test('without a time limit in an inner stage, a cancelled call keeps its slot until the tool ends', async () => {
  const slots = new Slots();
  let finish = (): void => {};
  const tool = toolCalled('a', { handler: () => new Promise<void>((resolve) => (finish = resolve)) });
  const source = withStages(recordingSource(), [concurrency({}, { slots })]);
  const call = createTestCall(tool);
  const ended = source.call(call);
  call.cancellation.abort(new ToolcribError('cancelled', 'Enough.'));
  await settle();
  expect(slots.running).toBe(1);
  finish();
  await ended;
  expect(slots.running).toBe(0);
});

describe('R6 a client that disconnects while the intent is written', () => {
  test('R6 leaves no open intent: the record says cancelled, the tool did not run, and a retry under the key runs', async () => {
    const { source, pay, written, entries, runs, slots } = recordedLine((own) =>
      concurrency({ perCaller: 1 }, { slots: own }),
    );
    const call = createTestCall(pay, { meta: { [idempotencyKey]: 'k-1' } });
    const answer = Promise.resolve(source.call(call));
    await settle();
    expect(openIntents(entries)).toEqual([call.record.id]);
    call.cancellation.abort(new ToolcribError('cancelled', 'The client hung up.'));
    await settle();
    expect(slots.running).toBe(1);
    written();
    await expect(answer).rejects.toMatchObject({ code: 'cancelled' });
    expect(entries.map(({ body }) => JSON.parse(body))).toMatchObject([
      { kind: 'intent', call: call.record.id },
      { kind: 'outcome', call: call.record.id, outcome: 'cancelled' },
    ]);
    expect(openIntents(entries)).toEqual([]);
    expect(runs).toEqual([]);
    expect(slots.running).toBe(0);

    const again = createTestCall(pay, { meta: { [idempotencyKey]: 'k-1' } });
    const retried = Promise.resolve(source.call(again));
    await settle();
    written();
    expect(await retried).toMatchObject({ kind: 'done' });
    expect(runs).toHaveLength(1);
    expect(entries.slice(2).map(({ body }) => JSON.parse(body))).toMatchObject([
      { kind: 'intent', call: again.record.id },
      { kind: 'outcome', call: again.record.id, outcome: 'done' },
    ]);
  });

  test('R6 control: behind a stage that gives up by itself the intent stays open and the key used', async () => {
    const giveUp: Stage = {
      name: 'giveUp',
      wrap: (_tool, next) => (call) => call.cancellation.race(Promise.resolve(next(call))),
    };
    const { source, pay, written, entries } = recordedLine(() => giveUp);
    const call = createTestCall(pay, { meta: { [idempotencyKey]: 'k-1' } });
    const answer = Promise.resolve(source.call(call));
    await settle();
    call.cancellation.abort(new ToolcribError('cancelled', 'The client hung up.'));
    await expect(answer).rejects.toMatchObject({ code: 'cancelled' });
    written();
    await settle();
    expect(openIntents(entries)).toEqual([call.record.id]);
    const again = createTestCall(pay, { meta: { [idempotencyKey]: 'k-1' } });
    await expect(source.call(again)).rejects.toMatchObject({ code: 'outcome_unknown' });
  });
});

test('a call that becomes a task keeps its slot until it ends', async () => {
  const slots = new Slots();
  let finish = (): void => {};
  const source = withStages(recordingSource(), [concurrency({}, { slots })]);
  const long = toolCalled('long', {
    async handler(_args, { detach }) {
      detach();
      await new Promise<void>((resolve) => (finish = resolve));
    },
  });
  let detached = false;
  const ended = source.call(createTestCall(long, { voice: { detach: () => (detached = true) } }));
  await settle();
  expect(detached).toBe(true);
  expect(slots.running).toBe(1);
  finish();
  await ended;
  expect(slots.running).toBe(0);
});

test('a synchronous call stays synchronous, however many there are', () => {
  const source = withStages(recordingSource(), [concurrency({ perCaller: 1 })]);
  for (let made = 0; made < 100; made++)
    expect(source.call(createTestCall(toolCalled('a')))).toMatchObject({ kind: 'done' });
});

test('new options count the calls that are running', async () => {
  const slots = new Slots();
  const clock = createFakeClock();
  const held = withStages(endless(), [concurrency({ perCaller: 5 }, { slots, clock })]);
  void held.call(createTestCall(toolCalled('a')));
  const after = withStages(endless(), [concurrency({ perCaller: 1, queue: 0 }, { slots, clock })]);
  await expect(after.call(createTestCall(toolCalled('a')))).rejects.toMatchObject({ code: 'busy' });
});

test('resource reads use slots too', async () => {
  const slots = new Slots();
  const source = withStages(endless(), [concurrency({ perCaller: 1, queue: 0 }, { slots })]);
  void source.call(readingOf());
  await expect(source.call(readingOf())).rejects.toMatchObject({ code: 'busy' });
});

test('an unknown tool uses no slot', () => {
  const next = (): Result => DONE;
  expect(concurrency().wrap!(absentTool('x'), next)).toBe(next);
});

test('for any sequence of events, limits hold and no slot is lost', async () => {
  const random = seeded(7);
  const { start, running, end, slots, clock } = gated({
    perCaller: 2,
    perTenant: 3,
    perTool: { t0: 2 },
    queue: 4,
  });
  const calls: Promise<unknown>[] = [];
  const cancellations: Cancellation[] = [];
  for (let step = 0; step < 1_000; step++) {
    const dice = random();
    if (dice < 0.5) {
      const cancellation = new Cancellation();
      cancellations.push(cancellation);
      const caller = callerCalled(`c${Math.floor(random() * 3)}`, `t${Math.floor(random() * 2)}`);
      calls.push(
        start(`t${Math.floor(random() * 2)}`, { caller, cancellation, key: `${step}` }).catch(() => {}),
      );
    } else if (dice < 0.8) end(running()[Math.floor(random() * running().length)] ?? '');
    else if (dice < 0.9)
      cancellations[Math.floor(random() * cancellations.length)]?.abort(new Error('Enough.'));
    else clock.advance(3_000);
    await settle();
    expect(slots.running).toBeLessThanOrEqual(6);
    expect(slots.waiting).toBeLessThanOrEqual(8);
  }
  while (running().length > 0) {
    for (const name of running()) end(name);
    await settle();
  }
  for (const cancellation of cancellations) cancellation.abort(new Error('Enough.'));
  await Promise.all(calls);
  expect(slots).toMatchObject({ running: 0, waiting: 0 });
});

test('invalid options are refused', () => {
  for (const wrong of [
    { perCaller: 0 },
    { queue: -1 },
    { waitSeconds: 0 },
    { perTool: { a: 0 } },
    { most: 1 },
  ])
    expect(concurrencyOptions.safeParse(wrong).success).toBe(false);
});

interface Gated {
  readonly start: (name: string, part?: Partial<ToolCall> & { readonly key?: string }) => Promise<Result>;
  readonly running: () => string[];
  readonly end: (key: string) => void;
  readonly slots: Slots;
  readonly clock: FakeClock;
}

interface RecordedLine {
  readonly source: ToolSource;
  readonly pay: Tool;
  readonly runs: unknown[];
  readonly entries: readonly Entry[];
  readonly slots: Slots;
  /** Lets the intent that is being written be on stable storage. */
  readonly written: () => void;
}

/** The line of a tool with effects, with a journal that takes its time over intents. */
function recordedLine(between: (slots: Slots) => Stage): RecordedLine {
  const clock = createFakeClock();
  // Nothing here uses what the protocol remembers.
  const { entries, journal: quick, reservations } = createInMemoryStore({ clock, memory: {} as Memory });
  const runs: unknown[] = [];
  const slots = new Slots();
  let written = (): void => {};
  const journal: Journal = {
    isReady: true,
    append: (entry) => quick.append(entry),
    async commit(entry, reservation) {
      const answer = await quick.commit(entry, reservation);
      await new Promise<void>((resolve) => (written = resolve));
      return answer;
    },
  };
  const parts = { journal, digestKey: 'k'.repeat(43), clock };
  const source = withStages(recordingSource(), [
    audit({}, parts),
    idempotency({}, { reservations, clock }),
    between(slots),
    commit(parts),
    timeout({}, { clock }),
  ]);
  const pay = toolCalled('pay', { handler: (args) => (runs.push(args), 'paid') });
  return { source, pay, runs, entries, slots, written: () => written() };
}

function openIntents(entries: readonly Entry[]): string[] {
  const intents = new OpenIntents();
  for (const entry of entries) intents.take(entry);
  return intents.entries().map(([call]) => call);
}

/** Tools that run until the test ends them; a call is known by its key, or by the name of its tool. */
function gated(options: Parameters<typeof concurrency>[0]): Gated {
  const clock = createFakeClock();
  const slots = new Slots();
  const ends = new Map<string, () => void>();
  const source = withStages(
    {
      list: () => [],
      find: () => undefined,
      call: (call) =>
        new Promise<Result>((resolve) => {
          ends.set(call.meta['key'] as string, () => resolve(DONE));
        }),
    },
    [concurrency(options, { clock, slots }), timeout({ seconds: 3_600 }, { clock })],
  );
  const tools = new Map<string, Tool>();
  return {
    clock,
    slots,
    running: () => [...ends.keys()],
    end(key) {
      ends.get(key)?.();
      ends.delete(key);
    },
    async start(name, { key = name, ...part } = {}) {
      const tool = tools.get(name) ?? toolCalled(name);
      tools.set(name, tool);
      return source.call(createTestCall(tool, { ...part, meta: { key } }));
    },
  };
}

function endless(): ToolSource {
  return { list: () => [], find: () => undefined, call: () => new Promise(() => {}) };
}

// Lets everything run that only waits for a turn.
async function settle(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await Promise.resolve();
}

function callerCalled(id: string, tenant = 'acme'): Caller {
  return { ...localCaller, id, tenant: { id: tenant, name: tenant, data: {} } };
}

// The same numbers every time, so that a failure can be seen again.
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

function readingOf(): ResourceCall {
  const { tool: _tool, arguments: _arguments, ...base } = createTestCall(toolCalled('a'));
  const resource = { uri: 'note:1', name: 'note', read: () => 'text' };
  return { ...base, kind: 'resource', resource, uri: 'note:1', variables: {} };
}

function toolCalled(name: string, part: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties: {} },
    handler: () => 'ok',
    ...part,
  };
}
