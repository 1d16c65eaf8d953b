import { createParser, type EventSourceMessage } from 'eventsource-parser';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeEvent, encodePriming, KEEP_ALIVE } from './event-stream.ts';

test('a message is one event with one line of data', () => {
  expect(encodeEvent('{"a":1}')).toBe('event: message\ndata: {"a":1}\n\n');
});

test('a message of a resumable stream has an id to resume from', () => {
  expect(encodeEvent('{"a":1}', 's-1')).toBe('event: message\nid: s-1\ndata: {"a":1}\n\n');
});

test('a resumable stream begins with an id, a retry time and no data', () => {
  const waits: number[] = [];
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event), onRetry: (ms) => waits.push(ms) });
  parser.feed(encodePriming('s-0', 3_000));
  expect(events).toEqual([{ id: 's-0', event: undefined, data: '' }]);
  expect(waits).toEqual([3_000]);
});

test('a comment that keeps a stream open is not an event', () => {
  expect(read(`${KEEP_ALIVE}${encodeEvent('{}')}${KEEP_ALIVE}`, 5)).toEqual(['{}']);
});

test('an independent parser reads any sequence of messages unchanged', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), fc.nat(40), (values, size) => {
      const messages = values.map((value) => JSON.stringify({ jsonrpc: '2.0', result: value }));
      expect(read(messages.map((message) => encodeEvent(message)).join(''), size + 1)).toEqual(messages);
    }),
  );
});

test('a message cannot start a second event, with any line separators in its texts', () => {
  const text = fc.string({
    unit: fc.constantFrom('\n', '\r', '\u2028', '\u2029', '\u0085', 'data: x', ':', 'id: 1', 'a'),
  });
  fc.assert(
    fc.property(text, (value) => {
      const message = JSON.stringify({ result: value });
      expect(read(encodeEvent(message), 7)).toEqual([message]);
    }),
  );
});

test('control: a raw line break would start a second event', () => {
  expect(read(encodeEvent('{}\n\ndata: {"forged":true}'), 7)).toEqual(['{}', '{"forged":true}']);
});

function read(stream: string, pieceLength: number): string[] {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  for (let at = 0; at < stream.length; at += pieceLength) parser.feed(stream.slice(at, at + pieceLength));
  for (const { event, id } of events) if (id !== undefined || (event ?? 'message') !== 'message') return [];
  return events.map(({ data }) => data);
}
