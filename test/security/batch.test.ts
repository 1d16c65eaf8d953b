import { describe, expect, test } from 'vitest';
import {
  callBody,
  gotThrough,
  handshakeVersions,
  launch,
  versions,
  withBody,
  type Attack,
  type Version,
} from './attack.ts';
import { Client, type Reply } from './client.ts';
import { ada, bob, signsIn } from './people.ts';
import { leakedAnswers, type JsonRpcAnswer } from './raw-http.ts';
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

  test(`A5 over stdio every batch of ${version} gets one refusal`, async () => {
    const { answers, source } = await overStdio(
      [...arrays, ...empties].map(([, write]) => write(callBody(version))),
    );
    expect(answers.map(({ error, id }) => [error?.code, id])).toEqual(
      [...arrays, ...empties].map(() => [-32600, undefined]),
    );
    expect(source.calls).toEqual([]);
  });

  test(`A5 control: a server that accepts batches runs every batch of ${version} that has a call`, async () => {
    const names = arrays.map(([name]) => name);
    expect(await gotThrough(await careless(), attacksOf(version), version)).toEqual(names);
  });
}

const onSession = async (version: Version, body: string): Promise<{ reply: Reply; ran: number }> => {
  const target = await product(signsIn);
  const client = new Client(target);
  const session = await client.startSession(version);
  const reply = await client.send({ headers: { 'mcp-session-id': session }, body });
  return { reply, ran: target.runs() };
};
const calls = (count: number): string =>
  `[${Array.from({ length: count }, (_, id) => callBody('2025-03-26').replace('"id":1', `"id":${id}`)).join(',')}]`;
const codesIn = (body: string): (number | undefined)[] =>
  (JSON.parse(body) as JsonRpcAnswer[]).map(({ error }) => error?.code);

describe('sessions', () => {
  test.each(handshakeVersions.filter((version) => version !== '2025-03-26'))(
    'A5 a batch on a session of %s is refused and nothing runs',
    async (version) => {
      for (const [, write] of [...arrays, ...empties]) {
        const { reply, ran } = await onSession(version, write(callBody(version)));
        expect([reply.status, reply.json?.error?.code, ran]).toEqual([400, -32600, 0]);
      }
    },
  );

  test('A5 control: fifty calls in a batch on a session of 2025-03-26 get fifty responses', async () => {
    const { reply, ran } = await onSession('2025-03-26', calls(50));
    expect([reply.status, ran]).toEqual([200, 50]);
    const ids = (JSON.parse(reply.body) as JsonRpcAnswer[]).map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: 50 }, (_, id) => id));
  });

  const modern = callBody('2026-07-28');
  const handshake =
    '{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}';
  test.each<[name: string, body: string]>([
    ['fifty-one calls', calls(51)],
    ['a thousand calls', calls(1_000)],
    ['nothing', '[]'],
    [
      'fifty-one notifications',
      `[${Array(51).fill('{"jsonrpc":"2.0","method":"notifications/x"}').join(',')}]`,
    ],
    ['a call of 2026-07-28', `[${modern}]`],
    ['a good call and one of 2026-07-28', `[${callBody('2025-03-26')},${modern}]`],
    ['a handshake', `[${callBody('2025-03-26')},${handshake}]`],
    ['a member that repeats a key', `[${callBody('2025-03-26')},{"jsonrpc":"2.0","jsonrpc":"2.0"}]`],
    ['a member named constructor', calls(2).replace('"method"', '"constructor":1,"method"')],
    ['a parameter named constructor', calls(2).replace('"name"', '"constructor":1,"name"')],
    ['a parameter named prototype', calls(2).replace('"name"', '"prototype":1,"name"')],
    ['an argument named __proto__', calls(2).replace('"arguments":{}', '"arguments":{"__proto__":1}')],
  ])('A5 a batch of %s is refused as a whole on a session of 2025-03-26', async (_name, body) => {
    const { reply, ran } = await onSession('2025-03-26', body);
    expect([reply.status, reply.json?.error?.code, ran]).toEqual([400, -32600, 0]);
  });

  test.each<[name: string, body: string, codes: (number | undefined)[]]>([
    ['a list in a list', `[[${callBody('2025-03-26')}]]`, [-32600]],
    [
      'rubbish beside a call',
      `[1,null,"x",[],${callBody('2025-03-26')}]`,
      [-32600, -32600, -32600, -32600, undefined],
    ],
    ['a member in another case', calls(2).replace('"method"', '"Method"'), [-32600, undefined]],
    ['an unknown method', calls(2).replace('tools/call', 'tools/CALL'), [-32601, undefined]],
  ])('A5 each element of %s is checked by itself on a session of 2025-03-26', async (_name, body, codes) => {
    const { reply, ran } = await onSession('2025-03-26', body);
    expect([reply.status, codesIn(reply.body)]).toEqual([200, codes]);
    expect(ran).toBe(codes.filter((code) => code === undefined).length);
  });

  test('A5 a batch on a session of another caller runs nothing', async () => {
    const target = await product(signsIn);
    const session = await new Client(target, ada).startSession('2025-03-26');
    const { status } = await new Client(target, bob).send({
      headers: { 'mcp-session-id': session },
      body: calls(2),
    });
    expect([status, target.runs()]).toEqual([404, 0]);
  });

  test('A5 a batch whose header names another version than its session is treated by the version of the session', async () => {
    const target = await product(signsIn);
    const client = new Client(target);
    for (const version of ['2025-11-25', '2025-06-18', '2024-11-05'] as const) {
      const session = await client.startSession(version);
      const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-03-26' };
      expect((await client.send({ headers, body: calls(2) })).status).toBe(400);
    }
    expect(target.runs()).toBe(0);
  });

  test('A5 a batch of notifications alone gets no response', async () => {
    const { reply } = await onSession('2025-03-26', '[{"jsonrpc":"2.0","method":"notifications/x"}]');
    expect([reply.status, reply.body]).toEqual([202, '']);
  });

  test('A5 over stdio batches are accepted after a handshake of 2025-03-26 only', async () => {
    for (const version of handshakeVersions) {
      const { answers, source } = await overStdio([
        `{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"${version}","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
        calls(2),
        calls(51),
      ]);
      const taken = version === '2025-03-26';
      expect(source.calls).toHaveLength(taken ? 2 : 0);
      expect(answers.filter(({ error }) => error?.code === -32600)).toHaveLength(taken ? 1 : 2);
    }
  });
});

test('A5 no refusal reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});
