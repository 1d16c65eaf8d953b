import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import {
  callBody,
  deliver,
  goodCall,
  gotThrough,
  launch,
  versions,
  withBody,
  withHeader,
  without,
  type Attack,
} from './attack.ts';
import { leakedAnswers, talk, toBytes, type RawRequest } from './raw-http.ts';
import { overStdio } from './stdio.ts';
import { careless, product } from './target.ts';

const MIB = 1_048_576;

const withArgument = (good: RawRequest, json: string): RawRequest =>
  withBody(good, (good.body as string).replace('"arguments":{}', `"arguments":{"a":${json}}`));
const list = (length: number, item: string): string => `[${Array(length).fill(item).join(',')}]`;
const object = (keys: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: keys }, (_, key) => [`k${key}`, 0])));
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

// Small enough to be read, so that it is their shape that stops them.
const shapes: readonly [name: string, argument: string][] = [
  ['lists nested 65 deep', nested(62)],
  ['objects nested 65 deep', `${'{"a":'.repeat(62)}0${'}'.repeat(62)}`],
  ['lists nested 100,000 deep', nested(100_000)],
  ['50,001 values', `[${Array(5).fill(list(9_999, '0')).join(',')}]`],
  ['50,001 empty objects', `[${Array(5).fill(list(9_999, '{}')).join(',')}]`],
  ['an object of 1,001 keys', object(1_001)],
  ['an object of 10,001 keys', object(10_001)],
  ['a list of 10,001 items', list(10_001, '0')],
  ['a number of 100,000 digits', '1'.repeat(100_000)],
];

// Too large to be read at all.
const floods: readonly [name: string, argument: string][] = [
  ['a string of over 1 MiB', `"${'x'.repeat(MIB + 1)}"`],
  ['a string of 2 MiB', `"${'x'.repeat(2 * MIB)}"`],
  ['4 MB of empty objects', list(1_300_000, '{}')],
  ['brackets 2,000,000 deep', nested(1_000_000)],
  ['a number of 2 million digits', '1'.repeat(2_000_000)],
];

const tooLarge: readonly Attack[] = [
  ...floods.map(([name, argument]): Attack => ({
    name,
    change: (good) => withArgument(good, argument),
    status: 413,
    code: -32600,
  })),
  {
    name: '5 MiB in chunks without a length',
    change: (good) => inChunks(withArgument(good, `"${'x'.repeat(5 * MIB)}"`)),
    status: 413,
    code: -32600,
  },
  {
    name: 'blanks that make a good call too large',
    change: (good) => withBody(good, (good.body as string) + ' '.repeat(MIB)),
    status: 413,
    code: -32600,
  },
];

const tooTangled = shapes.map(([name, argument]): Attack => ({
  name,
  change: (good) => withArgument(good, argument),
  status: 400,
  code: -32600,
}));

for (const version of versions) {
  for (const attack of [...tooLarge, ...tooTangled]) {
    test(`A6 ${attack.name} is refused in ${version}, nothing runs, and the next call is served`, async () => {
      const target = await product();
      const { status, code } = attack;
      expect(await launch(target, attack, version)).toEqual({ status, code, ran: 0 });
      expect((await deliver(target, goodCall(version, target.port))).ran).toBe(1);
    });
  }

  test(`A6 a larger body limit does not change the limits of nesting and size in ${version}`, async () => {
    const target = await product({ maxBodyBytes: 8 * MIB });
    for (const [name, argument] of floods) {
      const attack: Attack = { name, change: (good) => withArgument(good, argument), status: 400 };
      expect(await launch(target, attack, version)).toEqual({ status: 400, code: -32600, ran: 0 });
    }
    expect((await deliver(target, goodCall(version, target.port))).ran).toBe(1);
  });

  // Whatever the version, such a server reads the same bodies.
  if (!['2026-07-28', '2025-06-18'].includes(version)) continue;
  test(`A6 control: every bomb of ${version} reaches a server without limits`, async () => {
    const target = await careless((body) => JSON.parse(body.toString()) as unknown);
    const attacks = [...tooLarge, ...tooTangled];
    expect(await gotThrough(target, attacks, version)).toEqual(attacks.map(({ name }) => name));
  });
}

