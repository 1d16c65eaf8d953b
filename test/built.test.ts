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
