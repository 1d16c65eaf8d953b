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

test('events go to the connection, each under its own id that names the stream', () => {
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

test('what is sent while nobody is there waits for the next connection', () => {
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

test('A8 only so much waits: the oldest goes first', () => {
  const stream = openStream(keepsNothing);
  for (let count = 1; count <= 1_200; count++) stream.send(String(count));
  const connection = new Connection();
  stream.attach(connection);
  expect(connection.texts).toHaveLength(1_000);
  expect(connection.texts.at(-1)).toBe('1200');
});

test('a connection that was replaced cannot let go of its successor', () => {
  const stream = openStream();
  const [first, second] = [new Connection(), new Connection()];
  stream.attach(first);
  stream.attach(second);
  stream.detach(first);
  expect(stream.attached).toBe(true);
  stream.send('one');
  expect(second.texts).toEqual(['one']);
});

test('coming back repeats what came after an event and goes on from there', async () => {
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

test('an event to come back to is not repeated', async () => {
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

test('coming back to a stream that ended brings the rest and the end', async () => {
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

test('coming back with an unknown event changes nothing', async () => {
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

test('a log that fails does not stop the stream, but nobody can come back to it', async () => {
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

test('a stream is forgotten after everything sent on it was kept', async () => {
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

test('what is sent is handed to the log at once, up to a limit', async () => {
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
  const texts = Array.from({ length: 40 }, (_, n) => `event ${n}`);
  for (const text of texts) stream.send(text);
  expect(handed).toEqual(texts.slice(0, 16));
  kept.shift()!();
  await setImmediate();
  expect(handed).toEqual(texts.slice(0, 17));
  while (kept.length > 0) {
    kept.shift()!();
    await setImmediate();
  }
  expect(handed).toEqual(texts);
});

test('once a log has failed, nothing is kept that has a hole in it', async () => {
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

test('no event is lost, repeated or out of order, however sends, losses and returns fall with a slow log', async () => {
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
