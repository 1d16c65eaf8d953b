import { expect, test } from 'vitest';
import { ChangeNotes } from './change-notes.ts';
import type { Change } from './source.ts';
import type { Tool } from './tool.ts';

const first = toolOf('first');
const second = toolOf('second');

test('tools that were added, removed or changed in one turn are announced together', async () => {
  const { notes, tools, told } = watching();
  tools.set('new', first);
  tools.set('changed', second);
  notes.noteTool('new', undefined);
  notes.noteTool('gone', first);
  notes.noteTool('changed', first);
  expect(told).toEqual([]);
  await Promise.resolve();
  expect(told).toEqual([{ kind: 'tools', added: ['new'], removed: ['gone'], modified: ['changed'] }]);
});

test('changes are relative to the start of the turn, not to states in between', async () => {
  const { notes, tools, told } = watching();
  tools.set('same', first);
  notes.noteTool('same', first);
  notes.noteTool('same', undefined);
  notes.noteTool('same', second);
  await Promise.resolve();
  expect(told).toEqual([]);
});

test('a list that changed often in one turn is announced once, after the tools', async () => {
  const { notes, told } = watching();
  notes.note('prompts');
  notes.note('resources');
  notes.note('prompts');
  notes.noteTool('gone', first);
  await Promise.resolve();
  expect(told.map(({ kind }) => kind)).toEqual(['tools', 'prompts', 'resources']);
});

test('changes of the next turn are announced in the next turn', async () => {
  const { notes, told } = watching();
  notes.note('prompts');
  await Promise.resolve();
  notes.note('prompts');
  await Promise.resolve();
  expect(told).toEqual([{ kind: 'prompts' }, { kind: 'prompts' }]);
});

test('new content of a resource is announced at once', () => {
  const { notes, told } = watching();
  notes.tell({ kind: 'resource', uri: 'note://a' });
  expect(told).toEqual([{ kind: 'resource', uri: 'note://a' }]);
});

test('a watcher that stopped is not notified, and the others are', async () => {
  const { notes, told } = watching();
  const other: Change[] = [];
  notes.watch((change) => other.push(change))();
  notes.note('resources');
  await Promise.resolve();
  expect([told.length, other.length]).toEqual([1, 0]);
});

test('a change made by a watcher is announced too', async () => {
  const { notes, told } = watching();
  const stop = notes.watch(() => {
    stop();
    notes.note('resources');
  });
  notes.note('prompts');
  await Promise.resolve();
  await Promise.resolve();
  expect(told).toEqual([{ kind: 'prompts' }, { kind: 'resources' }]);
});

function watching(): { notes: ChangeNotes; tools: Map<string, Tool>; told: Change[] } {
  const tools = new Map<string, Tool>();
  const told: Change[] = [];
  const notes = new ChangeNotes((name) => tools.get(name));
  notes.watch((change) => told.push(change));
  return { notes, tools, told };
}

function toolOf(name: string): Tool {
  return { name, description: '', inputSchema: { type: 'object', properties: {} }, handler: () => undefined };
}
