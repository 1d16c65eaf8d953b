import { expect, test } from 'vitest';
import { z } from 'zod';
import { definePrompt, defineTool, ToolcribError, type Tool, type ToolContext } from '../../src/index.ts';
import { openCrib, type Crib } from '../gateway.ts';

const readOnly = { annotations: { readOnlyHint: true } };
const underKey = { _meta: { 'dev.toolcrib/idempotencyKey': 'once' } };
const form = { message: 'Really?', schema: { properties: { ok: { type: 'boolean' } } } } as const;
const asking = {
  form: ({ elicit }: ToolContext) => elicit(form),
  page: ({ elicit }: ToolContext) => elicit({ message: 'Go.', url: 'https://example.com' }),
  sample: ({ sample }: ToolContext) => sample({ messages: [], maxTokens: 1 }),
} as const;

/** The same tool twice: one that may have effects, one that only reads. */
function both(handler: Tool['handler']): Tool[] {
  return [
    defineTool({ name: 'acts', description: 'Acts.' }, handler),
    defineTool({ name: 'reads', description: 'Reads.', ...readOnly }, handler),
  ];
}

/** How calls went on record, in order; what was only counted is written when the server stops. */
async function endings(crib: Crib): Promise<unknown[]> {
  await crib.restart();
  return crib
    .rows()
    .map(({ kind, tool, prompt, decision, outcome }) => [kind, tool ?? prompt, decision, outcome]);
}

test.each(Object.entries(asking))(
  'a tool that asks for what the client did not declare (%s) has one outcome on record, and its idempotency key is free',
  async (_kind, ask) => {
    const crib = await openCrib({ offers: both((_args, context) => ask(context)) });
    const peer = await crib.connect('ada');
    for (const name of ['acts', 'reads', 'acts'])
      expect(await peer.error('tools/call', { name, ...underKey })).toMatchObject({ code: -32021 });
    expect(await endings(crib)).toEqual([
      ['intent', 'acts', 'allowed', undefined],
      ['outcome', 'acts', undefined, 'missing_capability'],
      ['call', 'reads', 'allowed', 'missing_capability'],
      ['intent', 'acts', 'allowed', undefined],
      ['outcome', 'acts', undefined, 'missing_capability'],
    ]);
  },
);

test('a question that is not JSON is a failure of the tool, with one outcome on record', async () => {
  const offers = both((_args, { sample }) => sample({ messages: [], maxTokens: 1, seed: 10n ** 30n }));
  const crib = await openCrib({ offers });
  const peer = await crib.connect('ada', { capabilities: { sampling: {} } });
  for (const name of ['acts', 'reads']) {
    const { isError, content } = await peer.call(name);
    expect(isError).toBe(true);
    expect(content[0]!.text).toMatch(/^\w+ asked something that is not JSON \(incident \w+\)\.$/);
  }
  expect(await endings(crib)).toEqual([
    ['intent', 'acts', 'allowed', undefined],
    ['outcome', 'acts', undefined, 'tool_failed'],
    ['call', 'reads', 'allowed', 'tool_failed'],
  ]);
});

test.each<[string, object]>([
  ['a function', { onDone: () => 1 }],
  ['a number that JSON cannot hold', { seed: 10n ** 30n }],
])(
  'a task whose question contains %s does not affect other calls, and has one outcome on record',
  async (_what, more) => {
    const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} }, sampling: {} };
    const offers = [
      defineTool({ name: 'asks', description: 'Asks.', ...readOnly }, async (_args, { detach, sample }) => {
        detach();
        await sample({ messages: [], maxTokens: 1, ...more });
      }),
      defineTool({ name: 'acts', description: 'Acts.' }, () => 'done'),
    ];
    const crib = await openCrib({ offers });
    const [peer, other] = await Promise.all([
      crib.connect('ada', { capabilities: tasks }),
      crib.connect('cyn'),
    ]);
    const { taskId } = await peer.result('tools/call', { name: 'asks' });
    const others = Array.from({ length: 10 }, () => other.call('acts'));
    for (const { content } of await Promise.all(others)) expect(content[0]!.text).toBe('done');
    await expect
      .poll(async () => (await peer.result('tasks/get', { taskId }))['status'])
      .toMatch(/^(input_required|completed)$/);
  },
);

