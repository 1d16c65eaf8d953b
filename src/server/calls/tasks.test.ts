import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { localCaller, type Caller } from '../../core/caller.ts';
import { Cancellation } from '../../base/cancellation.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { TaskRecord, TaskRecords } from '../../core/memory/memory.ts';
import type { Question } from '../../core/question.ts';
import type { RequestMessage } from '../../protocol/wire/json-rpc.ts';
import { revisionOf } from '../../protocol/revisions/revisions.ts';
import { createFakeClock } from '../../testing.ts';
import { createInMemory } from '../../core/memory/in-memory.ts';
import { createLink } from '../link.ts';
import type { UnderstoodRequest } from '../request.ts';
import { encodeTask, Tasks } from './tasks.ts';

const bob: Caller = { ...localCaller, id: 'bob' };
const question: Question = {
  kind: 'form',
  message: 'Sure?',
  schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
};
const accept = (ok: unknown) => ({ action: 'accept', content: { ok } });
const message: RequestMessage = { kind: 'request', id: 1, idText: '1', method: 'tools/call', params: {} };

function open(change: Partial<TaskRecords> = {}) {
  const clock = createFakeClock();
  const records = { ...createInMemory(clock).tasks, ...change };
  const tasks = new Tasks(records, clock);
  const changes: TaskRecord[] = [];
  tasks.onChange = (record) => void changes.push(record);
  const request: UnderstoodRequest = {
    message,
    revision: revisionOf('2026-07-28')!,
    client: {
      name: undefined,
      version: undefined,
      protocolVersion: '2026-07-28',
      capabilities: { elicitation: {} },
    },
    link: createLink(localCaller, () => {}),
  };
  const begin = () => {
    const cancellation = new Cancellation();
    return tasks.begin(request, cancellation).then((task) => ({ task, cancellation }));
  };
  return { clock, tasks, changes, begin, statuses: () => changes.map(({ status }) => status) };
}

test('a task can be read before its id is sent, and the id cannot be guessed', async () => {
  const { tasks, begin } = open();
  const ids = new Set<string>();
  for (let count = 0; count < 50; count++) {
    const { task } = await begin();
    expect(await tasks.find(task.record.id, localCaller)).toEqual(task.record);
    ids.add(task.record.id);
  }
  expect(ids.size).toBe(50);
  for (const id of ids) expect(Buffer.from(id, 'base64url')).toHaveLength(16);
});

test('A9 a task is unknown to every other caller', async () => {
  const { tasks, begin } = open();
  const { task, cancellation } = await begin();
  const { id } = task.record;
  const unknown = expect.objectContaining({ code: 'unknown_task' }) as Error;
  await expect(tasks.find(id, bob)).rejects.toThrow(unknown);
  await expect(tasks.update(id, bob, {})).rejects.toThrow(unknown);
  await expect(tasks.cancel(id, bob)).rejects.toThrow(unknown);
  await expect(tasks.find('__proto__', localCaller)).rejects.toThrow(unknown);
  expect(cancellation.reason).toBe(undefined);
});

test('a task waits for every answer, and accepts only answers to its questions', async () => {
  const { tasks, begin, statuses, changes } = open();
  const { task } = await begin();
  const { id } = task.record;
  const asked = task.ask(
    new Map([
      ['a', question],
      ['b', question],
    ]),
  );
  await setImmediate();
  expect(Object.keys(changes.at(-1)!.inputRequests!)).toEqual(['a', 'b']);
  await tasks.update(id, localCaller, { b: accept(true), c: accept(true), ['__proto__']: accept(true) });
  expect(Object.keys(changes.at(-1)!.inputRequests!)).toEqual(['a']);
  await tasks.update(id, localCaller, { a: accept('no boolean') });
  await tasks.update(id, localCaller, { b: accept(false) });
  await tasks.update(id, localCaller, {});
  expect(statuses()).toEqual(['input_required', 'input_required']);
  await tasks.update(id, localCaller, { a: { action: 'cancel' } });
  expect(await asked).toEqual(
    new Map<string, unknown>([
      ['a', { action: 'cancel' }],
      ['b', accept(true)],
    ]),
  );
  expect(statuses()).toEqual(['input_required', 'input_required', 'working']);
  expect(changes.at(-1)).not.toHaveProperty('inputRequests');
});

