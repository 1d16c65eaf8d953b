import { describe, expect, test } from 'vitest';
import {
  deliver,
  goodCall,
  gotThrough,
  handshakeVersions,
  launch,
  modernMeta,
  withBody,
  withExtra,
  withHeader,
  without,
  type Attack,
  type GoodCall,
} from './attack.ts';
import { metaKeys } from '../../src/protocol/wire/meta.ts';
import { Client, Events } from './client.ts';
import { leakedAnswers, type RawRequest } from './raw-http.ts';
import { richTarget } from './rich-target.ts';
import { careless, product } from './target.ts';

const MODERN = '2026-07-28';
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

const changedHeaders: readonly [name: string, header: string, value: string | undefined][] = [
  ['another method in the header', 'Mcp-Method', 'tools/list'],
  ['a method header in another case', 'Mcp-Method', 'tools/CALL'],
  ['an encoded method header', 'Mcp-Method', base64('tools/call')],
  ['an empty method header', 'Mcp-Method', ''],
  ['no method header', 'Mcp-Method', undefined],
  ['another name in the header', 'Mcp-Name', 'safe'],
  ['a name header in another case', 'Mcp-Name', 'Danger'],
  ['a name header with the name twice', 'Mcp-Name', 'danger, danger'],
  ['a name header with more behind the name', 'Mcp-Name', 'danger;safe'],
  ['an empty name header', 'Mcp-Name', ''],
  ['no name header', 'Mcp-Name', undefined],
  ['another name, encoded', 'Mcp-Name', base64('safe')],
  ['an encoded name with too much padding', 'Mcp-Name', '=?base64?ZGFuZ2Vy====?='],
  ['an encoded name with a blank inside', 'Mcp-Name', '=?base64?ZGFu Z2Vy?='],
  ['an encoded name with a blank in front', 'Mcp-Name', '=?base64? ZGFuZ2Vy?='],
  ['an encoded name with a foreign letter', 'Mcp-Name', '=?base64?ZGFuZ2Vy!?='],
  ['an encoded name that is not UTF-8', 'Mcp-Name', '=?base64?ZGFuZ2Vy/w==?='],
  ['an encoded name with another marker', 'Mcp-Name', '=?BASE64?ZGFuZ2Vy?='],
  ['an encoded name without its end', 'Mcp-Name', '=?base64?ZGFuZ2Vy'],
  ['an encoded name without its start', 'Mcp-Name', 'ZGFuZ2Vy?='],
  ['a name encoded twice', 'Mcp-Name', base64(base64('danger'))],
  ['a marker and nothing else', 'Mcp-Name', '=?base64?='],
  ['no version header', 'MCP-Protocol-Version', undefined],
  ['an empty version header', 'MCP-Protocol-Version', ''],
  ['an older version in the header', 'MCP-Protocol-Version', '2025-06-18'],
  ['an unknown version in the header', 'MCP-Protocol-Version', '2099-01-01'],
  ['an encoded version header', 'MCP-Protocol-Version', base64(MODERN)],
];

const lenientEncodings: readonly [name: string, change: Attack['change']][] = [
  ['an encoded name without its padding', withName('mirrored', '=?base64?bWlycm9yZWQ?=')],
  ['an encoded name whose last bits are not zero', withName('mirrored', '=?base64?bWlycm9yZWR=?=')],
  [
    'an encoded text in the alphabet of URLs',
    withParams({ args: { zone: '???' } }, ['Mcp-Param-Zone', '=?base64?Pz8_?=']),
  ],
];

