import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import type { EventLog, StreamEvent } from '../../core/memory/memory.ts';
import { createFakeClock } from '../../testing.ts';
import { createInMemory } from '../../core/memory/in-memory.ts';
import { keepsNothing, ResumableStream, type Sink } from './stream.ts';

/** A connection that remembers what it got. */
class Connection implements Sink {
  readonly got: StreamEvent[] = [];
  ended = false;

  event(text: string, id: string): void {
    this.got.push({ text, id });
  }

  end(): void {
    this.ended = true;
  }

  get texts(): string[] {
    return this.got.map(({ text }) => text);
  }
}

const openStream = (log: EventLog = createInMemory(createFakeClock()).events) =>
  new ResumableStream(log, { key: 'kept', owner: 'ada' });

/** A log that takes a given number of turns for each thing it is asked, and keeps in the order it is handed. */
function slowLog(delays: readonly number[]): EventLog {
  const { events } = createInMemory(createFakeClock());
  let asked = 0;
  let last = Promise.resolve();
  const pause = async (): Promise<void> => {
    for (let turn = delays[asked++ % delays.length]!; turn > 0; turn--) await setImmediate();
  };
  return {
    keep(stream, event) {
      last = last.then(pause).then(() => events.keep(stream, event, 'ada'));
      return last;
    },
    async after(stream, eventId) {
      await pause();
      const found = await events.after(stream, eventId, 'ada');
      await pause();
      return found;
    },
    forget: (stream) => events.forget(stream, 'ada'),
  };
}

test('events are sent on the connection, each with an id that names the stream', () => {
  const stream = openStream();
  const connection = new Connection();
  expect(stream.started).toBe(false);
  stream.attach(connection);
  stream.send('one');
  stream.send('two');
  expect(stream.started).toBe(true);
  expect(connection.texts).toEqual(['one', 'two']);
  for (const { id } of connection.got) expect(ResumableStream.idOf(id)).toBe(stream.id);
  expect(new Set(connection.got.map(({ id }) => id)).size).toBe(2);
  expect(openStream().id).not.toBe(stream.id);
});

test('a message that is sent while no client is connected waits for the next connection', () => {
  const stream = openStream();
  stream.send('early');
  const first = new Connection();
  stream.attach(first);
  stream.detach(first);
  stream.send('between');
  const second = new Connection();
  stream.attach(second);
  stream.send('late');
  expect([first.texts, second.texts]).toEqual([['early'], ['between', 'late']]);
});

test('A8 the number of waiting messages is limited: the oldest is dropped first', () => {
  const stream = openStream(keepsNothing);
  for (let count = 1; count <= 1_200; count++) stream.send(String(count));
  const connection = new Connection();
  stream.attach(connection);
  expect(connection.texts).toHaveLength(1_000);
  expect(connection.texts.at(-1)).toBe('1200');
});

test('closing a replaced connection does not affect its successor', () => {
  const stream = openStream();
  const [first, second] = [new Connection(), new Connection()];
  stream.attach(first);
  stream.attach(second);
  stream.detach(first);
  expect(stream.attached).toBe(true);
  stream.send('one');
  expect(second.texts).toEqual(['one']);
});

test('a reconnect repeats the messages after an event and continues from there', async () => {
  const stream = openStream();
  const first = new Connection();
  stream.attach(first);
  for (const text of ['one', 'two', 'three']) stream.send(text);
  const second = new Connection();
  expect(await stream.resume(first.got[0]!.id, second)).toBe('resumed');
  expect(first.ended).toBe(true);
  stream.send('four');
  expect(second.texts).toEqual(['two', 'three', 'four']);
  expect(second.got.slice(0, 2)).toEqual(first.got.slice(1));
});

test('the event that a client names for a reconnect is not sent again', async () => {
  const stream = openStream();
  const first = new Connection();
  stream.attach(first);
  stream.send('');
  stream.send('one');
  stream.send('');
  const second = new Connection();
  await stream.resume(first.got[0]!.id, second);
  expect(second.texts).toEqual(['one']);
});

test('a reconnect to a stream that has ended gets the remaining messages and the end', async () => {
  const stream = openStream();
  const first = new Connection();
  stream.attach(first);
  stream.send('one');
  stream.detach(first);
  stream.send('two');
  stream.end();
  stream.send('after the end');
  const second = new Connection();
  expect(await stream.resume(first.got[0]!.id, second)).toBe('resumed');
  expect([second.texts, second.ended, stream.attached]).toEqual([['two'], true, false]);
  expect(await stream.resume(second.got[0]!.id, new Connection())).toBe('over');
});

test('a reconnect with an unknown event id changes nothing', async () => {
  const stream = openStream();
  const first = new Connection();
  stream.attach(first);
  stream.send('one');
  expect(await stream.resume(`${stream.id}.99`, new Connection())).toBe('unknown');
  expect([first.ended, stream.attached]).toEqual([false, true]);
  stream.detach(first);
  stream.send('two');
  expect(await stream.resume(`${stream.id}.99`, new Connection())).toBe('unknown');
  const second = new Connection();
  stream.attach(second);
  expect(second.texts).toEqual(['two']);
});

