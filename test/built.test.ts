import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createServer, defineResourceTemplate, localCaller, ToolRegistry } from '../dist/index.js';

// The long tests run all behaviour tests on the built files; this is the one thing a bundler is known to break.
test('the build keeps calls that are made only to see whether they throw', async () => {
  const note = defineResourceTemplate({ uriTemplate: 'note://{id}', name: 'note' }, ({ id }) => id);
  const server = createServer({ source: new ToolRegistry().registerResource(note) });
  const read = (uri: string) =>
    server.handle(
      { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } },
      {
        caller: localCaller,
        protocolVersion: '2025-06-18',
      },
    );
  expect(await read('note://%41')).toMatchObject({ result: { contents: [{ text: 'A' }] } });
  expect(await read('note://%zz')).toMatchObject({ error: { code: -32002 } });
});

/** The files that are loaded with one of the package, and their text. */
function loadedWith(file: string): ReadonlyMap<string, string> {
  const loaded = new Map<string, string>();
  const load = (path: string): void => {
    if (loaded.has(path)) return;
    const text = readFileSync(path, 'utf8');
    loaded.set(path, text);
    for (const [, next = ''] of text.matchAll(/\b(?:from|import)\s*["'](\.\.?\/[^"']+\.js)["']/g))
      load(join(dirname(path), next));
  };
  load(join(import.meta.dirname, '../dist', file));
  return loaded;
}

test.each(['index.js', 'node.js'])(
  'a program that imports %s loads neither a gateway nor libraries it may not need',
  (file) => {
    const all = [...loadedWith(file).values()].join('');
    expect(all.length).toBeLessThan(450_000);
    // Said by the settings of a gateway, by Zod and by what reads YAML.
    for (const foreign of ['relistSeconds', 'ZodError', 'YAMLParseError']) expect(all).not.toContain(foreign);
  },
);

test('the command line loads a command only when it is used, and agent code only for agent commands', () => {
  const loaded = loadedWith('shared/commands.js');
  expect(loaded.size).toBeLessThan(8);
  const all = [...loaded.values()].join('');
  expect(all).toContain('have an agent answer a question');
  // Said by the code of `run` itself.
  expect(all).not.toContain('The model wants to call');
  expect(all.length).toBeLessThan(225_000);
});