const paramAttacks: readonly [name: string, change: Attack['change']][] = [
  ['no header for a text argument', withParams({ args: { zone: 'eu' } })],
  ['no header for a number argument', withParams({ args: { count: 42 } })],
  ['no header for a nested argument', withParams({ args: { deep: { flag: true } } })],
  ['another text in the header', withParams({ args: { zone: 'eu' } }, ['Mcp-Param-Zone', 'us'])],
  ['a text header in another case', withParams({ args: { zone: 'eu' } }, ['Mcp-Param-Zone', 'EU'])],
  ['an empty text header', withParams({ args: { zone: 'eu' } }, ['Mcp-Param-Zone', ''])],
  ['a header for an argument that is null', withParams({ args: { zone: null } }, ['Mcp-Param-Zone', 'eu'])],
  ['a header for an argument that is absent', withParams({}, ['Mcp-Param-Zone', 'eu'])],
  [
    'a header for a nested argument that is absent',
    withParams({ args: { deep: {} } }, ['Mcp-Param-Flag', 'true']),
  ],
  ['a header for an argument inside text', withParams({ args: { deep: 'x' } }, ['Mcp-Param-Flag', 'true'])],
  ['another number in the header', withParams({ args: { count: 42 } }, ['Mcp-Param-Count', '43'])],
  ['a number with letters behind it', withParams({ args: { count: 42 } }, ['Mcp-Param-Count', '42x'])],
  ['a hexadecimal number', withParams({ args: { count: 42 } }, ['Mcp-Param-Count', '0x2a'])],
  ['a binary number', withParams({ args: { count: 42 } }, ['Mcp-Param-Count', '0b101010'])],
  ['a number with a plus', withParams({ args: { count: 42 } }, ['Mcp-Param-Count', '+42'])],
  [
    'an encoded number with blanks',
    withParams({ args: { count: 42 } }, ['Mcp-Param-Count', base64(' 42\n')]),
  ],
  ['an empty number header', withParams({ args: { count: 0 } }, ['Mcp-Param-Count', ''])],
  ['an encoded empty number header', withParams({ args: { count: 0 } }, ['Mcp-Param-Count', base64('')])],
  [
    'another truth in the header',
    withParams({ args: { deep: { flag: true } } }, ['Mcp-Param-Flag', 'false']),
  ],
  ['a truth in another case', withParams({ args: { deep: { flag: true } } }, ['Mcp-Param-Flag', 'TRUE'])],
  ['a truth as a number', withParams({ args: { deep: { flag: true } } }, ['Mcp-Param-Flag', '1'])],
  [
    'text that looks encoded but was sent as it is',
    withParams({ args: { zone: base64('eu') } }, ['Mcp-Param-Zone', base64('eu')]),
  ],
  [
    'an encoded text that is not canonical',
    withParams({ args: { zone: 'eu' } }, ['Mcp-Param-Zone', '=?base64?ZXV=?=']),
  ],
  [
    'an argument header twice',
    withParams({ args: { zone: 'eu' } }, ['Mcp-Param-Zone', 'eu'], ['mcp-param-zone', 'eu']),
  ],
  [
    'an argument header in two halves',
    withParams({ args: { zone: 'eu, us' } }, ['Mcp-Param-Zone', 'eu'], ['Mcp-Param-Zone', 'us']),
  ],
];

const attacks: readonly Attack[] = [
  ...changedHeaders.map(([name, header, value]): [string, Attack['change']] => [
    name,
    (good) => (value === undefined ? without(good, header) : withHeader(good, header, value)),
  ]),
  ['a second name header', (good: RawRequest) => withExtra(good, 'Mcp-Name', 'safe')] as const,
  [
    'a second name header in front',
    (good: RawRequest) => ({ ...good, headers: [['mcp-name', 'safe'], ...good.headers] as const }),
  ] as const,
  ['the same name header twice', (good: RawRequest) => withExtra(good, 'MCP-NAME', 'danger')] as const,
  ['a second method header', (good: RawRequest) => withExtra(good, 'Mcp-Method', 'tools/list')] as const,
  [
    'a second version header',
    (good: RawRequest) => withExtra(good, 'MCP-Protocol-Version', '2025-06-18'),
  ] as const,
  ['another version in the body', (good: RawRequest) => claiming(good, '2099-01-01')] as const,
  ['an older version in the body', (good: RawRequest) => claiming(good, '2025-06-18')] as const,
  ...lenientEncodings,
  ...paramAttacks,
].map(([name, change]): Attack => ({ name, change, status: 400, code: -32020 }));

for (const attack of attacks) {
  test(`A3 ${attack.name} is refused with -32020 and nothing runs`, async () => {
    expect(await launch(await product(), attack, MODERN)).toEqual({ status: 400, code: -32020, ran: 0 });
  });
}

test('A3 control: a server that does not compare accepts every mismatch', async () => {
  const names = attacks.map(({ name }) => name);
  expect(await gotThrough(await careless(), attacks, MODERN)).toEqual(names);
});

