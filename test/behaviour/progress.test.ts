import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defineTool, type ToolContext } from '../../src/index.ts';
import { deferred } from './deferred.ts';
import { describeMatrix } from './matrix.ts';

const countdown = defineTool({ name: 'countdown', description: 'Counts.' }, (_args, { progress }) => {
  progress(1, 3, 'one');
  progress(1, 3, 'one again');
  progress(0.5, 3, 'back');
  progress(2.5, 3);
  progress(Number.NaN);
  progress(3);
  progress(Infinity);
  progress(4, Number.NaN);
  return 'lift-off';
});

describeMatrix(({ messages, connect }) => {
  test.each([
    ['text', 'token-1'],
    ['empty text', ''],
    ['a number', 42],
    ['zero', 0],
  ])(
    'progress reaches the caller with its token, %s, and only ever increases (004-26)',
    async (_what, progressToken) => {
      const peer = await connect({ tools: [countdown] });
      const notifications: unknown[] = [];
      await peer.result(
        'tools/call',
        { name: 'countdown', _meta: { progressToken } },
        { onNotification: (message) => notifications.push(message) },
      );
      const method = 'notifications/progress';
      const said = messages ? { message: 'one' } : {};
      expect(notifications).toEqual([
        { jsonrpc: '2.0', method, params: { progressToken, progress: 1, total: 3, ...said } },
        { jsonrpc: '2.0', method, params: { progressToken, progress: 2.5, total: 3 } },
        { jsonrpc: '2.0', method, params: { progressToken, progress: 3 } },
        { jsonrpc: '2.0', method, params: { progressToken, progress: 4 } },
      ]);
    },
  );

  test('progress arrives while the tool works, and the response last', async () => {
    const heardOf = deferred();
    const paint = defineTool({ name: 'paint', description: 'Paints.' }, async (_args, { progress }) => {
      progress(1);
      await heardOf.promise;
      return 'painted';
    });
    const peer = await connect({ tools: [paint] });
    const before = peer.wire.heard.length;
    // The tool ends only because its progress was heard.
    await peer.result(
      'tools/call',
      { name: 'paint', _meta: { progressToken: 'p' } },
      { onNotification: () => heardOf.resolve() },
    );
    const heard = peer.wire.heard.slice(before).map((text) => JSON.parse(text));
    expect(heard).toMatchObject([
      { method: 'notifications/progress' },
      { result: { content: [{ text: 'painted' }] } },
    ]);
  });

  test('a call without a progress token sends nothing before its response', async () => {
    const peer = await connect({ tools: [countdown] });
    const before = peer.wire.heard.length;
    await peer.call('countdown');
    expect(peer.wire.heard.slice(before)).toHaveLength(1);
  });

  test('a call sends nothing after its response', async () => {
    let kept: ToolContext['progress'] = () => {};
    const leaky = defineTool({ name: 'leaky', description: 'Keeps its context.' }, (_args, { progress }) => {
      kept = progress;
      progress(1);
    });
    const peer = await connect({ tools: [leaky, countdown] });
    await peer.result('tools/call', { name: 'leaky', _meta: { progressToken: 'late' } });
    const before = peer.wire.heard.length;
    kept(2);
    await setImmediate();
    await peer.call('countdown');
    expect(peer.wire.heard.slice(before)).toHaveLength(1);
  });

  test('the progress of two simultaneous calls goes to the right call', async () => {
    const twice = defineTool(
      {
        name: 'twice',
        description: 'Reports.',
        input: { properties: { n: { type: 'number' } }, required: ['n'] },
      },
      ({ n }, { progress }) => progress(n),
    );
    const peer = await connect({ tools: [twice] });
    const heard: unknown[] = [];
    const call = (n: number): Promise<unknown> =>
      peer.result(
        'tools/call',
        { name: 'twice', arguments: { n }, _meta: { progressToken: `call-${n}` } },
        { onNotification: ({ params }) => heard.push(params) },
      );
    await Promise.all([call(1), call(2)]);
    expect(heard).toContainEqual({ progressToken: 'call-1', progress: 1 });
    expect(heard).toContainEqual({ progressToken: 'call-2', progress: 2 });
  });
});
