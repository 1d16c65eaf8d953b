import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import { modernMeta, type Json } from './peer.ts';
import { describeWeb, legacyPost, modernPost, type WebRequest } from './web.ts';

const getTime = defineTool({ name: 'get_time', description: 'Tells the time.' }, () => 'noon');
const modernHeader = { 'mcp-protocol-version': '2026-07-28' };
const noVersion = { 'mcp-protocol-version': undefined };
const handshake = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'p', version: '1' },
};
const legacyClaim = { 'io.modelcontextprotocol/protocolVersion': '2025-06-18' };

interface Seen {
  readonly status: number;
  readonly id?: unknown;
  readonly code?: number;
  readonly message?: string;
  readonly result?: Json;
}

async function see(response: Response): Promise<Seen> {
  const { id, error, result } = (await response.json()) as { id: unknown; error?: Seen; result?: Json };
  return { status: response.status, id, ...error, ...(result && { result }) };
}

describeWeb((open) => {
  const send = async (request: WebRequest): Promise<Seen> =>
    see(await (await open({ tools: [getTime] })).send(request));

  test('an unknown method has status 404 in 2026-07-28, and 200 in 2025-06-18, whose clients take 404 for an ended session', async () => {
    for (const method of ['no/such', 'resources/list']) {
      expect(await send(modernPost(method))).toMatchObject({ status: 404, id: 1, code: -32601 });
      expect(await send(legacyPost(method))).toMatchObject({ status: 200, id: 1, code: -32601 });
    }
  });

  test.each(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'])(
    '%s, which 2026-07-28 removed, has status 404 there',
    async (method) => {
      expect(await send(modernPost(method, handshake))).toMatchObject({ status: 404, code: -32601 });
    },
  );

  test('other errors of a readable request have status 200', async () => {
    const params = { name: 'gone' };
    expect(await send(modernPost('tools/call', params))).toMatchObject({ status: 200, code: -32602 });
    expect(await send(legacyPost('tools/call', params))).toMatchObject({ status: 200, code: -32602 });
    expect(await send(modernPost('tools/list', { cursor: '' }))).toMatchObject({ status: 200, code: -32602 });
  });

  test('_meta that lacks a key has status 400', async () => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
    });
    const { headers } = modernPost('tools/list');
    const seen = await send({ ...(headers && { headers }), body });
    expect(seen).toMatchObject({ status: 400, id: 1, code: -32602 });
    expect(seen.message).toContain('io.modelcontextprotocol/clientCapabilities');
  });

  test.each<[string, Json | undefined]>([
    ['without params', undefined],
    ['without _meta', {}],
    ['with an empty _meta', { _meta: {} }],
    ['with a list for _meta', { _meta: [] }],
  ])(
    'a modern header does not make a request %s modern, and such a request is refused',
    async (_what, params) => {
      const seen = await send(
        legacyPost('tools/list', params, { ...modernHeader, 'mcp-method': 'tools/list' }),
      );
      expect(seen).toMatchObject({ status: 400, id: 1, code: -32602 });
      expect(seen.message).toMatch(/protocolVersion.*clientCapabilities/);
    },
  );

  test('a modern request with a header of an older version is refused', async () => {
    const headers = { 'mcp-protocol-version': '2025-06-18' };
    expect(await send(modernPost('tools/list', {}, headers))).toMatchObject({ status: 400, code: -32020 });
  });

  test('a modern request whose _meta names an older version is refused as unsupported', async () => {
    const headers = { 'mcp-protocol-version': '2025-06-18' };
    const request = modernPost('tools/list', { _meta: modernMeta('2025-06-18') }, headers);
    expect(await send(request)).toMatchObject({ status: 400, code: -32022 });
  });

  test('a version in _meta that is not text makes a modern request invalid', async () => {
    const request = modernPost('tools/list', {
      _meta: { 'io.modelcontextprotocol/protocolVersion': 20260728 },
    });
    expect(await send(request)).toMatchObject({ status: 400, code: -32602 });
  });

  test.each<[string, WebRequest]>([
    ['no version at all', legacyPost('initialize', handshake, noVersion)],
    ['the version header of the older revision', legacyPost('initialize', handshake)],
    ['an older claim in _meta', legacyPost('initialize', { ...handshake, _meta: legacyClaim }, noVersion)],
    ['a stale session id', legacyPost('initialize', handshake, { ...noVersion, 'mcp-session-id': 'stale' })],
  ])('initialize with %s is a handshake that opens a session', async (_what, request) => {
    const site = await open({ tools: [getTime] });
    const response = await site.send(request);
    expect(response.headers.get('mcp-session-id')).toMatch(/^[!-~]{22,}$/);
    expect(await see(response)).toMatchObject({ status: 200, result: { protocolVersion: '2025-06-18' } });
  });

  test('initialize with a header of a modern version is refused as a mismatch', async () => {
    expect(await send(legacyPost('initialize', handshake, modernHeader))).toMatchObject({
      status: 400,
      code: -32020,
    });
  });

  test('server/discover of a client without _meta or session gets "method not found", never "session required"', async () => {
    for (const headers of [noVersion, {}]) {
      expect(await send(legacyPost('server/discover', {}, headers))).toMatchObject({
        status: 200,
        code: -32601,
      });
    }
  });

  test('an ended session has status 404 for every method; a modern request ignores the session', async () => {
    const stale = { 'mcp-session-id': 'stale' };
    for (const method of ['tools/list', 'ping', 'server/discover', 'no/such'])
      expect(await send(legacyPost(method, {}, stale))).toMatchObject({ status: 404, code: -32600 });
    expect(await send(modernPost('tools/list', {}, stale))).toMatchObject({ status: 200 });
  });

  test.each(['GET', 'DELETE'])('%s of an unknown session has status 404', async (method) => {
    expect(await send({ method, headers: { 'mcp-session-id': 'stale' } })).toMatchObject({ status: 404 });
  });

  test('a response posted on a session is accepted with an empty body, even if nothing was asked', async () => {
    const site = await open();
    const { headers } = await site.send(legacyPost('initialize', handshake));
    const session = { 'mcp-session-id': headers.get('mcp-session-id')! };
    const { headers: json } = legacyPost('ping', {}, session);
    const response = await site.send({
      ...(json && { headers: json }),
      body: '{"jsonrpc":"2.0","id":1,"result":{}}',
    });
    expect({ status: response.status, text: await response.text() }).toEqual({ status: 202, text: '' });
  });

  test('requests of the older revision need no handshake, no session and no version header', async () => {
    const seen = await send(legacyPost('tools/list', undefined, noVersion));
    expect(seen).toMatchObject({ status: 200, result: { tools: [{ name: 'get_time' }] } });
    expect(seen.result).not.toHaveProperty('resultType');
  });

  test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'a version header of %s is enough to be served',
    async (version) => {
      const headers = { 'mcp-protocol-version': version };
      expect(await send(legacyPost('tools/list', {}, headers))).toMatchObject({ status: 200 });
    },
  );

  test.each(['2024-10-07', '1999-01-01', 'latest'])(
    'a version header of %s has status 400',
    async (version) => {
      const headers = { 'mcp-protocol-version': version };
      expect(await send(legacyPost('tools/list', {}, headers))).toMatchObject({
        status: 400,
        id: 1,
        code: -32600,
      });
    },
  );

  test.each([
    ['no JSON', '{"jsonrpc":', -32700],
    ['an empty body', '', -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['a modern batch', JSON.stringify([JSON.parse(modernPost('tools/list').body as string)]), -32600],
    ['an empty batch', '[]', -32600],
    ['an answer to nothing', '{"jsonrpc":"2.0","id":1,"result":{}}', -32600],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","method":"ping"}', -32600],
  ])('%s has status 400, and its error has no id', async (_what, body, code) => {
    const { headers } = legacyPost('ping');
    const site = await open();
    const response = await site.send({ ...(headers && { headers }), body });
    const answer = (await response.json()) as { error: Seen };
    expect({ status: response.status, code: answer.error.code }).toEqual({ status: 400, code });
    expect(answer).not.toHaveProperty('id');
  });

  test.each<[string, WebRequest]>([
    ['2025-06-18', legacyPost('notifications/initialized')],
    ['2025-06-18, unknown', legacyPost('notifications/whatever')],
    ['2026-07-28', modernPost('notifications/cancelled', { requestId: 1 })],
    ['no version', legacyPost('notifications/cancelled', { requestId: 1 }, noVersion)],
  ])('a notification (%s) is accepted with an empty body', async (_what, { headers, body }) => {
    const site = await open();
    const { id: _, ...notification } = JSON.parse(body as string) as Json;
    const response = await site.send({ ...(headers && { headers }), body: JSON.stringify(notification) });
    expect({ status: response.status, text: await response.text() }).toEqual({ status: 202, text: '' });
  });
});
