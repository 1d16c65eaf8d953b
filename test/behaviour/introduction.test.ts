import { expect, test } from 'vitest';
import { definePrompt, defineResource, defineTool, ToolRegistry, type ToolSource } from '../../src/index.ts';
import { describeMatrix } from './matrix.ts';
import { modernMeta } from './peer.ts';

const key = (name: string): string => `io.modelcontextprotocol/${name}`;
const getTime = defineTool({ name: 'get_time', description: 'Tells the time.' }, () => 'noon');
const crib = {
  tools: [getTime],
  name: 'crib',
  version: '1.2.3',
  title: 'The Crib',
  instructions: 'Ask for the time.',
};

describeMatrix(
  ({ connect }) => {
    test('server/discover returns versions, capabilities, instructions and server info', async () => {
      const peer = await connect(crib);
      expect(await peer.result('server/discover')).toEqual({
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: {
          tools: { listChanged: true },
          logging: {},
          extensions: { 'io.modelcontextprotocol/tasks': {} },
        },
        instructions: 'Ask for the time.',
        ttlMs: expect.any(Number),
        cacheScope: 'private',
        _meta: { [key('serverInfo')]: { name: 'crib', version: '1.2.3', title: 'The Crib' } },
      });
    });

    test('clientInfo is optional', async () => {
      const { wire } = await connect(crib);
      const { [key('clientInfo')]: _, ...meta } = modernMeta();
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } };
      expect(JSON.parse((await wire.send(JSON.stringify(message)))!)).toMatchObject({
        result: { tools: [{}] },
      });
    });

    test.each(['2099-01-01', '2025-06-18', '2024-11-05', 'latest', ''])(
      'a request of version "%s" gets the list of supported versions',
      async (requested) => {
        const { wire } = await connect(crib);
        const params = { _meta: modernMeta(requested) };
        // Over HTTP the header has to agree, or the answer would be about that.
        const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params });
        const { error } = JSON.parse((await wire.send(text, { version: requested }))!);
        expect(error).toMatchObject({ code: -32022, data: { supported: ['2026-07-28'], requested } });
      },
    );

    test.each([
      ['without capabilities', { [key('protocolVersion')]: '2026-07-28' }, /clientCapabilities/],
      [
        'with a list for capabilities',
        { [key('protocolVersion')]: '2026-07-28', [key('clientCapabilities')]: [] },
        /clientCapabilities/,
      ],
      [
        'with a number for a version',
        { [key('protocolVersion')]: 2026, [key('clientCapabilities')]: {} },
        /protocolVersion/,
      ],
      [
        'with neither in good form',
        { [key('protocolVersion')]: null },
        /protocolVersion.*clientCapabilities/,
      ],
    ])('a request %s is refused with what is missing', async (_what, meta, missing) => {
      const { wire } = await connect(crib);
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } };
      const { id, error } = JSON.parse((await wire.send(JSON.stringify(message)))!);
      expect({ id, code: error.code }).toEqual({ id: 1, code: -32602 });
      expect(error.message).toMatch(missing);
    });

    test.each([
      'initialize',
      'ping',
      'logging/setLevel',
      'resources/subscribe',
      'resources/unsubscribe',
      'resources/list',
      'prompts/list',
      'resources/templates/list',
      'resources/read',
      'prompts/get',
      'completion/complete',
      'tasks/list',
      'tasks/result',
      'tools/lists',
      'toString',
    ])('%s is not a method of this revision or of this server', async (method) => {
      const peer = await connect(crib);
      expect(await peer.error(method)).toMatchObject({
        code: -32601,
        message: expect.stringContaining(method),
      });
    });
  },
  ({ era }) => era === 'modern',
);

