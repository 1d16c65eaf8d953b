import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createServer, defineResourceTemplate, localCaller, ToolRegistry } from '../dist/index.js';

// The long tests run all behaviour tests on the built files; this is the one thing a bundler is known to break.
test('what was built keeps the calls that are made only to see whether they fail', async () => {
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

test('the command line loads no command before it is meant, and nothing of agents for the others', () => {
  const loaded = new Map<string, string>();
  const load = (file: string): void => {
    if (loaded.has(file)) return;
    const text = readFileSync(file, 'utf8');
    loaded.set(file, text);
    for (const [, next = ''] of text.matchAll(/\bfrom\s*["'](\.\.?\/[^"']+\.js)["']/g))
      load(join(dirname(file), next));
  };
  load(join(import.meta.dirname, '../dist/shared/commands.js'));
  expect(loaded.size).toBeLessThan(8);
  const all = [...loaded.values()].join('');
  expect(all).toContain('have an agent answer a question');
  // Said by the code of `run` itself.
  expect(all).not.toContain('The model wants to call');
  expect(all.length).toBeLessThan(220_000);
});
