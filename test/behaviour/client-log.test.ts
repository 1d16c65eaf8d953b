import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import { describeMatrix, type Cell } from './matrix.ts';
import type { Json, Peer } from './peer.ts';

const LEVEL = 'io.modelcontextprotocol/logLevel';
const chatty = defineTool({ name: 'chatty', description: 'Logs at every level.' }, (_args, { log }) => {
  log('debug', 'one');
  log('info', { two: 2 }, 'parser');
  log('notice', 3);
  log('warning', ['four']);
  log('error', 'five', 'disk');
  log('critical', 'six');
  log('alert', 'seven');
  log('emergency', 'eight');
  return 'done';
});

/** What a call logs to the client, by level. */
async function heardBy(peer: Peer, params: Json = {}): Promise<Json[]> {
  const entries: Json[] = [];
  await peer.result(
    'tools/call',
    { name: 'chatty', ...params },
    {
      onNotification({ method, params: entry }) {
        expect(method).toBe('notifications/message');
        entries.push(entry as Json);
      },
    },
  );
  return entries;
}
const levels = (entries: readonly Json[]): unknown[] => entries.map(({ level }) => level);
const all = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const hasNoSession = ({ era, hasSession }: Cell): boolean => era === 'legacy' && !hasSession;

describeMatrix(
  ({ connect }) => {
    test('a request that names no log level gets no log messages', async () => {
      const peer = await connect({ tools: [chatty] });
      expect(await heardBy(peer)).toEqual([]);
    });

    test.each(all)(
      'a request that names the level %s gets log messages of that level and above',
      async (level) => {
        const peer = await connect({ tools: [chatty] });
        expect(levels(await heardBy(peer, { _meta: { [LEVEL]: level } }))).toEqual(
          all.slice(all.indexOf(level)),
        );
      },
    );

    test('a log message arrives as it was logged, with its logger if it has one', async () => {
      const peer = await connect({ tools: [chatty] });
      expect(await heardBy(peer, { _meta: { [LEVEL]: 'debug' } })).toEqual([
        { level: 'debug', data: 'one' },
        { level: 'info', data: { two: 2 }, logger: 'parser' },
        { level: 'notice', data: 3 },
        { level: 'warning', data: ['four'] },
        { level: 'error', data: 'five', logger: 'disk' },
        { level: 'critical', data: 'six' },
        { level: 'alert', data: 'seven' },
        { level: 'emergency', data: 'eight' },
      ]);
    });

    test('the log level of one request does not apply to the next', async () => {
      const peer = await connect({ tools: [chatty] });
      await heardBy(peer, { _meta: { [LEVEL]: 'debug' } });
      expect(await heardBy(peer)).toEqual([]);
    });

    test.each(['loud', 'INFO', '', 3, null])('%s is not a valid log level', async (level) => {
      const peer = await connect({ tools: [chatty] });
      const error = await peer.error('tools/call', { name: 'chatty', _meta: { [LEVEL]: level } });
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('debug, info') });
    });
  },
  ({ era }) => era === 'modern',
);

describeMatrix(
  ({ connect }) => {
    test('a client gets log messages from level "info" on until it sets another level', async () => {
      const peer = await connect({ tools: [chatty] });
      expect(levels(await heardBy(peer))).toEqual(all.slice(1));
    });

    test('logging/setLevel sets the level for all later calls', async () => {
      const peer = await connect({ tools: [chatty] });
      expect(await peer.result('logging/setLevel', { level: 'error' })).toEqual({});
      expect(levels(await heardBy(peer))).toEqual(['error', 'critical', 'alert', 'emergency']);
      await peer.result('logging/setLevel', { level: 'debug' });
      expect(levels(await heardBy(peer))).toEqual(all);
    });
  },
  ({ hasSession }) => hasSession,
);

describeMatrix(({ connect }) => {
  test('a client without a session gets no log messages, because it cannot set a level', async () => {
    const peer = await connect({ tools: [chatty] });
    expect(await peer.result('logging/setLevel', { level: 'debug' })).toEqual({});
    expect(await heardBy(peer)).toEqual([]);
  });
}, hasNoSession);

describeMatrix(
  ({ connect }) => {
    test.each(['loud', 'INFO', '', 3, null, undefined])('logging/setLevel refuses %s', async (level) => {
      const peer = await connect({ tools: [chatty] });
      expect(await peer.error('logging/setLevel', { level })).toMatchObject({ code: -32602 });
    });
  },
  ({ era }) => era === 'legacy',
);
