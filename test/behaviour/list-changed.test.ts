import { expect, onTestFinished, test } from 'vitest';
import { createServer, defineTool, ToolRegistry, type JsonRpcMessage } from '../../src/index.ts';
import { deferred } from './deferred.ts';
import { ada, describeMatrix } from './matrix.ts';
import type { Peer } from './peer.ts';
import { openStdio } from './wires.ts';

const named = (name: string, description = 'One of several.') =>
  defineTool({ name, description }, () => name);
const handshake = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'x', version: '1' },
};
const CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';

/** What the server has said unasked: a request is answered after whatever came before it. */
async function news(peer: Peer): Promise<string[]> {
  await peer.list();
  return peer.wire.heard.filter((text) => 'method' in JSON.parse(text));
}

describeMatrix(
  ({ connect }) => {
    test('a client with a lasting connection is notified when a tool is added, changed, hidden, shown or removed (000-35, 003-09)', async () => {
      const source = new ToolRegistry().registerTool(named('first'));
      const peer = await connect({ source });
      expect(peer.introduction).toMatchObject({ capabilities: { tools: { listChanged: true } } });
      const changes = [
        () => source.registerTool(named('second')),
        () => source.replace(named('second', 'Better described.')),
        () => source.disable('second'),
        () => source.enable('second'),
        () => source.remove('second'),
      ];
      expect(await news(peer)).toEqual([]);
      let told = 0;
      for (const change of changes) {
        change();
        expect(await news(peer)).toEqual(Array.from({ length: ++told }, () => CHANGED));
      }
    });

    test('several changes in one turn are announced once (000-35)', async () => {
      const source = new ToolRegistry().registerTool(named('first'));
      const peer = await connect({ source });
      expect(await news(peer)).toEqual([]);
      source.registerTool(named('second'), named('third'));
      source.replace(named('first', 'Better described.'));
      source.remove('second');
      expect(await news(peer)).toEqual([CHANGED]);
    });

    test('a tool that is added and removed within one turn is not announced', async () => {
      const source = new ToolRegistry();
      const peer = await connect({ source });
      expect(await news(peer)).toEqual([]);
      source.registerTool(named('brief'));
      source.remove('brief');
      expect(await news(peer)).toEqual([]);
    });
  },
  ({ era, transport }) => era === 'legacy' && (transport === 'stdio' || transport === 'HTTP with SSE'),
);

describeMatrix(
  ({ era, connect }) => {
    test('listChanged is declared where notifications are delivered, and they come once the client asked for them (000-35, 002-05, 003-09, 003-10)', async () => {
      const source = new ToolRegistry().registerTool(named('first'));
      const peer = await connect({ source });
      const introduction = peer.introduction ?? (await peer.result('server/discover'));
      expect(introduction).toMatchObject({ capabilities: { tools: { listChanged: true } } });
      const told = deferred<unknown>();
      const onNotification = ({ method }: JsonRpcMessage): void => {
        if (method === 'notifications/subscriptions/acknowledged') source.registerTool(named('second'));
        else told.resolve(method);
      };
      if (era === 'modern') {
        const notifications = { toolsListChanged: true };
        void peer.request('subscriptions/listen', { notifications }, { onNotification });
      } else {
        await peer.wire.follow!(onNotification);
        source.registerTool(named('second'));
      }
      expect(await told.promise).toBe('notifications/tools/list_changed');
    });
  },
  ({ era, transport, hasSession }) =>
    era === 'modern' || (hasSession && transport !== 'stdio' && transport !== 'HTTP with SSE'),
);

describeMatrix(
  ({ connect }) => {
    test('notifications of changes are not sent to a client that did not ask for them (002-05)', async () => {
      const source = new ToolRegistry().registerTool(named('first'));
      const peer = await connect({ source });
      source.registerTool(named('second'));
      expect(await news(peer)).toEqual([]);
      expect((await peer.list()).tools).toHaveLength(2);
    });
  },
  ({ transport, era }) => era === 'modern' || (transport !== 'stdio' && transport !== 'HTTP with SSE'),
);

describeMatrix(
  ({ connect }) => {
    test('listChanged is not declared where no notification could be delivered (002-05)', async () => {
      const peer = await connect({ source: new ToolRegistry().registerTool(named('first')) });
      const introduction = await peer.result('initialize', handshake);
      expect(introduction).toMatchObject({ capabilities: { tools: {} } });
      expect(introduction).not.toHaveProperty('capabilities.tools.listChanged');
    });
  },
  ({ era, transport }) => era === 'legacy' && transport === 'in process',
);

test('a client that has not finished its handshake gets no notifications', async () => {
  const source = new ToolRegistry();
  const wire = await openStdio(createServer({ source }), {
    version: '2025-06-18',
    era: 'legacy',
    caller: ada,
  });
  onTestFinished(() => wire.close());
  const request = (id: number, method: string, params = {}) =>
    wire.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));

  await wire.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  source.registerTool(named('before'));
  await request(1, 'initialize', handshake);
  source.registerTool(named('between'));
  await request(2, 'ping');
  expect(wire.heard.filter((text) => text === CHANGED)).toEqual([]);

  await wire.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  await request(3, 'ping');
  source.registerTool(named('after'));
  await request(4, 'ping');
  expect(wire.heard.filter((text) => text === CHANGED)).toEqual([CHANGED]);
});
