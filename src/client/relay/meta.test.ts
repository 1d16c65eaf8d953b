import { expect, test } from 'vitest';
import { relayedMeta } from './meta.ts';

const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test('the trace and what others put into `_meta` go on, and nothing else', () => {
  const passed = { traceparent: parent, tracestate: 'a=1', 'com.acme/team': { id: 7 }, 'acme/x': null };
  const kept = {
    baggage: 'user=ada',
    progressToken: 3,
    plain: 'x',
    '/x': 'x',
    'io.modelcontextprotocol/clientInfo': {},
    'tools.mcp.com/x': 'x',
    'MCP.example/x': 'x',
    'dev.toolcrib/origin': {},
    'Toolcrib/x': 'x',
  };
  expect(relayedMeta({ ...passed, ...kept })).toEqual(passed);
  expect(relayedMeta(kept)).toBeUndefined();
  expect(relayedMeta({})).toBeUndefined();
});

test('a domain that only holds such a name within a label is that of others', () => {
  const others = { 'mcpx.example/x': 1, 'my-toolcrib.example/x': 2, 'modelcontextprotocols.example/x': 3 };
  expect(relayedMeta(others)).toEqual(others);
});

test('a trace that is no text, or too long to be one, stays behind', () => {
  for (const traceparent of [7, null, {}, [parent], 'x'.repeat(513)])
    expect(relayedMeta({ traceparent })).toBeUndefined();
});