test('a failing event log does not stop the stream, but it cannot be resumed', async () => {
  const { events } = createInMemory(createFakeClock());
  const stream = openStream({
    ...events,
    keep: async (id, event) => {
      if (event.text === 'two') throw new Error('disk full');
      await events.keep(id, event, 'ada');
    },
    forget: () => Promise.reject(new Error('disk full')),
  });
  const first = new Connection();
  stream.attach(first);
  stream.send('one');
  stream.send('two');
  stream.send('three');
  expect(first.texts).toEqual(['one', 'two', 'three']);
  expect(await stream.resume(first.got[0]!.id, new Connection())).toBe('unknown');
  stream.forget();
  await setImmediate();
});

test('a stream is removed after all of its messages were stored', async () => {
  const asked: string[] = [];
  const stream = openStream({
    async keep(_stream, { text }) {
      await setImmediate();
      asked.push(`keep ${text}`);
    },
    after: () => undefined,
    forget: () => void asked.push('forget'),
  });
  stream.send('one');
  stream.send('two');
  stream.end();
  stream.forget();
  while (asked.length < 3) await setImmediate();
  expect(asked).toEqual(['keep one', 'keep two', 'forget']);
});

test('a message is given to the event log at once, up to a limit', async () => {
  const handed: string[] = [];
  const kept: (() => void)[] = [];
  const stream = openStream({
    keep(_stream, { text }) {
      handed.push(text);
      return new Promise((resolve) => kept.push(resolve));
    },
    after: () => undefined,
    forget: () => {},
  });
  const texts = Array.from({ length: 100 }, (_, n) => `event ${n}`);
  for (const text of texts) stream.send(text);
  expect(handed).toEqual(texts.slice(0, 64));
  kept.shift()!();
  await setImmediate();
  expect(handed).toEqual(texts.slice(0, 65));
  while (kept.length > 0) {
    kept.shift()!();
    await setImmediate();
  }
  expect(handed).toEqual(texts);
});

test('long messages are given to the event log few at a time, which has room for little, and all in order', async () => {
  const lengths = fc.array(fc.constantFrom(1, 20_000, 300_000, 2_000_000), { minLength: 1, maxLength: 90 });
  await fc.assert(
    fc.asyncProperty(lengths, async (plan) => {
      const handed: number[] = [];
      let underWay = 0;
      let most = 0;
      let last = Promise.resolve();
      const stream = openStream({
        keep(_stream, { text }) {
          handed.push(text.length);
          most = Math.max(most, (underWay += text.length));
          last = last.then(() => setImmediate()).then(() => void (underWay -= text.length));
          return last;
        },
        after: () => [],
        forget: () => {},
      });
      for (const length of plan) stream.send('x'.repeat(length));
      await stream.resume('any', new Connection());
      expect(handed).toEqual(plan);
      expect(most).toBeLessThanOrEqual(1_048_576 + Math.max(...plan));
    }),
    { numRuns: Math.min(20, propertyRuns()) },
  );
});

test('after a failure of the event log nothing more is stored, so that there is no gap', async () => {
  const { events } = createInMemory(createFakeClock());
  const stream = openStream({
    ...events,
    keep: async (id, event) => {
      await setImmediate();
      if (event.text === 'two') throw new Error('disk full');
      await events.keep(id, event, 'ada');
    },
  });
  for (const text of ['one', 'two', 'three']) stream.send(text);
  expect(await stream.resume(`${stream.id}.1`, new Connection())).toBe('unknown');
  stream.send('four');
  await setImmediate();
  await setImmediate();
  for (const n of [1, 3, 4]) expect(events.after('kept', `${stream.id}.${n}`, 'ada')).toBe(undefined);
});

type Step = 'send' | 'drop' | 'resume' | 'resume twice' | 'wait';

test('no event is lost, repeated or out of order, for any sequence of sends, disconnects and reconnects with a slow log', async () => {
  const steps = fc.array(fc.constantFrom<Step>('send', 'drop', 'resume', 'resume twice', 'wait'), {
    maxLength: 30,
  });
  const delays = fc.array(fc.nat(3), { minLength: 1, maxLength: 7 });
  await fc.assert(
    fc.asyncProperty(steps, delays, async (plan, turns) => {
      const stream = openStream(slowLog(turns));
      let connection = new Connection();
      stream.attach(connection);
      stream.send('');
      // What the client has seen, over all its connections.
      const seen: StreamEvent[] = [...connection.got];
      let sent = 0;
      const returning: Promise<unknown>[] = [];
      const takeStock = (): void => {
        seen.push(...connection.got.filter(({ id }) => !seen.some((event) => event.id === id)));
      };
      const comeBack = async (): Promise<void> => {
        takeStock();
        const next = new Connection();
        const last = seen.at(-1)!.id;
        connection = next;
        expect(await stream.resume(last, next)).toBe('resumed');
      };
      for (const step of plan) {
        if (step === 'send') stream.send(`event ${++sent}`);
        else if (step === 'drop') stream.detach(connection);
        else if (step === 'wait') await setImmediate();
        else if (step === 'resume') returning.push(comeBack());
        else returning.push(comeBack(), comeBack());
      }
      await Promise.all(returning);
      await comeBack();
      stream.send(`event ${++sent}`);
      takeStock();
      expect(seen.slice(1).map(({ text }) => text)).toEqual(
        Array.from({ length: sent }, (_, index) => `event ${index + 1}`),
      );
      expect(new Set(connection.got.map(({ id }) => id)).size).toBe(connection.got.length);
    }),
    { numRuns: propertyRuns() },
  );
});