describe('a Content-Length that is too large', () => {
  test.each(['1048577', '5242880', '9007199254740991'])(
    'A6 a declared length of %s is refused before any byte of the body is sent',
    async (length) => {
      const target = await product();
      const request = withHeader(withBody(goodCall('2026-07-28', target.port), ''), 'Content-Length', length);
      const [answer] = await talk(target.port, toBytes(request));
      expect([answer?.status, answer?.headers.get('connection')]).toEqual([413, 'close']);
    },
  );

  test('A6 a client with a large body that sends "Expect: 100-continue" gets no 100', async () => {
    const target = await product();
    const asking = withHeader(withBody(goodCall('2026-07-28', target.port), ''), 'Expect', '100-continue');
    const answers = await talk(target.port, toBytes(withHeader(asking, 'Content-Length', '5242880')));
    expect(answers.map(({ status }) => status)).toEqual([413]);
  });

  test('A6 control: a client with a good body that sends "Expect: 100-continue" gets a 100', async () => {
    const target = await product();
    const good = goodCall('2026-07-28', target.port);
    const asking = withHeader(
      withHeader(good, 'Expect', '100-continue'),
      'Content-Length',
      String(good.body.length),
    );
    // Sent without waiting, as some clients do.
    const answers = await talk(target.port, toBytes(asking));
    expect(answers.map(({ status }) => status)).toEqual([100, 200]);
  });

  test('A6 a body of the maximum size is read', async () => {
    const target = await product({ maxBodyBytes: 2_000 });
    const good = goodCall('2026-07-28', target.port);
    const padded = (length: number): RawRequest => withBody(good, (good.body as string).padEnd(length, ' '));
    expect((await deliver(target, padded(2_000))).answer.status).toBe(200);
    expect((await deliver(target, padded(2_001))).answer.status).toBe(413);
    expect((await deliver(target, inChunks(padded(2_000)))).answer.status).toBe(200);
    expect((await deliver(target, inChunks(padded(2_001)))).answer.status).toBe(413);
  });
});

describe('standard input', () => {
  test('A6 each bomb that fits on a line is refused, and the next call is served', async () => {
    const call = callBody('2025-06-18');
    const bombs = [...shapes, ...floods].map(([, argument]) =>
      call.replace('"arguments":{}', `"arguments":{"a":${argument}}`),
    );
    const { answers, source } = await overStdio([...bombs, call]);
    expect(answers.map(({ error }) => error?.code)).toEqual([...bombs.map(() => -32600), undefined]);
    expect(source.calls).toHaveLength(1);
  });

  test('A6 a line of over 4 MiB is refused once and skipped to its end, and the next line is served', async () => {
    const call = callBody('2025-06-18');
    const { answers, source } = await overStdio(Readable.from(withLongLine(call, 64)));
    expect(answers.filter(({ error }) => error?.code === -32600)).toHaveLength(1);
    expect(answers.filter(({ result }) => result !== undefined)).toHaveLength(2);
    expect(source.calls).toHaveLength(2);
  });

  test('A6 control: a line of 3 MiB is read', async () => {
    const call = callBody('2025-06-18');
    const { source } = await overStdio([call.padEnd(3 * MIB, ' ')]);
    expect(source.calls).toHaveLength(1);
  });
});

test('A6 no refusal reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

function inChunks(request: RawRequest): RawRequest {
  const bytes = Buffer.from(request.body as string);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 65_536) {
    const piece = bytes.subarray(at, at + 65_536);
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  const chunked = withHeader(without(request, 'Content-Length'), 'Transfer-Encoding', 'chunked');
  return withBody(chunked, Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]));
}

// The long line is a good call behind blanks, so that nothing but its length can stop it.
function* withLongLine(call: string, mebibytes: number): Generator<Buffer> {
  const blanks = Buffer.alloc(MIB, ' ');
  yield Buffer.from(`${call}\n`);
  for (let i = 0; i < mebibytes; i++) yield blanks;
  yield Buffer.from(`${call.replace('"id":1', '"id":2')}\n${call.replace('"id":1', '"id":3')}\n`);
}