describeMatrix(
  ({ version, titles, hasSession, transport, connect }) => {
    const capabilities = {};
    const clientInfo = { name: 'peer', version: '1' };
    const initialize = (protocolVersion: string) => ({ protocolVersion, capabilities, clientInfo });

    // Where a client keeps no session the handshake still opens one, if there is anything to keep it with.
    const shakesHands = hasSession || transport === 'fetch without a session';

    test('initialize returns the version, capabilities, instructions and server info, and nothing more (002-01)', async () => {
      const peer = await connect(crib);
      expect(await peer.result('initialize', initialize(version))).toEqual({
        protocolVersion: version,
        capabilities: { tools: shakesHands ? { listChanged: true } : {}, logging: {} },
        serverInfo: { name: 'crib', version: '1.2.3', ...(titles && { title: 'The Crib' }) },
        instructions: 'Ask for the time.',
      });
    });

    test('listChanged is not declared for a source that does not report changes', async () => {
      const registry = new ToolRegistry().registerTool(getTime);
      const source: ToolSource = {
        list: () => registry.list(),
        find: (name) => registry.find(name),
        call: (call) => registry.call(call),
      };
      const peer = await connect({ source });
      const introduction = await peer.result('initialize', initialize(version));
      expect(introduction['capabilities']).toEqual({ tools: {}, logging: {} });
    });

    test('resources and prompts are declared only by a server that has them', async () => {
      const peer = await connect({
        resources: [defineResource({ uri: 'note://a', name: 'a' }, () => 'a')],
        prompts: [definePrompt({ name: 'p' }, () => 'p')],
      });
      const introduction = await peer.result('initialize', initialize(version));
      const changes = shakesHands ? { listChanged: true } : {};
      expect(introduction['capabilities']).toEqual({
        tools: changes,
        resources: shakesHands ? { subscribe: true, listChanged: true } : {},
        prompts: changes,
        logging: {},
        ...(version !== '2024-11-05' && { completions: {} }),
      });
    });

    test.each(['2024-10-07', '2099-01-01', '2026-07-28', 'latest', ''])(
      'a client that asks for version %s is offered the newest one with a handshake',
      async (wanted) => {
        const peer = await connect(crib);
        expect(await peer.result('initialize', initialize(wanted))).toMatchObject({
          protocolVersion: '2025-11-25',
        });
      },
    );

    test.each<[what: string, params: object | undefined, missing: RegExp]>([
      ['nothing', undefined, /protocolVersion.*capabilities.*clientInfo/],
      ['no version', { capabilities, clientInfo }, /hold protocolVersion\./],
      ['a number for a version', { protocolVersion: 7, capabilities, clientInfo }, /hold protocolVersion\./],
      ['no capabilities', { protocolVersion: version, clientInfo }, /hold capabilities\./],
      [
        'a list of capabilities',
        { protocolVersion: version, capabilities: [], clientInfo },
        /hold capabilities\./,
      ],
      ['nobody', { protocolVersion: version, capabilities }, /hold clientInfo/],
      [
        'a client without a version',
        { protocolVersion: version, capabilities, clientInfo: { name: 'p' } },
        /hold clientInfo/,
      ],
    ])('initialize with %s is refused with what is missing', async (_what, params, missing) => {
      const { wire } = await connect(crib);
      const text = JSON.stringify({ jsonrpc: '2.0', id: 'again', method: 'initialize', params });
      const { id, error } = JSON.parse((await wire.send(text))!);
      expect({ id, code: error.code }).toEqual({ id: 'again', code: -32602 });
      expect(error.message).toMatch(missing);
    });

    test('ping is answered with an empty result', async () => {
      const peer = await connect();
      expect(await peer.result('ping')).toEqual({});
    });

    test.each([
      'server/discover',
      'resources/list',
      'resources/templates/list',
      'resources/read',
      'resources/subscribe',
      'resources/unsubscribe',
      'prompts/list',
      'prompts/get',
      'completion/complete',
      'subscriptions/listen',
      'tasks/get',
      'tools/lists',
      'toString',
    ])('%s is not a method of this revision or of this server', async (method) => {
      const peer = await connect(crib);
      expect(await peer.error(method)).toMatchObject({
        code: -32601,
        message: expect.stringContaining(method),
      });
    });
  },
  ({ era }) => era === 'legacy',
);

describeMatrix(
  ({ connect }) => {
    test('one connection accepts requests of both eras, in any order', async () => {
      const peer = await connect(crib);
      const send = async (method: string, params?: object): Promise<{ result: Record<string, unknown> }> =>
        JSON.parse((await peer.wire.send(JSON.stringify({ jsonrpc: '2.0', id: method, method, params })))!);
      const modern = { _meta: modernMeta() };
      const handshake = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'p', version: '1' },
      };

      expect((await send('server/discover', modern)).result).toMatchObject({
        supportedVersions: ['2026-07-28'],
      });
      expect((await send('tools/list', modern)).result).toHaveProperty('ttlMs');
      expect((await send('initialize', handshake)).result).toMatchObject({ protocolVersion: '2025-06-18' });
      expect((await send('tools/list')).result).not.toHaveProperty('ttlMs');
      expect((await send('tools/list', modern)).result).toHaveProperty('ttlMs');
      expect((await send('tools/list')).result).not.toHaveProperty('ttlMs');
    });
  },
  ({ transport }) => transport === 'stdio',
);

describeMatrix(
  ({ era, connect }) => {
    test('an unexpected first message does not end the conversation', async () => {
      const { wire } = await connect(crib);
      expect(JSON.parse((await wire.send('hello'))!)).toMatchObject({ error: { code: -32700 } });
      expect(JSON.parse((await wire.send('[]'))!)).toMatchObject({ error: { code: -32600 } });
      // An answer to nothing is nothing.
      expect(await wire.send('{"jsonrpc":"2.0","id":1,"result":{}}')).toBeUndefined();
      const params = era === 'modern' ? { _meta: modernMeta() } : {};
      const message = JSON.stringify({ jsonrpc: '2.0', id: 'ok', method: 'tools/list', params });
      expect(JSON.parse((await wire.send(message))!)).toMatchObject({ id: 'ok', result: {} });
    });
  },
  ({ transport }) => transport === 'stdio' || transport === 'HTTP with SSE',
);
