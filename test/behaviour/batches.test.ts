import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import type { Json } from './peer.ts';
import { describeDoors, EventReader, modernBody, openSession, postHeaders } from './session-client.ts';

const tools = () => {
  const called: unknown[] = [];
  const note = defineTool(
    { name: 'note', description: 'Notes.', input: { properties: { what: { type: 'integer' } } } },
    ({ what }, { progress }) => {
      called.push(what);
      progress(1);
      return `noted ${what}`;
    },
  );
  return { called, note };
};
const request = (id: string | number, method: string, params: Json = {}) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const call = (id: number) => request(id, 'tools/call', { name: 'note', arguments: { what: id } });

describeDoors((open) => {
  test('A5 on 2025-03-26 every message of a batch gets its own response', async () => {
    const { note, called } = tools();
    const session = await openSession(await open({ tools: [note] }), { version: '2025-03-26' });
    const response = await session.post([
      call(1),
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 99 } },
      request('two', 'no/such'),
      request(3, 'tools/call', { name: 'note', arguments: { what: 'many' } }),
      { jsonrpc: '1.0', id: 4, method: 'ping' },
      request(5, 'tools/call', { name: 'unknown' }),
    ]);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject([
      { id: 1, result: { content: [{ text: 'noted 1' }] } },
      { id: 'two', error: { code: -32601 } },
      { id: 3, result: { isError: true } },
      { id: 4, error: { code: -32600 } },
      { id: 5, error: { code: -32602 } },
    ]);
    expect(called).toEqual([1]);
  });

  test('others have their turn between the calls of a batch', async () => {
    let turn = 0;
    const turns: number[] = [];
    const look = defineTool({ name: 'look', description: 'Looks.' }, () => void turns.push(turn));
    const session = await openSession(await open({ tools: [look] }), { version: '2025-03-26' });
    setImmediate(function next() {
      turn++;
      if (turns.length < 5) setImmediate(next);
    });
    const looks = [1, 2, 3, 4, 5].map((id) => request(id, 'tools/call', { name: 'look', arguments: {} }));
    expect((await session.post(looks)).status).toBe(200);
    expect(new Set(turns).size).toBe(5);
  });

  test('A5 a batch of fifty messages is accepted; of fifty-one messages none is run', async () => {
    const { note, called } = tools();
    const session = await openSession(await open({ tools: [note] }), { version: '2025-03-26' });
    const many = (count: number) => Array.from({ length: count }, (_, index) => call(index + 1));
    const taken = await session.post(many(50));
    expect(taken.status).toBe(200);
    expect(await taken.json()).toHaveLength(50);
    expect(called).toHaveLength(50);

    const refused = await session.post(many(51));
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: -32600 } });
    expect(called).toHaveLength(50);
  });

  test('a batch that holds no request is accepted with an empty response', async () => {
    const session = await openSession(await open(), { version: '2025-03-26' });
    const response = await session.post([
      { jsonrpc: '2.0', method: 'notifications/progress', params: {} },
      { jsonrpc: '2.0', id: 'nobody asked', result: {} },
    ]);
    expect(response.status).toBe(202);
    expect(await response.text()).toBe('');
  });

  test('A5 a handshake or a modern request inside a batch makes the whole batch invalid', async () => {
    const { note, called } = tools();
    const session = await openSession(await open({ tools: [note] }), { version: '2025-03-26' });
    const handshake = request(2, 'initialize', {
      protocolVersion: '2025-03-26',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    });
    for (const odd of [handshake, modernBody('tools/list', {}, { id: 2 })]) {
      const response = await session.post([call(1), odd]);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: -32600 } });
    }
    expect(called).toEqual([]);
  });

  test('A5 an empty batch is refused, and a batch inside a batch is not a message', async () => {
    const { note, called } = tools();
    const session = await openSession(await open({ tools: [note] }), { version: '2025-03-26' });
    const empty = await session.post([]);
    expect(empty.status).toBe(400);
    expect(await empty.json()).toMatchObject({ error: { code: -32600 } });
    const nested = await session.post([[call(1), call(2)]]);
    expect(await nested.json()).toMatchObject([{ error: { code: -32600 } }]);
    expect(called).toEqual([]);
  });

  test.each(['2024-11-05', '2025-06-18', '2025-11-25'])(
    'A5 sessions of %s do not accept batches',
    async (version) => {
      const { note, called } = tools();
      const session = await openSession(await open({ tools: [note] }), { version });
      for (const headers of [{}, { 'mcp-protocol-version': '2025-03-26' }]) {
        const response = await session.post([call(1)], headers);
        expect(response.status).toBe(400);
        expect(await response.json()).toMatchObject({ error: { code: -32600 } });
      }
      expect(called).toEqual([]);
    },
  );

  test.each([undefined, '2025-03-26', '2025-11-25', '2026-07-28'])(
    'A5 without a session a batch is refused, whatever version the header names: %s',
    async (version) => {
      const { note, called } = tools();
      const door = await open({ tools: [note] });
      const headers = { ...postHeaders('ada'), 'mcp-protocol-version': version };
      for (const body of [[call(1)], [modernBody('tools/call', { name: 'note' })]]) {
        const response = await door.send({ headers, body });
        expect(response.status).toBe(400);
        expect(await response.json()).toMatchObject({ error: { code: -32600 } });
      }
      expect(called).toEqual([]);
    },
  );

  test('progress and log messages of a call in a batch come before the responses, on one stream', async () => {
    const { note } = tools();
    const session = await openSession(await open({ tools: [note] }), { version: '2025-03-26' });
    const reporting = (id: number) => ({
      ...call(id),
      params: { ...call(id).params, _meta: { progressToken: id } },
    });
    const response = await session.post([reporting(1), reporting(2)]);
    const events = await new EventReader(response).rest();
    expect(events.map(({ data }) => JSON.parse(data!) as Json)).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 1 } },
      { method: 'notifications/progress', params: { progressToken: 2 } },
      [{ id: 1 }, { id: 2 }],
    ]);
  });

  test('two requests of a batch cannot have the same id', async () => {
    const release = Promise.resolve();
    const slow = defineTool({ name: 'slow', description: 'Takes a moment.' }, async () => {
      await release;
      return 'done';
    });
    const session = await openSession(await open({ tools: [slow] }), { version: '2025-03-26' });
    const same = request(1, 'tools/call', { name: 'slow' });
    const answers = (await (await session.post([same, same])).json()) as Json[];
    expect(answers).toMatchObject([
      { id: 1, result: {} },
      { id: 1, error: { code: -32600 } },
    ]);
  });
});
