import { expect, test } from 'vitest';
import { localCaller } from './caller.ts';
import { createNameMap, merge } from './merge.ts';
import { makeCall } from './make-call.ts';
import { ToolRegistry } from './registry.ts';
import { defineTool } from './tool.ts';

const registry = (answer: string): ToolRegistry =>
  new ToolRegistry().registerTool(defineTool({ name: 'search', description: 'Searches.' }, () => answer));

test('two sources with the same tool are shown under their labels, and calls go where the name leads', async () => {
  const merged = merge({ web: registry('from the web'), notes: registry('from the notes') });
  const tools = await merged.list(localCaller);
  expect(tools.map(({ name }) => name)).toEqual(['notes__search', 'web__search']);
  const tool = (await merged.find('web__search', localCaller))!;
  const call = makeCall({ kind: 'tool', tool, arguments: {} }, { caller: localCaller });
  expect(await merged.call(call)).toMatchObject({ content: [{ text: 'from the web' }] });
});

test('the list stays the same array until a source has another one', async () => {
  const web = registry('a');
  const merged = merge({ web });
  const before = await merged.list(localCaller);
  expect(await merged.list(localCaller)).toBe(before);
  web.registerTool(defineTool({ name: 'other', description: 'Is new.' }, () => 'b'));
  expect((await merged.list(localCaller)).map(({ name }) => name)).toEqual(['web__other', 'web__search']);
});

test('a name that was not listed yet is found', async () => {
  const merged = merge({ web: registry('a') });
  expect(await merged.find('web__search', localCaller)).toMatchObject({ name: 'web__search' });
  expect(await merged.find('web__absent', localCaller)).toBeUndefined();
});

test('every name leads back to what it stands for, however odd or long it is', () => {
  const names = createNameMap();
  const places = ['search', 'a.b', 'a_b', 'a/b', 'x'.repeat(100), `${'x'.repeat(99)}y`].map((name) => ({
    source: 'web',
    name,
  }));
  const shown = places.map((place) => names.toShown(place));
  expect(new Set(shown).size).toBe(places.length);
  for (const [index, name] of shown.entries()) {
    expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(names.toPlace(name)).toEqual(places[index]);
    expect(names.toShown(places[index]!)).toBe(name);
  }
});

test('a label that would make names unclear is refused', () => {
  expect(() => merge({ a__b: registry('a') })).toThrow('cannot be the label of a source');
});
