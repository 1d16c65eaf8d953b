import { describe, expect, test } from 'vitest';
import {
  callBody,
  deliver,
  goodCall,
  gotThrough,
  launch,
  versions,
  withBody,
  type Attack,
} from './attack.ts';
import { leakedAnswers } from './raw-http.ts';
import { overStdio } from './stdio.ts';
import { careless, product } from './target.ts';

type Edit = (body: string) => string | Uint8Array;

const swap =
  (from: string, to: string): Edit =>
  (body) => {
    if (!body.includes(from)) throw new Error(`${from} is not in ${body}`);
    return body.replace(from, to);
  };
const withArgument = (json: string): Edit => swap('"arguments":{}', `"arguments":{"a":${json}}`);
const withBytes = (hex: string): Edit => {
  return (body) => {
    const [before = '', after = ''] = body.split('"arguments":{}');
    const bytes = Buffer.from(hex, 'hex');
    return Buffer.concat([Buffer.from(`${before}"arguments":{"a":"`), bytes, Buffer.from(`"}${after}`)]);
  };
};
const withId = (id: string): Edit => swap('"id":1', `"id":${id}`);

const differences: readonly [name: string, edit: Edit, code: number][] = [
  ['a repeated method', swap('"method":', '"method":"tools/list","method":'), -32600],
  ['a repeated method, escaped', swap('"method":', String.raw`"\u006dethod":"tools/list","method":`), -32600],
  [
    'a repeated method, escaped behind',
    swap('"method":"tools/call"', String.raw`"method":"tools/list","m\u0065thod":"tools/call"`),
    -32600,
  ],
  ['a repeated tool name', swap('"name":', '"name":"safe","name":'), -32600],
  ['a repeated id', swap('"id":1', '"id":1,"id":2'), -32600],
  ['repeated parameters', swap('"params":', '"params":{},"params":'), -32600],
  ['a repeated argument', swap('"arguments":{}', '"arguments":{"a":1,"a":2}'), -32600],
  ['a repeated argument deep inside', withArgument('[{"b":{"c":1,"c":2}}]'), -32600],
  ['Method instead of method', swap('"method"', '"Method"'), -32600],
  ['METHOD instead of method', swap('"method"', '"METHOD"'), -32600],
  ['Method beside method', swap('"method":', '"Method":"tools/call","method":'), -32600],
  ['Params beside params', swap('"params":', '"Params":{"name":"danger"},"params":'), -32600],
  ['params spelt with a long s', swap('"params"', '"param\u017f"'), -32600],
  ['an unknown member', swap('"id":1', '"id":1,"extra":true'), -32600],
  ['an answer that is a request too', swap('"id":1', '"id":1,"result":{}'), -32600],
  ['an error that is a request too', swap('"id":1', '"id":1,"error":{"code":1,"message":""}'), -32600],
  ['a byte order mark in front', (body) => `\u{feff}${body}`, -32700],
  ['a byte order mark behind', (body) => `${body}\u{feff}`, -32700],
  ['a NUL in front', (body) => `\0${body}`, -32700],
  ['a NUL behind', (body) => `${body}\0`, -32700],
  ['a NUL inside a key', swap('"method"', '"meth\0od"'), -32700],
  ['a NUL inside a value', swap('tools/call', 'tools/\0call'), -32700],
  ['a NUL between members', swap('"id":1,', '"id":1,\0'), -32700],
  ['a byte that is not UTF-8', withBytes('ff'), -32700],
  ['half a character', withBytes('e282'), -32700],
  ['an overlong slash', withBytes('c0af'), -32700],
  ['a surrogate written as UTF-8', withBytes('eda080'), -32700],
  ['a character beyond Unicode', withBytes('f4908080'), -32700],
  ['a number too large for a double', withArgument('1e400'), -32600],
  ['a negative number too large for a double', withArgument('-1e400'), -32600],
  ['a number of 400 digits', withArgument('1'.repeat(400)), -32600],
  ['a number of 401 digits', withArgument('1'.repeat(401)), -32600],
  ['no version of JSON-RPC', swap('"jsonrpc":"2.0",', ''), -32600],
  ['another version of JSON-RPC', swap('"2.0"', '"1.0"'), -32600],
  ['the version of JSON-RPC as a number', swap('"2.0"', '2.0'), -32600],
  ['a method in a list', swap('"tools/call"', '["tools/call"]'), -32600],
  ['the id null', withId('null'), -32600],
  ['the id true', withId('true'), -32600],
  ['an object as the id', withId('{"a":1}'), -32600],
  ['a list as the id', withId('[1]'), -32600],
  ['an infinite id', withId('1e400'), -32600],
  ['an id of 129 bytes', withId(`"${'x'.repeat(129)}"`), -32600],
];

