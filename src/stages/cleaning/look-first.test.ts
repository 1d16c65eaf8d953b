import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { decodeMessages } from '../../protocol/decode/message.ts';
import { Secrets } from '../../observe/secrets.ts';
import { Cleaner } from './cleaner.ts';
import { isSurelyUntouched } from './look-first.ts';

const LIVE = [
  'plain-live-secret-1',
  'with/slash+and=base64/',
  'quo"ted\\secret\nof two lines',
  'schlüssel-für-alle',
  'why???so???many???questions???in???here',
];
const QUOTED = 'quo"ted&secret';
const known = [LIVE, LIVE.slice(0, 2), [QUOTED]].map((words) => {
  const secrets = new Secrets();
  for (const word of words) secrets.add(word);
  return secrets;
});

const base64OfLive = Buffer.from(`padding ${LIVE[0]!} and more padding behind it`).toString('base64');
const pieces = [
  ...LIVE,
  QUOTED,
  QUOTED.replace('&', '&amp;'),
  encodeURIComponent(LIVE[1]!),
  base64OfLive,
  base64OfLive.replaceAll(/.{20}/g, '$&\n'),
  // Its base64 has slashes near the end of its lines.
  Buffer.from(LIVE[4]!).toString('base64').replaceAll(/.{20}/g, '$&\n'),
  JSON.stringify(LIVE[2]),
  `ghp_${'a1B2'.repeat(9)}`,
  'postgres://user:password@host/db',
  'https://example.com/a:b@c',
  'Authorization: Bearer abcdefgh',
  'eyJhbGciOiJI.eyJzdWIiOiIx.abc',
  'AKIAABCDEFGHIJKLMNOP',
  '\u200b',
  '\u202e',
  '\u0007',
  '\u007f',
  '\u001b[31m',
  '\ud800',
  '\u{e0041}',
  'e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301',
  '👩\u200d🚀',
  'naïve',
  '日本語',
  '\\u200b',
  '\\n',
  '\n',
  '\t',
  '\r',
  '"',
  '\\',
  '/',
  'x',
  ' ',
];

const text = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...pieces) },
      fc.string({ unit: 'grapheme', maxLength: 6 }),
    ),
    {
      maxLength: 4,
    },
  )
  .map((parts) => parts.join(''));
const key = text.filter((name) => !['__proto__', 'prototype', 'constructor'].includes(name));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    text,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(true, false, null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 3 }),
  ),
}));
const plainValue = fc.jsonValue({ stringUnit: fc.constantFrom('a', 'b', ' ', '\n', '/', '_') });
// How servers write JSON: as it is, without non-ASCII, with escaped slashes, with spaces.
const writers: readonly ((value: unknown) => string)[] = [
  (written) => JSON.stringify(written),
  (written) =>
    JSON.stringify(written).replaceAll(
      /[^ -~]/g,
      (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  (written) => JSON.stringify(written).replaceAll('/', '\\/'),
  (written) => JSON.stringify(written, null, 1),
];

interface Seen {
  /** Whether a look says that nothing has to be done. */
  readonly untouched: boolean;
  /** Whether cleaning did nothing. */
  readonly same: boolean;
}

function lookAndClean(result: unknown, write: (value: unknown) => string): Seen[] {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${write({ content: [], data: result })}}`);
  const [answer] = decodeMessages(bytes);
  const received = answer?.kind === 'answer' ? answer.received : undefined;
  if (!received?.json) throw new Error(`This is no answer: ${bytes.toString()}`);
  const { json } = received;
  const { data } = received.result as { data: unknown };
  const maxBytes = 1_000_000;
  return known.map((secrets) => {
    const redact = (said: string): string => secrets.redact(said);
    const cleaner = new Cleaner({ maxBytes, redact, secrets, escapeHtml: false });
    const untouched = isSurelyUntouched(json, { maxBytes, secrets });
    return { untouched, same: Object.is(cleaner.data(data), data) };
  });
}

function isMissed({ untouched, same }: Seen): boolean {
  return untouched && !same;
}

// The secrets without quotes and line breaks: those make every escape a place to hide.
const PLAIN = 1;
const UNTOUCHED: Seen = { untouched: true, same: true };

describe('the quick look at the bytes of a result', () => {
  test.each(writers.map((write, index) => [index, write] as const))(
    'C7 the quick look never passes a result that cleaning would change, in any spelling (%i)',
    (_index, write) => {
      fc.assert(
        fc.property(value, (result) => {
          expect(lookAndClean(result, write).filter(isMissed)).toEqual([]);
        }),
        { numRuns: propertyRuns(5_000) },
      );
    },
  );

  test('the quick look passes every clean result', () => {
    fc.assert(
      fc.property(plainValue, (result) => {
        expect(lookAndClean(result, JSON.stringify)[PLAIN]).toEqual(UNTOUCHED);
      }),
      { numRuns: propertyRuns(1_000) },
    );
  });

  test.each(pieces.slice(0, 25))(
    'C7 the quick look finds text that must be cleaned in a key, a value and deep inside: %j',
    (piece) => {
      for (const write of writers)
        for (const result of [piece, [[piece]], { [piece]: 1 }, { a: { b: `x ${piece} y` } }]) {
          expect(lookAndClean(result, write).filter(isMissed)).toEqual([]);
        }
    },
  );

  test('the quick look passes mail addresses, quotes and text of several lines', () => {
    const said = 'Write to ada@example.com.\nSecond line: 12:30, done_1 - see [2]\n';
    expect(lookAndClean({ said: said.repeat(50) }, JSON.stringify)[PLAIN]).toEqual(UNTOUCHED);
  });
});
