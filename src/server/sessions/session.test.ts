import { expect, test } from 'vitest';
import { localCaller } from '../../core/caller.ts';
import { Session } from './session.ts';
import { keepsNothing } from './stream.ts';

test('a client can reconnect to the most recently ended stream, after any number of streams', () => {
  const session = new Session('s', localCaller, keepsNothing);
  let last = session.openStream();
  for (let count = 0; count < 200; count++) {
    last.end();
    const next = session.openStream();
    expect(session.streamsOf(`${last.id}.1`)).toEqual([last]);
    last = next;
  }
});

test('an open stream is kept, however many follow', () => {
  const session = new Session('s', localCaller, keepsNothing);
  const open = session.openStream();
  for (let count = 0; count < 200; count++) session.openStream().end();
  expect(session.streamsOf(`${open.id}.1`)).toEqual([open]);
});

test('A8 messages on the stream of a request are not queued in memory: a reconnect reads them from the event log', () => {
  const session = new Session('s', localCaller, keepsNothing);
  const seen: string[] = [];
  const sink = { event: (text: string) => void seen.push(text), end: () => {} };
  for (const stream of [session.openStream(), session.serverStream]) {
    stream.send(stream === session.serverStream ? 'unasked' : 'asked');
    stream.attach(sink);
  }
  expect(seen).toEqual(['unasked']);
});
