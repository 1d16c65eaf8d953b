import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { defineTool, ToolRegistry } from '../../src/index.ts';
import { Cancellation } from '../../src/base/cancellation.ts';
import type { Clock } from '../../src/base/clock.ts';
import { Turns } from '../../src/base/turns.ts';
import { JsonScanner } from '../../src/protocol/wire/json-scan.ts';
import { createFakeClock } from '../../src/testing.ts';
import { sourceTest } from '../source-test.ts';
import {
  bad,
  catchNothingLate,
  expectIncident,
  expectOthersServed,
  fail,
  fault,
  good,
  logbook,
} from './breaking.ts';
import { deferred } from './deferred.ts';
import { describeMatrix } from './matrix.ts';
import {
  askModern,
  describeDoors,
  modernBody,
  openHttpDoor,
  openSession,
  type OpenDoor,
} from './session-client.ts';
import { headersFor } from './wires.ts';

const registry = new ToolRegistry().registerTool(good, bad);
const broken = {
  list: () => registry.list(),
  find: (name: string) => (name === 'bad' ? fail() : registry.find(name)),
  call: (call: Parameters<typeof registry.call>[0]) => registry.call(call),
};

catchNothingLate();

/** Makes the reading of messages with this text throw. */
function breakReading(mark: string): void {
  const scan = JsonScanner.prototype.scan;
  vi.spyOn(JsonScanner.prototype, 'scan').mockImplementation(function (this: JsonScanner, bytes) {
    return Buffer.from(bytes).includes(mark) ? fail() : scan.call(this, bytes);
  });
}

describeMatrix(({ connect }) => {
  for (const [size, bytes] of [
    ['small', 10],
    ['large', 100_000],
  ] as const) {
    sourceTest(
      `when reading a ${size} message throws, it fails with one log entry, and others are read`,
      async () => {
        const { entries, log } = logbook();
        const peer = await connect({ source: registry, log });
        breakReading('unreadable');
        const args = { filler: 'x'.repeat(bytes), mark: 'unreadable' };
        // One after the other: the answer to a message that was not read has no id to find its request by.
        expect((await peer.call('good')).content[0]!.text).toBe('good');
        const failed = await peer.error('tools/call', { name: 'good', arguments: args });
        expect((await peer.call('good')).content[0]!.text).toBe('good');
        expectIncident(failed, entries);
      },
    );

    test(`when a ${size} call fails before it begins, it fails with one log entry, and others are answered`, async () => {
      const { entries, log } = logbook();
      const peer = await connect({ source: broken, log });
      const args = { filler: 'x'.repeat(bytes) };
      const [before, failed, after] = await Promise.all([
        peer.call('good'),
        peer.error('tools/call', { name: 'bad', arguments: args }),
        peer.call('good'),
      ]);
      expect([before.content[0]!.text, after.content[0]!.text]).toEqual(['good', 'good']);
      expectIncident(failed, entries);
    });
  }
});

