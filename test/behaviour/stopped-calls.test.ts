import { expect, onTestFinished, test } from 'vitest';
import { defineTool, type Server } from '../../src/index.ts';
import { sessionLimits } from '../../src/server/sessions/sessions.ts';
import { sourceTest } from '../source-test.ts';
import { deferred } from './deferred.ts';
import { describeMatrix, type Cell } from './matrix.ts';
import { describeDoors, initialize, openSession } from './session-client.ts';

const deafOrNot = ['listens', 'is deaf'] as const;

/** A tool that works until it is stopped, or without end. */
function endless(calls = 1, manner: (typeof deafOrNot)[number] = 'is deaf') {
  const started = deferred();
  let waiting = calls;
  const tool = defineTool({ name: 'hold', description: 'Holds on.' }, async (_args, { signal, progress }) => {
    progress(1);
    if (--waiting === 0) started.resolve();
    await new Promise<void>((resolve) => {
      if (manner === 'listens') signal.addEventListener('abort', () => resolve());
    });
    signal.throwIfAborted();
  });
  return { tool, started: started.promise };
}

const stopped = { code: -32603, message: expect.stringMatching(/stopping|ended/) };

describeMatrix(({ connect }: Cell) => {
  test.each(deafOrNot)(
    'a call of a tool that %s is answered with an error when the server stops it',
    async (manner) => {
      const { tool, started } = endless(2, manner);
      const server = deferred<Server>();
      const peer = await connect({ tools: [tool] }, { onServer: server.resolve });
      const answers = [
        peer.request('tools/call', { name: 'hold' }),
        peer.request('tools/call', { name: 'hold', _meta: { progressToken: 'p' } }),
      ];
      await started;
      (await server.promise).stopCalls();
      expect(await Promise.all(answers)).toMatchObject([{ error: stopped }, { error: stopped }]);
      expect(peer.logged).toEqual([]);
    },
  );
});

describeMatrix(
  ({ connect }: Cell) => {
    test('a running call is answered with an error when its caller is revoked', async () => {
      const { tool, started } = endless(2);
      const server = deferred<Server>();
      const peer = await connect({ tools: [tool] }, { onServer: server.resolve });
      const answers = [
        peer.request('tools/call', { name: 'hold' }),
        peer.request('tools/call', { name: 'hold', _meta: { progressToken: 'p' } }),
      ];
      await started;
      (await server.promise).dismiss(() => true);
      expect(await Promise.all(answers)).toMatchObject([{ error: stopped }, { error: stopped }]);
    });
  },
  // The session of a process lasts as long as the process.
  ({ hasSession, transport }) => hasSession && transport !== 'stdio',
);

describeDoors((open) => {
  test.each(['2025-11-25', '2025-06-18', '2025-03-26'])(
    'when a session of %s is deleted, every running call of it is answered with an error',
    async (version) => {
      const { tool, started } = endless(version === '2025-03-26' ? 3 : 2);
      const session = await openSession(await open({ tools: [tool] }), { version });
      const plain = session.request('tools/call', { name: 'hold' }, 'plain');
      const streamed = session.call('hold', {}, 'streamed');
      const batch =
        version === '2025-03-26' &&
        session.post([
          { jsonrpc: '2.0', id: 'one', method: 'ping' },
          { jsonrpc: '2.0', id: 'two', method: 'tools/call', params: { name: 'hold' } },
        ]);
      await started;
      expect((await session.end()).status).toBe(204);
      expect(await (await plain).json()).toMatchObject({ id: 'plain', error: stopped });
      expect(await (await streamed).text()).toContain('"id":"streamed","error":{"code":-32603');
      if (batch)
        expect(await (await batch).json()).toMatchObject([
          { id: 'one', result: {} },
          { id: 'two', error: stopped },
        ]);
    },
  );

  test('with queued delivery the error comes on the stream, which then ends', async () => {
    const { tool, started } = endless();
    const session = await openSession(await open({ tools: [tool], delivery: 'queued' }));
    const stream = await session.stream();
    expect((await session.request('tools/call', { name: 'hold' }, 7)).status).toBe(202);
    await started;
    expect((await session.end()).status).toBe(204);
    const events = await stream.rest();
    expect(events.map(({ data }) => JSON.parse(data ?? '{}'))).toMatchObject([{ id: 7, error: stopped }]);
  });

  sourceTest('a call on a session that is evicted to make room is answered with an error', async () => {
    const { perCaller } = sessionLimits;
    onTestFinished(() => void (sessionLimits.perCaller = perCaller));
    // With an idle session beside it, that one would be evicted.
    sessionLimits.perCaller = 1;
    const { tool, started } = endless();
    const door = await open({ tools: [tool] });
    const session = await openSession(door);
    const underWay = session.request('tools/call', { name: 'hold' }, 7);
    await started;
    expect(await (await initialize(door)).text()).toContain('"result"');
    expect(await (await underWay).json()).toMatchObject({ id: 7, error: stopped });
  });

  test('a cancelled call gets no response, even when its session ends at the same time', async () => {
    const { tool, started } = endless();
    const session = await openSession(await open({ tools: [tool] }));
    const underWay = session.request('tools/call', { name: 'hold' }, 7);
    await started;
    await session.notify('notifications/cancelled', { requestId: 7 });
    await session.end();
    const response = await underWay;
    expect([response.status, await response.text()]).toEqual([202, '']);
  });
});