const attacks = differences.map(([name, edit, code]): Attack => ({
  name,
  change: (good) => withBody(good, edit(good.body as string)),
  status: 400,
  code,
}));

for (const version of versions) {
  for (const attack of attacks) {
    test(`A4 ${attack.name} is refused in ${version} and nothing runs`, async () => {
      const { status, code } = attack;
      expect(await launch(await product(), attack, version)).toEqual({ status, code, ran: 0 });
    });
  }

  test(`A4 over stdio the same messages of ${version} are refused the same way`, async () => {
    const lines = differences.map(([, edit]) => edit(callBody(version)));
    const { answers, source } = await overStdio(lines);
    expect(answers.map(({ error }) => error?.code)).toEqual(differences.map(([, , code]) => code));
    expect(source.calls).toEqual([]);
  });

  test(`A4 control: a lenient reader accepts every message of ${version}`, async () => {
    const names = attacks.map(({ name }) => name);
    expect(await gotThrough(await careless(), attacks, version)).toEqual(names);
  });
}

describe('ids', () => {
  const ids = [
    '0',
    '-0',
    '1.5',
    '1.0',
    '1e2',
    '9007199254740993',
    '""',
    '"0"',
    '"é"',
    String.raw`"\u0061\/"`,
    String.raw`"\ud800"`,
  ];

  for (const version of versions) {
    test.each(ids)(`A4 the id %s comes back unchanged in ${version}`, async (id) => {
      const target = await product();
      const good = goodCall(version, target.port);
      const { answer, ran } = await deliver(
        target,
        withBody(good, (good.body as string).replace('"id":1', `"id":${id}`)),
      );
      expect({ status: answer.status, ran }).toEqual({ status: 200, ran: 1 });
      expect(answer.body).toContain(`"id":${id},`);
    });
  }

  test('A4 over stdio every id comes back unchanged', async () => {
    const { texts } = await overStdio(
      ids.map((id) => callBody('2025-06-18').replace('"id":1', `"id":${id}`)),
    );
    for (const id of ids) expect(texts.filter((line) => line.includes(`"id":${id},`))).toHaveLength(1);
  });
});

describe('the same reading everywhere', () => {
  test.each<[name: string, args: string]>([
    ['a lone surrogate', String.raw`{"a":"\ud800","\udfff":1}`],
    ['surrogates in the wrong order', String.raw`{"a":"\udc00\ud800"}`],
    ['an escaped NUL', String.raw`{"a":"\u0000","b\u0000":1}`],
    ['escaped names', String.raw`{"\u0061":1,"b":"\u0062"}`],
    ['a whole number a double cannot hold', '{"a":9007199254740993}'],
    ['a number below what a double can hold', '{"a":1e-400}'],
    ['names that differ in case', '{"a":1,"A":2}'],
    ['line separators', '{"a":"\u2028\u2029\u0085"}'],
    ['a byte order mark inside', '{"a":"\u{feff}"}'],
  ])('A4 %s means the same to the tool and to a later reader', async (_name, args) => {
    for (const version of versions) {
      const target = await product();
      const good = goodCall(version, target.port);
      const { answer, ran } = await deliver(
        target,
        withBody(good, (good.body as string).replace('"arguments":{}', `"arguments":${args}`)),
      );
      const seen = target.source.calls[0]?.arguments;
      expect(ran).toBe(1);
      expect(JSON.parse(JSON.stringify(seen))).toEqual(seen);
      expect(seen).toEqual(JSON.parse(args));
      const [block] = answer.json!.result!['content'] as { text: string }[];
      expect(JSON.parse(block!.text)).toEqual({ ran: true, args: seen });
    }
  });
});

test('A4 no refusal reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});
