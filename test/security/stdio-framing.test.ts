import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { callBody } from './attack.ts';
import { leakedAnswers, type JsonRpcAnswer } from './raw-http.ts';
import { overStdio } from './stdio.ts';

const call = (id: string): string => callBody('2025-06-18').replace('"id":1', `"id":"${id}"`);
const codeOf = ({ error }: JsonRpcAnswer): number | undefined => error?.code;

test.each<[name: string, noise: string | Uint8Array]>([
  ['a banner', 'Welcome to the tool!'],
  ['a number', '42'],
  ['a quoted line', '"hello"'],
  ['two calls on one line', call('a') + call('b')],
  ['two calls with a comma between', `${call('a')},${call('b')}`],
  ['half a call', call('a').slice(0, 40)],
  ['a call with a carriage return inside', call('a').replace(',', ',\r\u0000')],
  [
    'a call that is not UTF-8',
    Buffer.concat([Buffer.from(call('a').slice(0, -3)), Buffer.from([0xff, 0xfe])]),
  ],
  ['a call in UTF-16', Buffer.from(call('a'), 'utf16le')],
  ['an answer to nothing', '{"jsonrpc":"2.0","id":7,"result":{}}'],
  ['an error about nothing', '{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}'],
])('A12 %s gets one refusal and the next line is served', async (_name, noise) => {
  const { answers, source } = await overStdio([noise, call('good')]);
  expect(answers.filter(({ id }) => id === 'good').map(codeOf)).toEqual([undefined]);
  expect(answers.filter(({ id }) => id !== 'good').map(codeOf)).toEqual([expect.toBeOneOf([-32700, -32600])]);
  expect(source.calls).toHaveLength(1);
});

test('A12 blank lines and line ends of either kind are no messages', async () => {
  const { answers } = await overStdio(
    Readable.from([Buffer.from(`\n\r\n${call('a')}\r\n\n${call('b')}\n\r\n`)]),
  );
  expect(answers.map(({ id }) => String(id)).toSorted()).toEqual(['a', 'b']);
});

test('A12 a last line without an end is served', async () => {
  const { answers } = await overStdio(Readable.from([Buffer.from(call('last'))]));
  expect(answers.map(({ id }) => id)).toEqual(['last']);
});

test('A12 lines mean the same however the bytes are cut up', async () => {
  const ids = ['a', 'é', '😀', 'd'];
  const bytes = Buffer.from(ids.map(call).join('\n'));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: bytes.length }), { maxLength: 12 }), async (cuts) => {
      const { answers, source } = await overStdio(Readable.from(cutAt(bytes, cuts)));
      expect(answers.map(({ id }) => String(id)).toSorted()).toEqual(ids.toSorted());
      expect(source.calls).toHaveLength(ids.length);
    }),
    { numRuns: 200 },
  );
});

test('A12 no answer tells anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const edges = [0, ...new Set(cuts)].toSorted((a, b) => a - b);
  return edges
    .map((edge, index) => bytes.subarray(edge, edges[index + 1] ?? bytes.length))
    .filter(({ length }) => length > 0);
}
