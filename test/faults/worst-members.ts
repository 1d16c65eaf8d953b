import { jsonLimits } from '../../src/protocol/wire/json-scan.ts';
import { modern, old, request, SIZE, type WorstInput } from './worst-input.ts';

// Headers hold 16,384 bytes in all.
const HEADER = 15_000;
const BATCH = 50;
const LONG = 'x'.repeat(SIZE - 1_000);
const UNKNOWN = /Unknown resource: note:/;
const HEADER_LONG = 'x'.repeat(HEADER);
const LAST = jsonLimits.items - 10;

const many = (count: number, item: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => item(index));

const capabilities = Object.fromEntries(
  many(900, (index) => `c${index}`).map((key) => [key, { a: 'x'.repeat(700) }]),
);
const initialize = JSON.stringify({
  protocolVersion: '2025-11-25',
  capabilities,
  clientInfo: { name: 'x', version: '1' },
});

/** As many addresses as one subscription may follow, each as long as all of them may be for one caller. */
export const longFilter: readonly string[] = many(
  1_000,
  (index) => `note://${String(index).padStart(930, 'x')}`,
);

const elsewhere: readonly WorstInput[] = [
  // What is longer than a header can be is only possible where no header repeats it.
  modern('a long name in its header', /Unknown tool/, {
    method: 'tools/call',
    name: HEADER_LONG,
    arguments: {},
  }),
  modern('a long address in its header', UNKNOWN, {
    method: 'resources/read',
    uri: `note://${HEADER_LONG}`,
  }),
  old('a long name', /Unknown tool/, [request('tools/call', `{"name":"${LONG}","arguments":{}}`)]),
  old('a long name of a prompt', /Unknown prompt/, [request('prompts/get', `{"name":"${LONG}"}`)]),
  old('a long address', UNKNOWN, [request('resources/read', `{"uri":"note://${LONG}"}`)]),
  old('a long address of percent signs', UNKNOWN, [
    request('resources/read', `{"uri":"note://${'%41'.repeat(SIZE / 3 - 1_000)}"}`),
  ]),
  old('a long address with many parts', UNKNOWN, [
    request('resources/read', `{"uri":"note://${'/'.repeat(SIZE - 1_000)}"}`),
  ]),
  modern('an address as long as one may be', /"contents"/, {
    method: 'resources/read',
    uri: `note://${'%41'.repeat(2_700)}`,
  }),
  modern('a long value to complete', /"values":\["you"\]/, {
    method: 'completion/complete',
    ref: { type: 'ref/prompt', name: 'greet' },
    argument: { name: 'who', value: LONG },
  }),
  modern('a long state', /is not valid for this call/, {
    method: 'tools/call',
    name: 'ask',
    arguments: {},
    requestState: LONG,
    inputResponses: {},
  }),
  modern('a long key', /The idempotency key/, {
    method: 'tools/call',
    name: 'kept',
    arguments: {},
    _meta: { 'dev.toolcrib/idempotencyKey': LONG },
  }),
  modern('a long cursor', /This cursor/, { method: 'tools/list', cursor: LONG }),
  modern('a long filter', /subscriptions\/acknowledged/, {
    method: 'subscriptions/listen',
    notifications: { resourceSubscriptions: longFilter },
  }),
  modern('a filter beyond the limit', /at most 1,000 texts/, {
    method: 'subscriptions/listen',
    notifications: { resourceSubscriptions: many(LAST, (index) => `note://${'x'.repeat(70)}${index}`) },
  }),
  old('large capabilities', /"serverInfo"/, [request('initialize', initialize)]),
  old(
    'a batch of pings',
    /only sessions/,
    many(LAST, (index) => request('ping', '{}', index)),
  ),
];

// All of them begin at once, and each has its part of the values and bytes that a message may have.
const texts = Math.floor(SIZE / BATCH) - 150;
const values = Math.floor(jsonLimits.values / BATCH) - 20;
const batched: readonly (readonly [kind: string, shows: RegExp, tool: string, args: string])[] = [
  ['texts to clean', /"text":"👩/, 'mirror', `"load":"${'👩‍'.repeat(texts / 7)}"`],
  ['long numbers', /"isError":false/, 'echo', `"load":[${many(values, () => '1.797e308').join(',')}]`],
  [
    'distinct objects',
    /"isError":false/,
    'strict',
    `"unique":[${many(values / 2, (index) => `{"a":${index}}`).join(',')}]`,
  ],
  ['texts against a pattern', /Invalid arguments/, 'strict', `"matched":"${'a'.repeat(texts)}!"`],
  [
    'values with ten problems each',
    /Invalid arguments/,
    'typed',
    `"refinedOften":[[${many(values, () => '1').join(',')}]]`,
  ],
  [
    'objects whose members are all replaced',
    /"isError":false/,
    'typed',
    `"replaced":[[${many(values, () => '{}').join(',')}]]`,
  ],
  [
    'values that a function of the author refuses',
    /Invalid arguments/,
    'noted',
    `"narrowed":[[${many(values, () => '1').join(',')}]]`,
  ],
  [
    'values that are converted',
    /"isError":false/,
    'turned',
    `"numbers":[[${many(values, () => '"2"').join(',')}]]`,
  ],
];

const batches: readonly WorstInput[] = batched.map(([kind, shows, tool, args]) => ({
  ...old(
    `a batch of ${kind}`,
    shows,
    many(BATCH, (index) => called(tool, args, index + 1)),
  ),
  on: 'session',
}));

const firstCalls: WorstInput = {
  ...old(
    'a batch of first calls of large schemas',
    /Invalid arguments/,
    [3, 4, 5].map((index) => called(`large${index}`, '"p0":1', index)),
  ),
  on: 'session',
};

function called(tool: string, args: string, id: number): string {
  return request('tools/call', `{"name":"${tool}","arguments":{"nonce":"x",${args}}}`, id);
}

/** Members other than arguments, methods other than calls, and many calls in one message. */
export const worstMembers: readonly WorstInput[] = [...elsewhere, ...batches, firstCalls];
