import { expect, onTestFinished, test } from 'vitest';
import { localCaller } from '../src/core/caller.ts';
import { ToolRegistry } from '../src/core/registry.ts';
import { createServer } from '../src/server/create-server.ts';
import { listen } from '../src/server/http/node-http.ts';

test('a call over HTTP goes through twelve files from the socket to the function, in this order', async () => {
  const passed = new Set<string>();
  const registry = new ToolRegistry().register('look', () => filesOnStack(passed), { description: 'Looks.' });
  const authenticate = (): typeof localCaller => {
    filesOnStack(passed);
    return localCaller;
  };
  const http = await listen(createServer({ source: registry, authenticate }), { port: 0 });
  onTestFinished(() => http.close(0));
  const response = await fetch(http.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2025-06-18' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'look' } }),
  });
  expect(await response.json()).toMatchObject({ result: { content: [] } });
  expect([...passed]).toEqual([
    'server/http/node-http.ts',
    'server/http/node-endpoint.ts',
    'server/http/gate.ts',
    'server/exchange.ts',
    'server/calls/methods.ts',
    'server/calls/tool-calls.ts',
    'server/calls/run.ts',
    'core/stage.ts',
    'core/essentials/validate.ts',
    'core/essentials/limit-time.ts',
    'core/registry.ts',
    'core/run-locally.ts',
  ]);
});

/** Adds the files of this project on the stack, outermost first; steps that returned are not on it. */
function filesOnStack(passed: Set<string>): void {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 200;
  const stack = new Error('where').stack ?? '';
  Error.stackTraceLimit = stackTraceLimit;
  const files = [...stack.matchAll(/\/src\/([^:)?]+\.ts)/g)].map(([, file]) => file!);
  for (const file of files.toReversed()) if (!file.startsWith('base/')) passed.add(file);
}
