import { expect, test } from 'vitest';
import { callBody, gotThrough, launch, versions, withBody, type Attack, type Version } from './attack.ts';
import { leakedAnswers } from './raw-http.ts';
import { overStdio } from './stdio.ts';
import { careless, product } from './target.ts';

const arrays: readonly [name: string, write: (call: string) => string][] = [
  ['a list of one call', (call) => `[${call}]`],
  ['a list of two calls', (call) => `[${call},${call}]`],
  ['a list of fifty-one calls', (call) => `[${Array(51).fill(call).join(',')}]`],
  ['a list in blanks', (call) => ` \n[ ${call} ]\n`.replaceAll('\n', ' ')],
  [
    'a list of a call and a notification',
    (call) => `[${call},{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
  ],
  ['a list of a call and rubbish', (call) => `[${call},1,null,[]]`],
];
const empties: readonly [name: string, write: () => string][] = [
  ['an empty list', () => '[]'],
  ['a list in a list', () => '[[]]'],
];

const attacksOf = (version: Version): Attack[] =>
  [...arrays, ...empties].map(([name, write]) => ({
    name,
    change: (good) => withBody(good, write(callBody(version))),
    status: 400,
    code: -32600,
  }));

for (const version of versions) {
  for (const attack of attacksOf(version)) {
    test(`A5 ${attack.name} is refused in ${version} and nothing runs`, async () => {
      expect(await launch(await product(), attack, version)).toEqual({ status: 400, code: -32600, ran: 0 });
    });
  }

  test(`A5 over stdio every list of ${version} gets one refusal`, async () => {
    const { answers, source } = await overStdio(
      [...arrays, ...empties].map(([, write]) => write(callBody(version))),
    );
    expect(answers.map(({ error, id }) => [error?.code, id])).toEqual(
      [...arrays, ...empties].map(() => [-32600, undefined]),
    );
    expect(source.calls).toEqual([]);
  });

  test(`A5 every list with a call of ${version} gets through to a server that takes lists, so the table can fail`, async () => {
    const names = arrays.map(([name]) => name);
    expect(await gotThrough(await careless(), attacksOf(version), version)).toEqual(names);
  });
}

test('A5 no refusal tells anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});