describe('matching headers', () => {
  test.each<[name: string, header: string, value: string]>([
    ['blanks around a name', 'Mcp-Name', ' \tdanger\t '],
    ['an encoded name', 'Mcp-Name', base64('danger')],
    ['a header nobody asked for', 'Mcp-Param-Unknown', 'x'],
  ])('A3 %s is accepted', async (_name, header, value) => {
    const target = await product();
    const { answer, ran } = await deliver(target, withHeader(goodCall(MODERN, target.port), header, value));
    expect({ status: answer.status, ran }).toEqual({ status: 200, ran: 1 });
  });

  test.each<[name: string, args: string, headers: [string, string][]]>([
    ['a number and the same number with a fraction of zero', '{"count":42}', [['Mcp-Param-Count', '42.0']]],
    ['a number with a fraction of zero and the same without', '{"count":42.0}', [['Mcp-Param-Count', '42']]],
    ['a negative number', '{"count":-7}', [['Mcp-Param-Count', '-7']]],
    ['an encoded number', '{"count":42}', [['Mcp-Param-Count', base64('42')]]],
    ['no header for null', '{"region":null}', []],
    ['an encoded text outside ASCII', '{"zone":"zürich"}', [['mcp-param-zone', base64('zürich')]]],
    [
      'an encoded text that looks encoded',
      `{"zone":"${base64('eu')}"}`,
      [['Mcp-Param-Zone', base64(base64('eu'))]],
    ],
    [
      'an encoded text with a byte order mark',
      String.raw`{"zone":"\ufeffeu"}`,
      [['Mcp-Param-Zone', base64('\ufeffeu')]],
    ],
    ['an empty text as an empty header', '{"zone":""}', [['Mcp-Param-Zone', '']]],
    ['an empty text, encoded', '{"zone":""}', [['Mcp-Param-Zone', base64('')]]],
    ['a nested truth', '{"deep":{"flag":false}}', [['Mcp-Param-Flag', 'false']]],
  ])('A3 %s is accepted', async (_name, args, headers) => {
    const target = await product();
    const request = goodCall(MODERN, target.port, { name: 'mirrored', headers });
    const body = (request.body as string).replace('"arguments":{}', `"arguments":${args}`);
    const { answer, ran } = await deliver(target, withBody(request, body));
    expect({ status: answer.status, ran }).toEqual({ status: 200, ran: 1 });
    expect(target.source.calls[0]?.arguments).toEqual(JSON.parse(args));
  });
});

