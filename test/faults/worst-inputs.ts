import { jsonLimits } from '../../src/protocol/wire/json-scan.ts';
import { modernMeta } from './client.ts';

/** A request that is as costly as a legal one can be, in one of the ways in which it can be. */
export interface WorstInput {
  readonly kind: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether it has to be taken; the others may be refused, at whatever cost. */
  readonly isLegal: boolean;
}

const SIZE = 1_000_000;
const { values, keys, items, depth } = jsonLimits;
const ITEMS = values - 100;
const LENGTH = Math.floor(SIZE / ITEMS) - 1;
const NUL = String.raw`\u0000`;

// What a tool gets, cleans, and gives back cleaned.
const texts: readonly (readonly [kind: string, text: string])[] = [
  ['long text', 'a'.repeat(SIZE)],
  ['wide characters', '𝔘'.repeat(SIZE / 4)],
  ['hidden characters', '\u200b\u202e'.repeat(SIZE / 6)],
  ['combining marks', `a${'\u0301'.repeat(SIZE / 2 - 10)}`],
  ['joined emoji', '👩‍'.repeat(SIZE / 7 - 10)],
  ['variation selectors', 'a\ufe0f'.repeat(SIZE / 4 - 10)],
  ['tags', '\u{e0041}'.repeat(SIZE / 4 - 10)],
  ['secrets', 'ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa '.repeat(SIZE / 40)],
  ['almost tokens', 'eyJ.eyJ.'.repeat(SIZE / 8 - 10)],
  ['almost keys', '-----BEGIN PRIVATE KEY----- '.repeat(SIZE / 28 - 10)],
  ['almost numbers of cards', '4111 1111 1111 111 '.repeat(SIZE / 19 - 10)],
  ['almost patterns', `${'a@'.repeat(SIZE / 2 - 10)}!`],
  ['wrapped base64', 'QUFB\n'.repeat(SIZE / 6 - 10)],
];

const loads: readonly (readonly [kind: string, load: string])[] = [
  ['escapes', `"${String.raw`\u0041`.repeat(SIZE / 6)}"`],
  ['many numbers', list(ITEMS, () => '1')],
  ['long numbers', list(ITEMS, () => '1.797e308')],
  ['longest numbers', list(SIZE / 400, () => `0.${'7'.repeat(390)}`)],
  ['many texts', list(ITEMS, () => JSON.stringify('b'.repeat(LENGTH - 3)))],
  ['many objects', list(ITEMS / 2 - 1, (index) => `{"a${index}":1}`)],
  ['many keys', objectOf(keys - 1, (index) => `k${index}`)],
  ['long keys', objectOf(keys - 1, (index) => `${index}${'k'.repeat(SIZE / keys - 20)}`)],
  ['escaped keys', objectOf(keys - 1, (index) => `${index}${String.raw`\u0041`.repeat(150)}`)],
  ['colliding keys', objectOf(keys - 1, (index) => `${index * 65_536}`)],
  ['deep nesting', `${'['.repeat(30)}${']'.repeat(30)}`],
];

// Each is checked against one keyword of a schema.
const checked: readonly (readonly [kind: string, args: string])[] = [
  ['distinct objects', `"unique":[${objects((index) => `{"a":${index},"b":"${'x'.repeat(70)}"}`)}]`],
  ['distinct objects with many keys', `"unique":[${objects((index) => `{"a":1,"b":2,"c":3,"d":${index}}`)}]`],
  ['distinct lists', `"unique":[${objects((index) => `[1,2,${index}]`)}]`],
  ['distinct texts', `"unique":[${objects((index) => `"${'x'.repeat(80)}${index}"`)}]`],
  ['a text against a pattern', `"matched":"${'a'.repeat(SIZE)}!"`],
  ['many choices', `"choices":[${objects((index) => `{"b":${index}}`)}]`],
  ['keys against a pattern', `"named":${objectOf(keys - 1, (index) => `k${'1'.repeat(900)}${index}`)}`],
];

// Each fails a schema of a library as often as it can.
const typed: readonly (readonly [kind: string, args: string])[] = [
  ['what fails a union', `"union":${list(ITEMS, () => '1')}`],
  ['what fails an intersection', `"both":${list(ITEMS, () => '{}')}`],
  ['objects without their members', `"wide":${list(ITEMS, () => '{}')}`],
  ['what fails a refinement', `"refined":${list(ITEMS, () => '1')}`],
];

