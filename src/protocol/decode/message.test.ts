import { isUtf8 } from 'node:buffer';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { decodeMessages, type DecodedResponse } from './message.ts';

const LONG = 'a long text, '.repeat(100);
const pieces = fc.constantFrom(
  LONG,
  LONG,
  '"',
  '\\',
  '\n',
  '\u0001',
  'ü',
  '日本',
  '😀',
  '\ud800',
  '{',
  '[',
  ',',
);
const text = fc.array(pieces, { maxLength: 4 }).map((parts) => parts.join(''));
const block = fc.record({ type: fc.constantFrom('text', 'image'), text });
// The scan refuses such a key before anything is parsed.
const anyJson = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('__proto__'));
const result = fc.record(
  {
    content: fc.array(block, { maxLength: 3 }),
    structuredContent: fc.dictionary(
      fc.constantFrom('a', 'b', LONG),
      fc.oneof(text, fc.array(text), anyJson),
    ),
    isError: fc.boolean(),
    resultType: fc.constantFrom('complete', LONG),
    _meta: fc.record({ note: text }),
  },
  { requiredKeys: [] },
);

test('a result that is parsed on first access equals one that is parsed at once', () => {
  fc.assert(
    fc.property(result, (sent) => {
      const bytes = messageOf(sent);
      const { received } = answerIn(bytes);
      expect(received!.result).toEqual(JSON.parse(JSON.stringify(sent)));
    }),
    { numRuns: propertyRuns(1_000) },
  );
});

test('large content and data of a result are not parsed before they are read', () => {
  const sent = { content: [{ type: 'text', text: LONG }], structuredContent: { of: [LONG] }, isError: false };
  const { received } = answerIn(messageOf(sent));
  expect(received!.outline).toEqual({
    ...sent,
    content: [{ type: 'text', text: '' }],
    structuredContent: null,
  });
  expect(received!.result).toEqual(sent);
});

test('a message with a changed byte is refused exactly when it is not JSON, also in long texts that are not parsed', () => {
  const wrong = fc.constantFrom(...Buffer.from('\\"{[\0\n'), 0x7f, 0x80, 0xff);
  fc.assert(
    fc.property(result, fc.nat(), wrong, (sent, place, byte) => {
      const bytes = messageOf(sent);
      bytes[place % bytes.length] = byte;
      const expected = parsed(bytes);
      const [incoming] = decodeMessages(bytes);
      if (expected === undefined) expect(incoming?.kind).toBe('unreadable');
      else if (incoming?.kind === 'answer' && incoming.received)
        expect(incoming.received.result).toEqual(expected.result);
    }),
    { numRuns: propertyRuns(5_000) },
  );
});

test.each([
  ['a control character', '\u0007'],
  ['a line break', '\n'],
  ['an unknown escape', '\\x'],
  ['an escape that is cut off', '\\u12'],
])('%s in a long text makes the message unreadable', (_, wrong) => {
  const bytes = Buffer.from(
    `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"${LONG}${wrong}"}]}}`,
  );
  expect(decodeMessages(bytes)[0]!.kind).toBe('unreadable');
});

test('bytes in a long text that are not UTF-8 make the message unreadable', () => {
  const bytes = messageOf({ content: [{ type: 'text', text: LONG }] });
  bytes[bytes.indexOf('long')] = 0xff;
  expect(decodeMessages(bytes)[0]!.kind).toBe('unreadable');
});

function messageOf(sent: unknown): Buffer {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: sent }));
}

function answerIn(bytes: Buffer): DecodedResponse {
  const [incoming] = decodeMessages(bytes);
  if (incoming?.kind !== 'answer') throw new Error(`This is no answer: ${bytes.toString()}`);
  return incoming;
}

function parsed(bytes: Buffer): { readonly result?: unknown } | undefined {
  try {
    return isUtf8(bytes) ? (JSON.parse(bytes.toString()) as object) : undefined;
  } catch {
    return undefined;
  }
}
