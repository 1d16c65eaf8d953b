import { expect, test } from 'vitest';
import { localCaller } from '../../core/caller.ts';
import { Session } from './session.ts';
import { keepsNothing } from './stream.ts';

test('a client may come back to the stream that ended last, however many there were', () => {
  const session = new Session('s', localCaller, keepsNothing);
  let last = session.openStream();
  for (let count = 0; count < 200; count++) {
    last.end();
    const next = session.openStream();
    expect(session.streamsOf(`${last.id}.1`)).toEqual([last]);
    last = next;
  }
});

test('a stream that has not ended is kept, however many follow', () => {
  const session = new Session('s', localCaller, keepsNothing);
  const open = session.openStream();
  for (let count = 0; count < 200; count++) session.openStream().end();
  expect(session.streamsOf(`${open.id}.1`)).toEqual([open]);
});

test('A8 what is sent on the stream of one request waits for nobody: who comes back to it asks the log', () => {
  const session = new Session('s', localCaller, keepsNothing);
  const seen: string[] = [];
  const sink = { event: (text: string) => void seen.push(text), end: () => {} };
  for (const stream of [session.openStream(), session.serverStream]) {
    stream.send(stream === session.serverStream ? 'unasked' : 'asked');
    stream.attach(sink);
  }
  expect(seen).toEqual(['unasked']);
});
