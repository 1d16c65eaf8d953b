import { once } from 'node:events';
import { expect, test } from 'vitest';
import { content, defineTool } from '../../src/index.ts';
import { createFakeClock } from '../../src/testing.ts';
import { deferred } from './deferred.ts';
import { describeMatrix, type Cell } from './matrix.ts';
import { describeWeb, legacyPost, modernPost } from './web.ts';
import { parseEvents } from './events.ts';

const cancels = ({ transport }: Cell): boolean => transport !== 'fetch without a session';

describeMatrix(({ messages, connect }) => {
  test('long work reports each step in words, and ends with content blocks of several kinds (004-26)', async () => {
    const render = defineTool({ name: 'render', description: 'Renders.' }, async (_args, { progress }) => {
      for (const [index, step] of ['reading', 'drawing', 'saving'].entries()) {
        progress(index + 1, 3, step);
        await Promise.resolve();
      }
      return [content.text('Done:'), content.image(Uint8Array.of(1), 'image/png')];
    });
    const peer = await connect({ tools: [render] });
    const steps: unknown[] = [];
    const result = await peer.result(
      'tools/call',
      { name: 'render', _meta: { progressToken: 'r' } },
      { onNotification: ({ params }) => steps.push(params) },
    );
    expect(steps).toEqual(
      ['reading', 'drawing', 'saving'].map((message, index) => ({
        progressToken: 'r',
        progress: index + 1,
        total: 3,
        ...(messages && { message }),
      })),
    );
    expect(result['content']).toMatchObject([{ type: 'text' }, { type: 'image' }]);
  });

  test('cleanup functions run after success, the last one first, and cannot change the result (004-26)', async () => {
    const done: string[] = [];
    const allDone = deferred();
    const tidy = defineTool({ name: 'tidy', description: 'Tidies up.' }, (_args, { onCleanup }) => {
      onCleanup(() => {
        done.push('connection');
        allDone.resolve();
      });
      onCleanup(() => {
        throw new Error('already closed');
      });
      onCleanup(async () => done.push('cursor'));
      return 'tidy';
    });
    const peer = await connect({ tools: [tidy] });
    expect(await peer.call('tidy')).toMatchObject({ content: [{ text: 'tidy' }], isError: false });
    await allDone.promise;
    expect(done).toEqual(['cursor', 'connection']);
  });

  test.each<[string, () => unknown]>([
    [
      'throws at once',
      () => {
        throw new Error('no');
      },
    ],
    ['fails later', () => Promise.reject(new Error('no'))],
    ['returns a failure', () => ({ error: 'no' })],
  ])('cleanup functions run when a handler %s (004-26)', async (_what, end) => {
    const cleanedUp = deferred();
    const fails = defineTool({ name: 'fails', description: 'Fails.' }, (_args, { onCleanup }) => {
      onCleanup(cleanedUp.resolve);
      return end();
    });
    const peer = await connect({ tools: [fails] });
    expect((await peer.call('fails')).isError).toBe(true);
    await cleanedUp.promise;
  });

  test('cleanup functions run when a handler is stopped by its deadline (004-26)', async () => {
    const clock = createFakeClock();
    const started = deferred();
    const cleanedUp = deferred();
    const slow = defineTool({ name: 'slow', description: 'Waits.' }, async (_args, context) => {
      context.onCleanup(cleanedUp.resolve);
      const stopped = once(context.signal, 'abort');
      started.resolve();
      await stopped;
      throw new Error('stopped');
    });
    const peer = await connect({ tools: [slow], clock, deadlineMs: 1_000 });
    const answer = peer.call('slow');
    await started.promise;
    clock.advance(1_000);
    expect(await answer).toMatchObject({ isError: true });
    await cleanedUp.promise;
  });
});

describeMatrix(({ connect }) => {
  test('cleanup functions run when a call is cancelled (004-26)', async () => {
    const started = deferred();
    const cleanedUp = deferred();
    const slow = defineTool({ name: 'slow', description: 'Waits.' }, async (_args, context) => {
      context.onCleanup(cleanedUp.resolve);
      const stopped = once(context.signal, 'abort');
      started.resolve();
      await stopped;
    });
    const peer = await connect({ tools: [slow] });
    const controller = new AbortController();
    const answer = peer.request('tools/call', { name: 'slow' }, { signal: controller.signal });
    await started.promise;
    controller.abort();
    await cleanedUp.promise;
    expect(await answer).toBeUndefined();
  });
}, cancels);

describeWeb((open) => {
  test.each([
    ['2026-07-28', modernPost],
    ['2025-06-18', legacyPost],
  ])(
    'a result is delivered over SSE when progress is reported before it (%s) (001-06)',
    async (_version, post) => {
      const work = defineTool({ name: 'work', description: 'Works.' }, (_args, { progress }) => {
        progress(1, 2);
        return { done: true };
      });
      const site = await open({ tools: [work] });
      const response = await site.send(post('tools/call', { name: 'work', _meta: { progressToken: 7 } }));
      expect(response.headers.get('content-type')).toBe('text/event-stream');
      const events: unknown[] = [];
      for await (const text of parseEvents(response.body!)) events.push(JSON.parse(text));
      expect(events).toMatchObject([
        { method: 'notifications/progress', params: { progressToken: 7, progress: 1, total: 2 } },
        { id: 1, result: { content: [{ type: 'text', text: '{\n  "done": true\n}' }] } },
      ]);
    },
  );
});
