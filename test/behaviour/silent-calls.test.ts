import { describe, expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import { createFakeClock } from '../../src/testing.ts';
import { deferred } from './deferred.ts';
import { describeDoors, EventReader, openSession, sendModern, type Door } from './session-client.ts';
import type { Setup } from './matrix.ts';
import type { Json } from './peer.ts';

const COMMENT = { comment: 'keep-alive' };

/** A tool that is silent until the test lets it end, and a clock that the test moves. */
function slowSetup() {
  const begun = deferred();
  const end = deferred<string>();
  const clock = createFakeClock();
  const slow = defineTool({ name: 'slow', description: 'Takes its time.' }, (_args, { progress }) => {
    progress(1);
    begun.resolve();
    return end.promise;
  });
  const setup: Setup = { tools: [slow], clock, deadlineMs: 600_000 };
  return { setup, clock, begun: begun.promise, end: () => end.resolve('done') };
}

type Client = (door: Door, params: Json, headers?: Record<string, string>) => Promise<Response>;

const clients: readonly (readonly [name: string, call: Client])[] = [
  [
    '2026-07-28',
    (door, params, headers) => sendModern(door, ['tools/call', params], headers ? { headers } : {}),
  ],
  ...['2025-11-25', '2025-06-18', '2025-03-26'].map((version): [string, Client] => [
    `a session of ${version}`,
    async (door, params, headers) =>
      (await openSession(door, { version })).post(
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
        headers,
      ),
  ]),
];

describeDoors((open) => {
  describe.each(clients)('%s:', (name, call) => {
    test('a call without output for 15 seconds starts its stream, is kept alive, and ends with its result', async () => {
      const { setup, clock, begun, end } = slowSetup();
      const answering = call(await open(setup), { name: 'slow' });
      await begun;
      clock.advance(20_000);
      const stream = new EventReader(await answering);
      // A client that can reconnect first gets the event id for it.
      if (name.endsWith('2025-11-25')) expect(await stream.next()).toMatchObject({ id: expect.any(String) });
      expect(await stream.next()).toEqual(COMMENT);
      clock.advance(15_000);
      expect(await stream.next()).toEqual(COMMENT);
      end();
      expect((await stream.message()).message).toMatchObject({ result: { content: [{ text: 'done' }] } });
      expect(await stream.rest()).toEqual([]);
    });

    test('a call that ends within 15 seconds is answered with one JSON body', async () => {
      const { setup, clock, begun, end } = slowSetup();
      const answering = call(await open(setup), { name: 'slow' });
      await begun;
      clock.advance(14_999);
      end();
      const response = await answering;
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(await response.json()).toMatchObject({ result: {} });
    });

    test.each(['application/json', '*/*', 'application/*'])(
      'a client that accepts %s gets one body, however long the call takes',
      async (accept) => {
        const { setup, clock, begun, end } = slowSetup();
        const answering = call(await open(setup), { name: 'slow' }, { accept });
        await begun;
        clock.advance(60_000);
        end();
        const response = await answering;
        expect(response.headers.get('content-type')).toBe('application/json');
        expect(await response.json()).toMatchObject({ result: {} });
      },
    );

    test('a call that has sent a message is kept alive too', async () => {
      const { setup, clock, begun, end } = slowSetup();
      const params = { name: 'slow', _meta: { progressToken: 'p' } };
      const stream = new EventReader(await call(await open(setup), params));
      await begun;
      expect((await stream.message()).message).toMatchObject({ method: 'notifications/progress' });
      clock.advance(20_000);
      expect(await stream.next()).toEqual(COMMENT);
      end();
      expect((await stream.message()).message).toMatchObject({ result: {} });
    });
  });

  test('several calls in one body start their stream together', async () => {
    const { setup, clock, begun, end } = slowSetup();
    const client = await openSession(await open(setup), { version: '2025-03-26' });
    const calls = [1, 2].map((id) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'slow' },
    }));
    const answering = client.post(calls);
    await begun;
    clock.advance(20_000);
    const stream = new EventReader(await answering);
    expect(await stream.next()).toEqual(COMMENT);
    end();
    expect((await stream.message()).message).toMatchObject([{ id: 1 }, { id: 2 }]);
  });

  test('a client that lost such a stream can reconnect and get the result', async () => {
    const { setup, clock, begun, end } = slowSetup();
    const client = await openSession(await open(setup));
    const answering = client.request('tools/call', { name: 'slow' });
    await begun;
    clock.advance(20_000);
    const stream = new EventReader(await answering);
    const { id } = (await stream.next())!;
    await stream.hangUp();
    end();
    const again = await client.stream(id);
    expect((await again.message()).message).toMatchObject({ result: { content: [{ text: 'done' }] } });
  });
});
