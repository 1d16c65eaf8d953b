import { expect, test } from 'vitest';
import { localCaller, type Caller } from '../caller.ts';
import { makeCall } from '../make-call.ts';
import { ToolRegistry } from '../registry.ts';
import type { ToolSource } from '../source.ts';
import { defineTool } from '../tool.ts';
import { EVERYBODY_ELSE, mergeByGroup } from './merge-by-group.ts';

const [ada, bob]: readonly Caller[] = ['ada', 'bob'].map((id) => ({ ...localCaller, id }));
const search = (answer: string): ToolRegistry =>
  new ToolRegistry().registerTool(defineTool({ name: 'search', description: 'Searches.' }, () => answer));

/** Lists its tools to one caller alone. */
function onlyFor(caller: Caller, source: ToolRegistry): ToolSource {
  return {
    list: (asking) => (asking.id === caller.id ? source.list() : []),
    find: (name, asking) => (asking.id === caller.id ? source.find(name) : undefined),
    call: (call) => source.call(call),
  };
}

const namesFor = async (source: ToolSource, caller: Caller): Promise<readonly string[]> =>
  (await source.list(caller)).map(({ name }) => name);

test('the name of a tool does not reveal that others are shown one of the same name', async () => {
  const sources = { web: search('web'), notes: onlyFor(ada!, search('notes')) };
  const merged = mergeByGroup(sources, { prefix: 'collisions' }, ({ id }) =>
    id === 'ada' ? id : EVERYBODY_ELSE,
  );
  expect(await namesFor(merged, ada!)).toEqual(['notes__search', 'web__search']);
  expect(await namesFor(merged, bob!)).toEqual(['search']);
  expect(await merged.find('notes__search', bob!)).toBeUndefined();
  const tool = (await merged.find('search', bob!))!;
  const call = makeCall({ kind: 'tool', tool, arguments: {} }, { caller: bob! });
  expect(await merged.call(call)).toMatchObject({ content: [{ text: 'web' }] });
});