test('a call refused before its tool or prompt runs has the same error code as one that ran and failed, marked as refused', async () => {
  const offers = [
    defineTool({ name: 'far', description: 'Is out.', ...readOnly }, () => {
      throw new ToolcribError('upstream_unavailable', 'It does not answer.');
    }),
    definePrompt({ name: 'greet', arguments: { who: { required: true } } }, () => {
      throw new ToolcribError('invalid_params', 'Nobody is called that.');
    }),
  ];
  const crib = await openCrib({
    offers,
    config: { stages: { circuitBreak: { failures: 1 }, retry: false } },
  });
  const peer = await crib.connect('ada');
  for (let n = 0; n < 2; n++) expect(await peer.call('far')).toMatchObject({ isError: true });
  for (const args of [{ who: 'Eve' }, {}])
    expect(await peer.error('prompts/get', { name: 'greet', arguments: args })).toMatchObject({
      code: -32602,
    });
  expect(await endings(crib)).toEqual([
    ['call', 'far', 'allowed', 'upstream_unavailable'],
    ['call', 'far', 'refused', 'upstream_unavailable'],
    ['call', 'greet', 'allowed', 'invalid_params'],
    ['call', 'greet', 'refused', 'invalid_params'],
  ]);
});

test.each(['hashed', 'preview'] as const)(
  'the arguments on record (%s) are what the caller sent, in the intent row as in the row of a replay',
  async (show) => {
    const input = z.object({ amount: z.number().default(5) });
    const seen: unknown[] = [];
    const pay = defineTool({ name: 'pay', description: 'Pays.', input }, (args) => void seen.push(args));
    const crib = await openCrib({ offers: [pay], config: { stages: { audit: { arguments: show } } } });
    const peer = await crib.connect('ada');
    for (let n = 0; n < 2; n++) await peer.result('tools/call', { name: 'pay', arguments: {}, ...underKey });
    expect(seen).toEqual([{ amount: 5 }]);
    const [intent, , replay] = crib.rowsOf('pay');
    expect([intent!['kind'], replay!['from']]).toEqual(['intent', 'replay']);
    const said = show === 'hashed' ? 'arguments' : 'preview';
    expect(intent![said]).toBe(show === 'hashed' ? replay![said] : '{}');
    expect(replay![said]).toEqual(expect.any(String));
  },
);

test('a replayed or cached result is on record with the size of the original', async () => {
  const text = 'seven words long, as texts often are';
  const offers = [
    defineTool({ name: 'acts', description: 'Acts.' }, () => text),
    defineTool({ name: 'reads', description: 'Reads.', ...readOnly, cache: { seconds: 60 } }, () => text),
  ];
  const crib = await openCrib({ offers });
  const peer = await crib.connect('ada');
  for (const name of ['acts', 'acts', 'reads', 'reads'])
    await peer.result('tools/call', { name, ...underKey });
  const ended = crib.rows().filter(({ kind }) => kind !== 'intent');
  // The text, and what is around it as JSON.
  const size = text.length + 24;
  expect(ended.map(({ tool, from, bytes }) => [tool, from, bytes])).toEqual([
    ['acts', undefined, size],
    ['acts', 'replay', size],
    ['reads', undefined, size],
    ['reads', 'cache', size],
  ]);
});

test('refusals of different targets before there is a call have separate rows', async () => {
  const crib = await openCrib();
  const peer = await crib.connect('ada');
  for (const name of ['one', 'two', 'three', 'two']) await peer.error('tools/call', { name, arguments: [] });
  await crib.restart();
  const counts = new Map<unknown, number>();
  for (const { target, count } of crib.rows())
    counts.set(target, (counts.get(target) ?? 0) + (count as number));
  expect(Object.fromEntries(counts)).toEqual({ one: 1, two: 2, three: 1 });
});
