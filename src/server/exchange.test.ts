import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createServer, defineTool, ToolRegistry } from '../index.ts';
import { createLink } from './link.ts';
import { Session } from './sessions/session.ts';
import { keepsNothing } from './sessions/stream.ts';

const ada = { id: 'ada', tenant: { id: 'acme', name: 'acme', data: {} }, roles: [], scopes: [], data: {} };

/** A server with a tool that notes what it was called with, and a stream of 2024-11-05 to post to. */
function open() {
  const called: unknown[] = [];
  const input = { properties: { what: { type: 'string' }, filler: { type: 'string' } } } as const;
  const note = defineTool({ name: 'note', description: 'Notes.', input }, ({ what }) => {
    called.push(what);
  });
  const server = createServer({ source: new ToolRegistry().registerTool(note), log: () => {} });
  const session = new Session('stream', ada, keepsNothing);
  const post = async (what: string, bytes = 0): Promise<void> => {
    const params = { name: 'note', arguments: { what, filler: 'x'.repeat(bytes) } };
    const message = { jsonrpc: '2.0', id: what, method: 'tools/call', params };
    const link = { ...createLink(ada, () => {}, session), handshakeOnly: true };
    await server.exchange.answer(Buffer.from(JSON.stringify(message)), link);
  };
  return { called, session, post };
}

test('a large message posted beside a stream waits for its turn, and those behind it keep their order', async () => {
  const { called, post } = open();
  const posted = [post('large', 100_000), post('small'), post('large too', 100_000), post('last')];
  expect(called).toEqual([]);
  await Promise.all(posted);
  expect(called).toEqual(['large', 'small', 'large too', 'last']);
  void post('alone');
  expect(called.at(-1)).toBe('alone');
});

test('a large message whose stream ended before its turn is not run', async () => {
  const { called, session, post } = open();
  const posted = post('large', 100_000);
  session.end();
  await posted;
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  expect(called).toEqual([]);
});
