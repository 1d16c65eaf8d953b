import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { localCaller, type Caller } from '../../core/caller.ts';
import { ToolRegistry } from '../../core/registry.ts';
import { defineResource } from '../../core/resources/resource.ts';
import { withStages, type Stage } from '../../core/stage.ts';
import type { Change, ToolSource } from '../../core/source.ts';
import { defineTool } from '../../core/tool.ts';
import { Accidents } from '../accidents.ts';
import { Announcer, type Listener } from './announcer.ts';

const accidents = new Accidents(() => {});

const named = (name: string) => defineTool({ name, description: 'One of several.' }, () => name);
const hideSecrets: Stage = {
  name: 'hideSecrets',
  expose: (tool) => (tool.name.startsWith('secret') ? null : tool),
};

/** A listener that notes its notifications. */
function listener(follows: readonly string[] = [], caller: Caller = localCaller) {
  const heard: Change[] = [];
  const ear: Listener = {
    caller,
    follows: (uri) => follows.includes(uri),
    hear: (change) => void heard.push(change),
  };
  return { ...ear, heard };
}

/** The same source, with lists that take a while. */
function slowly(source: ToolSource): ToolSource {
  return {
    list: async (caller) => {
      await setImmediate();
      return source.list(caller);
    },
    find: (name, caller) => source.find(name, caller),
    call: (call) => source.call(call),
    watch: (told) => source.watch!(told),
  };
}

test('a subscriber is notified of changes of tools that it can see, until it leaves', async () => {
  const source = new ToolRegistry().registerTool(named('first'));
  const announcer = new Announcer(withStages(source, [hideSecrets]), accidents);
  const ear = listener();
  const leave = announcer.join(ear);
  source.registerTool(named('secret'));
  await setImmediate();
  expect(ear.heard).toEqual([]);
  source.registerTool(named('second'));
  await setImmediate();
  expect(ear.heard).toMatchObject([{ kind: 'tools', added: ['second'] }]);
  leave();
  source.remove('second');
  await setImmediate();
  expect(ear.heard).toHaveLength(1);
});

test('a source is watched once, and only while there are subscribers', () => {
  let watching = 0;
  const source = new ToolRegistry();
  const announcer = new Announcer(
    {
      ...slowly(source),
      watch: () => {
        watching++;
        return () => void watching--;
      },
    },
    accidents,
  );
  expect([announcer.works, watching]).toEqual([true, 0]);
  const leave = [announcer.join(listener()), announcer.join(listener())];
  expect(watching).toBe(1);
  leave[0]!();
  expect(watching).toBe(1);
  leave[1]!();
  expect(watching).toBe(0);
  announcer.join(listener())();
  expect(watching).toBe(0);
  const { watch: _watch, ...still } = slowly(source);
  expect(new Announcer(still, accidents).works).toBe(false);
});

test('a change of a hidden tool is not announced, even before a slow source has listed anything', async () => {
  const source = new ToolRegistry().registerTool(named('first'));
  const announcer = new Announcer(slowly(withStages(source, [hideSecrets])), accidents);
  const ear = listener();
  announcer.join(ear);
  source.registerTool(named('secret'));
  for (let turn = 0; turn < 5; turn++) await setImmediate();
  expect(ear.heard).toEqual([]);
  source.registerTool(named('second'));
  for (let turn = 0; turn < 5; turn++) await setImmediate();
  expect(ear.heard).toHaveLength(1);
});

test('a client that left while a slow source was listing is not notified', async () => {
  const source = new ToolRegistry();
  const announcer = new Announcer(slowly(source), accidents);
  const ear = listener();
  const leave = announcer.join(ear);
  for (let turn = 0; turn < 3; turn++) await setImmediate();
  source.registerTool(named('first'));
  await Promise.resolve();
  leave();
  for (let turn = 0; turn < 5; turn++) await setImmediate();
  expect(ear.heard).toEqual([]);
});

test.each<[string, ToolSource['list']]>([
  [
    'throws',
    () => {
      throw new Error('upstream down');
    },
  ],
  ['fails later', () => Promise.reject(new Error('upstream down'))],
])('a source whose list %s ends no stream, and other subscribers are notified', async (_how, fail) => {
  const source = new ToolRegistry();
  const failing: Caller = { ...localCaller, id: 'failing' };
  const announcer = new Announcer(
    {
      ...slowly(source),
      list: (caller) => (caller === failing ? fail(caller) : source.list()),
    },
    accidents,
  );
  const [broken, fine] = [listener([], failing), listener()];
  announcer.join(broken);
  announcer.join(fine);
  source.registerTool(named('first'));
  for (let turn = 0; turn < 3; turn++) await setImmediate();
  expect(fine.heard).toHaveLength(1);
  expect(broken.heard).toEqual([]);
});

test('A9 an update is sent only to subscribers that can read the resource', async () => {
  const source = new ToolRegistry().registerResource(
    defineResource({ uri: 'note://one', name: 'one' }, () => '1'),
  );
  await setImmediate();
  const stranger: Caller = { ...localCaller, id: 'stranger' };
  const announcer = new Announcer(
    {
      ...slowly(source),
      resources: {
        list: () => source.resources!.list(),
        templates: () => source.resources!.templates(),
        find: async (uri, caller) => (caller === stranger ? undefined : source.resources!.find(uri)),
      },
    },
    accidents,
  );
  const ears = {
    follows: listener(['note://one']),
    other: listener(['note://two']),
    foreign: listener(['note://one'], stranger),
  };
  for (const ear of Object.values(ears)) announcer.join(ear);
  source.resourceUpdated('note://one');
  source.resourceUpdated('note://gone');
  await setImmediate();
  expect(ears.follows.heard).toEqual([{ kind: 'resource', uri: 'note://one' }]);
  expect(ears.other.heard).toEqual([]);
  expect(ears.foreign.heard).toEqual([]);
});