sourceTest(
  'of several requests on one connection that closes, each is stopped, whatever stopping one does',
  async () => {
    const { entries, log } = logbook();
    const signals: AbortSignal[] = [];
    const work = defineTool({ name: 'work', description: 'Works.' }, async (_args, { signal }) => {
      signals.push(signal);
      await once(signal, 'abort');
    });
    const door = await openHttpDoor({ source: new ToolRegistry().registerTool(good, work), log });
    const { port } = new URL(door.listening!.url);
    const socket = connectSocket(Number(port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const body = JSON.stringify(modernBody('tools/call', { name: 'work' }));
    const headers = {
      ...headersFor(body, { version: '2026-07-28', era: 'modern' }),
      authorization: 'Bearer ada',
      host: `127.0.0.1:${port}`,
    };
    const lines = Object.entries({ ...headers, 'content-length': body.length });
    const request = `POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
    socket.write(request.repeat(3));
    await expect.poll(() => signals.length).toBe(3);
    vi.spyOn(Cancellation.prototype, 'withdraw').mockImplementationOnce(fail);
    socket.destroy();
    await expect.poll(() => signals.filter(({ aborted }) => aborted).length).toBe(2);
    expect(entries).toMatchObject([{ level: 'error', cause: fault }]);
    await expectOthersServed(door, Promise.resolve());
  },
);

/** A door behind which three calls of one session are under way, of which one cannot be stopped. */
async function openWithThree(open: OpenDoor) {
  const { entries, log } = logbook();
  const started = deferred();
  let waiting = 3;
  const hold = defineTool({ name: 'hold', description: 'Holds on.' }, () => {
    if (--waiting === 0) started.resolve();
    return new Promise(() => {});
  });
  const door = await open({ source: new ToolRegistry().registerTool(hold, good), log });
  const session = await openSession(door);
  const answers: unknown[] = [];
  for (const id of [1, 2, 3])
    void session
      .request('tools/call', { name: 'hold' }, id)
      .then((answer) => answer.json())
      .then((answer) => answers.push(answer));
  await started.promise;
  vi.spyOn(Cancellation.prototype, 'abort').mockImplementationOnce(fail);
  return { door, session, answers, entries };
}

const stopped = { code: -32603, message: expect.stringMatching(/stopping|ended/) };

describeDoors((open) => {
  for (const [turn, next] of [
    ['before', (): Promise<void> => Promise.reject(fault)],
    ['when', fail],
  ] as const)
    sourceTest(`a large message that fails ${turn} its turn comes is answered alone`, async () => {
      const { entries, log } = logbook();
      const door = await open({ source: registry, log });
      vi.spyOn(Turns.prototype, 'next').mockImplementationOnce(next);
      const large = ['tools/call', { name: 'good', _meta: { filler: 'x'.repeat(100_000) } }] as const;
      const failing = askModern(door, large);
      await expectOthersServed(door, failing);
      expectIncident((await failing).error, entries);
      const again = await askModern(door, large);
      expect(again.result['content']).toMatchObject([{ text: 'good' }]);
    });

  test('a timer that cannot be stopped when a client disconnects does not affect others', async () => {
    const { entries, log } = logbook();
    const clock = createFakeClock();
    const after: Clock['after'] = (ms, task) => {
      const stop = clock.after(ms, task);
      // The one that keeps quiet streams open.
      return ms === 15_000 ? fail : stop;
    };
    const door = await open({ source: registry, log, clock: { ...clock, after } });
    const session = await openSession(door);
    const stream = await session.stream();
    entries.length = 0;
    await stream.hangUp();
    await expect.poll(() => entries.length).toBeGreaterThan(0);
    expect(entries[0]).toMatchObject({ level: 'error', cause: fault });
    await expectOthersServed(door, Promise.resolve());
    // Its place is free again.
    await expect.poll(async () => (await session.get()).status).toBe(200);
  });

  const ways = {
    'the server stops': async ({ door }) => door.server.stopCalls(),
    'its session is deleted': async ({ session }) => void (await session.end()),
    'its caller is revoked': async ({ door }) => door.server.dismiss(() => true),
  } satisfies Record<string, (opened: Awaited<ReturnType<typeof openWithThree>>) => Promise<void>>;
  for (const [way, end] of Object.entries(ways))
    sourceTest(
      `a call that cannot be stopped when ${way} does not keep the others from being answered`,
      async () => {
        const opened = await openWithThree(open);
        const { door, answers, entries } = opened;
        await end(opened);
        await expect.poll(() => answers.length).toBeGreaterThanOrEqual(2);
        await expect.poll(() => entries).toMatchObject([{ level: 'error', cause: fault }]);
        await expectOthersServed(door, Promise.resolve());
        door.server.stopCalls();
        await expect.poll(() => answers).toMatchObject([1, 2, 3].map(() => ({ error: stopped })));
      },
    );
});