describe('every method that has a name or an address as its target', () => {
  const named: readonly [method: string, member: string, value: string][] = [
    ['prompts/get', 'name', 'greet'],
    ['resources/read', 'uri', 'note://shared'],
    ['tasks/get', 'taskId', 'abc'],
    ['tasks/update', 'taskId', 'abc'],
    ['tasks/cancel', 'taskId', 'abc'],
  ];
  const changes: readonly [name: string, change: (headers: Record<string, string>, value: string) => void][] =
    [
      ['another name', (headers) => (headers['mcp-name'] = 'other')],
      ['another name, encoded', (headers) => (headers['mcp-name'] = base64('other'))],
      ['no name', (headers) => delete headers['mcp-name']],
      ['an empty name', (headers) => (headers['mcp-name'] = '')],
      ['the name in another case', (headers, value) => (headers['mcp-name'] = value.toUpperCase())],
      ['an encoding that is not canonical', (headers) => (headers['mcp-name'] += '====?=')],
      ['another method', (headers) => (headers['mcp-method'] = 'tools/call')],
      ['no method', (headers) => delete headers['mcp-method']],
      ['another version', (headers) => (headers['mcp-protocol-version'] = '2025-11-25')],
      ['no version', (headers) => delete headers['mcp-protocol-version']],
    ];

  for (const [method, member, value] of named) {
    test.each(changes)(
      `A3 ${method} with %s in its headers is refused with -32020`,
      async (_name, change) => {
        const client = new Client(await richTarget());
        const request = client.modern(method, { [member]: value, arguments: { who: 'x' } });
        const headers = { ...request.headers };
        change(headers, value);
        const { status, json } = await client.send({ ...request, headers });
        expect([status, json?.error?.code]).toEqual([400, -32020]);
      },
    );

    test(`A3 control: ${method} with the right headers gets its own response`, async () => {
      const client = new Client(await richTarget());
      const plain = client.modern(method, { [member]: value, arguments: { who: 'x' } });
      for (const name of [value, base64(value)]) {
        const { json } = await client.send({ ...plain, headers: { ...plain.headers, 'mcp-name': name } });
        expect(json?.error?.code).not.toBe(-32020);
        expect(method.startsWith('tasks/') ? json?.error?.message : json?.error).toBe(
          method.startsWith('tasks/') ? 'There is no such task.' : undefined,
        );
      }
    });
  }

  test.each([
    'tools/list',
    'resources/list',
    'prompts/list',
    'completion/complete',
    'subscriptions/listen',
    'server/discover',
  ])('A3 %s under the name of another method is refused', async (method) => {
    const client = new Client(await richTarget());
    const { headers, ...request } = client.modern(method, {});
    for (const sent of ['tools/call', '', undefined]) {
      const { 'mcp-method': _method, ...others } = headers!;
      const changed = sent === undefined ? others : { ...others, 'mcp-method': sent };
      const { status, json } = await client.send({ ...request, headers: changed });
      expect([status, json?.error?.code]).toEqual([400, -32020]);
    }
  });

  test('A3 the headers of a modern request are checked even when it names a session', async () => {
    const client = new Client(await richTarget());
    const session = await client.startSession('2025-06-18');
    const { headers, ...request } = client.modern('tools/call', { name: 'danger' });
    const changed = { ...headers, 'mcp-session-id': session, 'mcp-name': 'ask' };
    expect((await client.send({ ...request, headers: changed })).json?.error?.code).toBe(-32020);
  });

  test('A3 the headers of a modern request are checked on the SSE transport too', async () => {
    const target = await richTarget();
    const client = new Client(target);
    const events = new Events(await client.open({ method: 'GET', path: '/sse' }));
    const path = (await events.nextData())!;
    const { body } = client.modern('tools/call', { name: 'danger' });
    await client.send({ path, body });
    expect((await events.next())?.error?.code).toBeLessThan(0);
    expect(target.ran).toEqual([]);
  });
});

for (const version of handshakeVersions) {
  test(`A3 on a session of ${version} headers that mirror arguments are ignored and the body is run`, async () => {
    const target = await richTarget();
    const client = new Client(target);
    const session = await client.startSession(version);
    const { headers, ...request } = client.old('tools/call', { name: 'danger' }, { session });
    await client.send({ ...request, headers: { ...headers, 'mcp-name': 'ask', 'mcp-method': 'tools/list' } });
    expect(target.ran).toEqual(['danger by ada']);
  });
}

test('A3 an older revision ignores headers that mirror arguments and runs the body', async () => {
  const target = await product();
  const good = withHeader(goodCall('2025-06-18', target.port), 'Mcp-Name', 'mirrored');
  const { ran } = await deliver(target, withHeader(good, 'Mcp-Method', 'tools/list'));
  expect(ran).toBe(1);
  expect(target.source.calls[0]?.tool.name).toBe('danger');
});

test.each(['mcp-name', 'mcp-method', 'mcp-protocol-version', 'mcp-session-id'])(
  'A3 an older revision refuses a repeated %s as well',
  async (header) => {
    const target = await product();
    const good = withHeader(goodCall('2025-06-18', target.port), header, '2025-06-18');
    const { answer, ran } = await deliver(target, withExtra(good, header, '2025-06-18'));
    expect({ status: answer.status, code: answer.json?.error?.code, ran }).toEqual({
      status: 400,
      code: -32020,
      ran: 0,
    });
  },
);

test('A3 no refusal reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

function withParams(call: GoodCall, ...headers: [string, string][]): Attack['change'] {
  return (_good, port) => goodCall(MODERN, port, { name: 'mirrored', ...call, headers });
}

function withName(name: string, header: string): Attack['change'] {
  return (_good, port) => withHeader(goodCall(MODERN, port, { name }), 'Mcp-Name', header);
}

function claiming(good: RawRequest, version: string): RawRequest {
  const message = JSON.parse(good.body as string) as { params: object };
  const _meta = { ...modernMeta, [metaKeys.protocolVersion]: version };
  return withBody(good, JSON.stringify({ ...message, params: { ...message.params, _meta } }));
}
