import { expect, test } from 'vitest';
import { openCrib, type Crib } from '../gateway.ts';
import { callBody, goodCall, measured, versions, withBody, withHeader, without } from './attack.ts';
import { leakedAnswers, talk, toBytes, type RawRequest } from './raw-http.ts';
import { careless, danger } from './target.ts';

const MIB = 1_048_576;
const items = (length: number, item: string): string => `[${Array(length).fill(item).join(',')}]`;

const bombs: readonly [name: string, argument: string, status: number][] = [
  ['lists nested 65 deep', '['.repeat(62) + ']'.repeat(62), 400],
  ['50,001 values', `[${Array(5).fill(items(9_999, '0')).join(',')}]`, 400],
  ['an object of 1,001 keys', `{${Array.from({ length: 1_001 }, (_, key) => `"k${key}":0`).join()}}`, 400],
  ['a number of 100,000 digits', '1'.repeat(100_000), 400],
  ['a string of 2 MiB', `"${'x'.repeat(2 * MIB)}"`, 413],
  ['4 MB of empty objects', items(1_300_000, '{}'), 413],
];

const bombOf = (version: (typeof versions)[number], port: number, argument: string): RawRequest => {
  const body = callBody(version).replace('"arguments":{}', `"arguments":{"a":${argument}}`);
  return withBody(goodCall(version, port), body);
};

const signed = (crib: Crib, request: RawRequest): RawRequest =>
  withHeader(request, 'Authorization', `Bearer ${crib.keys.ada}`);

test('A6 a gateway refuses every bomb sent with a key, in any revision, records each and serves the next call', async () => {
  const crib = await openCrib({ offers: [danger] });
  for (const version of versions) {
    for (const [name, argument, status] of bombs) {
      const [answer] = await talk(
        crib.port,
        toBytes(measured(signed(crib, bombOf(version, crib.port, argument)))),
      );
      expect([version, name, answer?.status]).toEqual([version, name, status]);
    }
    const [served] = await talk(crib.port, toBytes(measured(signed(crib, goodCall(version, crib.port)))));
    expect([version, served?.status]).toEqual([version, 200]);
  }
  expect(crib.rowsOf('danger').filter(({ kind }) => kind === 'outcome')).toHaveLength(versions.length);
  await expect
    .poll(
      () =>
        crib
          .rows()
          .filter(({ kind }) => kind === 'refusal')
          .reduce((sum, row) => sum + Number(row['count']), 0),
      { timeout: 5_000 },
    )
    .toBe(versions.length * bombs.length);
});

test('A6 a bomb without a valid key is refused from its headers, and no byte of its body is read', async () => {
  const crib = await openCrib({ offers: [danger] });
  const { ada } = crib.keys;
  const almost = ada.slice(0, -1) + (ada.endsWith('x') ? 'y' : 'x');
  for (const version of versions) {
    for (const key of [undefined, 'Bearer nonsense', `Bearer ${almost}`]) {
      for (const framing of [
        ['Content-Length', '1000000'],
        ['Transfer-Encoding', 'chunked'],
      ] as const) {
        const bare = without(withBody(goodCall(version, crib.port), ''), 'Content-Length');
        const head = withHeader(bare, framing[0], framing[1]);
        // Nothing follows the head, so that only a server that does not wait for it can answer.
        const request = key === undefined ? head : withHeader(head, 'Authorization', key);
        const [answer] = await talk(crib.port, toBytes(request));
        expect([version, framing[0], answer?.status]).toEqual([version, framing[0], 401]);
      }
    }
  }
  expect(crib.rows()).toEqual([]);
});

test('A6 control: a client with a valid key gets "100 Continue" for a body', async () => {
  const crib = await openCrib({ offers: [danger] });
  const body = callBody('2026-07-28');
  const asking = withHeader(
    withHeader(withBody(goodCall('2026-07-28', crib.port), body), 'Content-Length', String(body.length)),
    'Expect',
    '100-continue',
  );
  const statuses = async (request: RawRequest): Promise<number[]> =>
    (await talk(crib.port, toBytes(request))).map(({ status }) => status);
  expect(await statuses(signed(crib, asking))).toEqual([100, 200]);
  expect(await statuses(asking)).toEqual([401]);
});

test('A6 control: every bomb reaches a server without limits', async () => {
  const target = await careless((body) => JSON.parse(body.toString()) as unknown);
  for (const [, argument] of bombs)
    await talk(target.port, toBytes(measured(bombOf('2026-07-28', target.port, argument))));
  expect(target.runs()).toBe(bombs.length);
});

test('A6 no response reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});