/** The worst of each kind that a message may be. */
export const worstInputs: readonly WorstInput[] = [
  ...texts.map(([kind, text]) => call(kind, 'mirror', `"load":${JSON.stringify(text)}`)),
  ...loads.map(([kind, load]) => call(kind, 'echo', `"load":${load}`)),
  ...checked.map(([kind, args]) => ({ ...call(kind, 'strict', args), isLegal: true })),
  ...typed.map(([kind, args]) => call(kind, 'typed', args)),
  ...[0, 1, 2].map((index) => call(`the first call of large schema ${index}`, `large${index}`, '"p0":1')),
  ...[
    // Their hash was once the same however many there were.
    call('keys of NUL characters', 'echo', `"load":${objectOf(550, (index) => NUL.repeat(index + 1))}`),
    call('a key twice', 'echo', `"load":${objectOf(keys - 1, (index) => `k${index % (keys - 2)}`)}`),
    call('nesting beyond the limit', 'echo', `"load":${'['.repeat(SIZE / 2)}${']'.repeat(SIZE / 2)}`),
    call('brackets without an end', 'echo', `"load":${'[{"a":'.repeat(depth)}`),
    ...elsewhere(),
  ].map((input) => ({ ...input, isLegal: false })),
];

// Members other than arguments, and methods other than calls; which of them are too large is the server's to say.
function elsewhere(): WorstInput[] {
  const long = 'x'.repeat(SIZE - 1_000);
  const many = (item: (index: number) => string): string[] =>
    Array.from({ length: items - 10 }, (_, index) => item(index));
  const capabilities = Object.fromEntries(
    Array.from({ length: 900 }, (_, index) => [`c${index}`, { a: 'x'.repeat(700) }]),
  );
  const clientInfo = { name: 'x', version: '1' };
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const unknown = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}';
  return [
    modern('a long name', 'tools/call', { name: long, arguments: {} }),
    modern('a long address', 'resources/read', { uri: `note://${long}` }),
    modern('a long value to complete', 'completion/complete', {
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'who', value: long },
    }),
    modern('a long state', 'tools/call', {
      name: 'ask',
      arguments: {},
      requestState: long,
      inputResponses: {},
    }),
    modern('a long key', 'tools/call', {
      name: 'kept',
      arguments: {},
      _meta: { 'dev.toolcrib/idempotencyKey': long },
    }),
    modern('a long cursor', 'tools/list', { cursor: long }),
    modern('a long filter', 'subscriptions/listen', {
      notifications: { resourceSubscriptions: many((index) => `note://${'x'.repeat(70)}${index}`) },
    }),
    old('large capabilities', [
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities, clientInfo },
      }),
    ]),
    old(
      'a batch of pings',
      many(() => ping),
    ),
    old(
      'a batch of calls',
      many(() => unknown),
    ),
  ];
}

function call(kind: string, tool: string, args: string): WorstInput {
  const params = `{"_meta":${JSON.stringify(modernMeta)},"name":"${tool}","arguments":{"nonce":"x",${args}}}`;
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
  return { kind, body: Buffer.from(body), headers: headersOf('tools/call', tool), isLegal: true };
}

function modern(kind: string, method: string, params: Readonly<Record<string, unknown>>): WorstInput {
  const meta = { ...modernMeta, ...(params['_meta'] as object | undefined) };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } });
  const { name, uri } = params as { name?: string; uri?: string };
  return {
    kind,
    body: Buffer.from(body),
    headers: headersOf(method, (name ?? uri)?.slice(0, 1_000)),
    isLegal: true,
  };
}

// A list, unless there is only one; lists are of 2025-03-26.
function old(kind: string, messages: readonly string[]): WorstInput {
  const body = messages.length === 1 ? messages[0]! : `[${messages.join(',')}]`;
  return { kind, body: Buffer.from(body), headers: { 'mcp-protocol-version': '2025-03-26' }, isLegal: true };
}

function headersOf(method: string, name?: string): Record<string, string> {
  const named = name === undefined ? {} : { 'mcp-name': name };
  return { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...named };
}

function objectOf(length: number, key: (index: number) => string): string {
  return `{${Array.from({ length }, (_, index) => `"${key(index)}":${index}`).join(',')}}`;
}

function objects(item: (index: number) => string): string {
  return Array.from({ length: items - 10 }, (_, index) => item(index)).join(',');
}

// A list may have only so many items, but may hold lists.
function list(length: number, item: (index: number) => string): string {
  const lists: string[] = [];
  for (let from = 0; from < length; from += items) {
    const size = Math.min(items, Math.floor(length - from));
    lists.push(`[${Array.from({ length: size }, (_, index) => item(from + index)).join(',')}]`);
  }
  return `[${lists.join(',')}]`;
}
