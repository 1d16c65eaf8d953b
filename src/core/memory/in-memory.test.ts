import { expect, test } from 'vitest';
import type { TaskRecord } from './memory.ts';
import { createFakeClock } from '../../testing.ts';
import { createInMemory } from './in-memory.ts';

function open() {
  const clock = createFakeClock();
  return { clock, memory: createInMemory(clock) };
}

function taskRecord(id: string, createdAt: number): TaskRecord {
  return { id, owner: 'ada', status: 'working', createdAt, updatedAt: createdAt, ttlMs: 1_000 };
}

test('every process has its own key, found by its name', async () => {
  const { memory } = open();
  const key = await memory.keys.current();
  expect(key.bytes).toHaveLength(32);
  expect(await memory.keys.find(key.id)).toBe(key);
  expect(await memory.keys.find('another')).toBe(undefined);
  const other = await open().memory.keys.current();
  expect(Buffer.compare(other.bytes, key.bytes)).not.toBe(0);
});

test('A11 a request state can be used once', () => {
  const { memory, clock } = open();
  const expiresAt = clock.now() + 1_000;
  expect(memory.spent.spend('state', expiresAt, 'ada')).toBe(true);
  expect(memory.spent.spend('state', expiresAt, 'ada')).toBe(false);
  expect(memory.spent.spend('another', expiresAt, 'ada')).toBe(true);
});

test('A11 no flood of states makes a used one valid again', () => {
  const { memory, clock } = open();
  const expiresAt = clock.now() + 1_000;
  for (let count = 0; count < 10_000; count++) void memory.spent.spend(`state ${count}`, expiresAt, 'ada');
  expect(memory.spent.spend('one more', expiresAt, 'ada')).toBe(false);
  expect(memory.spent.spend('of another', expiresAt, 'bob')).toBe(true);
  expect(memory.spent.spend('state 0', expiresAt, 'ada')).toBe(false);
  clock.advance(1_000);
  expect(memory.spent.spend('one more', clock.now() + 1_000, 'ada')).toBe(true);
});

test('a task can be found during its lifetime', () => {
  const { memory, clock } = open();
  void memory.tasks.put(taskRecord('task', clock.now()));
  clock.advance(999);
  expect(memory.tasks.get('task')).toMatchObject({ id: 'task' });
  clock.advance(1);
  expect(memory.tasks.get('task')).toBe(undefined);
  expect(memory.tasks.get('another')).toBe(undefined);
});

test('A8 a caller that begins too many tasks loses its own oldest, and other callers are not affected', () => {
  const { memory, clock } = open();
  void memory.tasks.put({ ...taskRecord('first of all', clock.now()), owner: 'another' });
  for (let count = 0; count <= 1_000; count++)
    void memory.tasks.put(taskRecord(`task ${count}`, clock.now()));
  expect(memory.tasks.get('task 0')).toBe(undefined);
  expect(memory.tasks.get('task 1')).toBeDefined();
  expect(memory.tasks.get('task 1000')).toBeDefined();
  expect(memory.tasks.get('first of all')).toBeDefined();
});

test('the events of a stream are found after any of them, in order, until they are removed', () => {
  const { events } = open().memory;
  for (const id of ['s.1', 's.2', 's.3']) void events.keep('s', { id, text: id }, 'ada');
  void events.keep('other', { id: 'other.1', text: '' }, 'ada');
  expect(events.after('s', 's.1', 'ada')).toEqual([
    { id: 's.2', text: 's.2' },
    { id: 's.3', text: 's.3' },
  ]);
  expect(events.after('s', 's.3', 'ada')).toEqual([]);
  expect(events.after('s', 'other.1', 'ada')).toBe(undefined);
  expect(events.after('none', 's.1', 'ada')).toBe(undefined);
  void events.forget('s', 'ada');
  expect(events.after('s', 's.1', 'ada')).toBe(undefined);
});

test('A8 the stored size of a stream is limited, and a gap is reported', () => {
  const { events } = open().memory;
  for (let count = 1; count <= 1_001; count++)
    void events.keep('many', { id: String(count), text: 'x' }, 'ada');
  expect(events.after('many', '1', 'ada')).toBe(undefined);
  expect(events.after('many', '2', 'ada')).toHaveLength(999);

  const large = 'x'.repeat(600_000);
  for (const id of ['1', '2', '3']) void events.keep('large', { id, text: large }, 'ada');
  expect(events.after('large', '2', 'ada')).toBe(undefined);
  expect(events.after('large', '3', 'ada')).toEqual([]);
});

test('A8 the number of stored streams is limited: the oldest is removed first', () => {
  const { events } = open().memory;
  for (let count = 0; count <= 10_000; count++) void events.keep(`s${count}`, { id: '1', text: '' }, 'ada');
  expect(events.after('s0', '1', 'ada')).toBe(undefined);
  expect(events.after('s1', '1', 'ada')).toEqual([]);
});

test('sessions are stored until they are deleted', () => {
  const { sessions } = open().memory;
  const record = { id: 'a', owner: 'ada', protocolVersion: '2025-11-25', client: {}, createdAt: 0 };
  void sessions.put(record);
  expect(sessions.get('a')).toBe(record);
  void sessions.delete('a');
  expect(sessions.get('a')).toBe(undefined);
});