test('a task that has ended never changes again', async () => {
  const { tasks, begin, statuses } = open();
  const { task, cancellation } = await begin();
  const { id } = task.record;
  const asked = task.ask(new Map([['a', question]]));
  const outcome = asked.catch((error: unknown) => error);
  await tasks.cancel(id, localCaller);
  expect(cancellation.reason).toMatchObject({ code: 'cancelled' });
  expect(await outcome).toMatchObject({ code: 'cancelled' });
  await tasks.update(id, localCaller, { a: accept(true) });
  await task.take({ a: accept(true) });
  await task.end({ result: { content: [] } });
  await task.end({ error: new ToolcribError('internal', 'Too late.') });
  await expect(task.ask(new Map([['b', question]]))).rejects.toMatchObject({ code: 'cancelled' });
  await tasks.cancel(id, localCaller);
  expect(statuses()).toEqual(['input_required', 'cancelled']);
  expect(await tasks.find(id, localCaller)).toMatchObject({ status: 'cancelled' });
});

test('changes of a task are stored in order, however slow the memory is', async () => {
  const delays = [0, 5, 3, 0];
  const kept: string[] = [];
  const { begin } = open({
    async put({ status }) {
      for (let turn = delays.shift()!; turn > 0; turn--) await setImmediate();
      kept.push(status);
    },
  });
  const { task } = await begin();
  const asked = task.ask(new Map([['a', question]]));
  void task.take({ a: accept(true) });
  await Promise.all([asked, task.end({ result: {} })]);
  expect(kept).toEqual(['working', 'input_required', 'working', 'completed']);
});

test('a failure of the memory does not stop later changes from being stored', async () => {
  let fails = false;
  const kept: string[] = [];
  const { begin } = open({
    async put({ status }) {
      if (fails) throw new Error('connection refused');
      kept.push(status);
    },
  });
  const { task } = await begin();
  fails = true;
  await expect(task.ask(new Map([['a', question]]))).rejects.toThrow('connection refused');
  fails = false;
  await task.end({ result: {} });
  expect(kept).toEqual(['working', 'completed']);
});

test('a task whose end cannot be stored is no longer kept', async () => {
  let fails = false;
  const { tasks, begin } = open({
    async put() {
      if (fails) throw new Error('connection refused');
    },
  });
  const { task, cancellation } = await begin();
  fails = true;
  await expect(task.end({ result: {} })).rejects.toThrow('connection refused');
  tasks.stop(new Error('stopped'));
  expect(cancellation.reason).toBeUndefined();
});

test('stopping a task while its question is stored causes no unhandled rejection', async () => {
  const { tasks, begin } = open({ put: () => setImmediate(), get: (id) => found(id) });
  const found = (id: string): TaskRecord => ({ ...task.record, id });
  const { task } = await begin();
  const asked = task.ask(new Map([['a', question]]));
  asked.catch(() => {});
  await tasks.cancel(task.record.id, localCaller);
  await setImmediate();
  await expect(asked).rejects.toMatchObject({ code: 'cancelled' });
});

test('a question that the client does not support is refused', async () => {
  const { begin } = open();
  const { task } = await begin();
  await expect(task.ask(new Map([['a', { kind: 'roots' }]]))).rejects.toMatchObject({
    code: 'missing_capability',
  });
});

test('a task has the fields that the protocol defines for its state, and no others', async () => {
  const { begin, changes, clock } = open();
  const { task } = await begin();
  clock.advance(1_500);
  await task.end({ error: new ToolcribError('internal', 'Broken.', { data: { why: 1 } }) });
  expect(JSON.parse(JSON.stringify(encodeTask(changes[0]!)))).toEqual({
    taskId: task.record.id,
    status: 'failed',
    createdAt: '2026-01-01T00:00:00.000Z',
    lastUpdatedAt: '2026-01-01T00:00:01.500Z',
    ttlMs: 3_600_000,
    pollIntervalMs: 500,
    error: { code: -32603, message: 'Broken.', data: { why: 1 } },
  });
});
