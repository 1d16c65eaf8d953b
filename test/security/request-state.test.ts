import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Memory, SealingKey } from '../../src/core/memory/memory.ts';
import { defineTool } from '../../src/core/tool.ts';
import { createInMemory } from '../../src/core/memory/in-memory.ts';
import { createFakeClock, type FakeClock } from '../../src/testing.ts';
import { Client, type Reply } from './client.ts';
import { ada, others } from './people.ts';
import { leakedAnswers } from './raw-http.ts';
import { richTarget, type RichTarget } from './rich-target.ts';

const accept = { sure: { action: 'accept', content: { yes: true } } };
const first = { name: 'ask', arguments: { n: 1 } };

const begin = async (client: Client): Promise<string> => {
  const { json } = await client.ask('tools/call', first);
  expect(json?.result?.['resultType']).toBe('input_required');
  return json!.result!['requestState'] as string;
};
const resume = (client: Client, requestState: unknown, change: object = {}): Promise<Reply> =>
  client.ask('tools/call', { ...first, requestState, inputResponses: accept, ...change });
const refusal = {
  code: -32602,
  message: 'This "requestState" is not valid for this call; call again without it.',
};

describe('changing a request state', () => {
  test('A11 a state that is flipped at any of 256 places is refused, and the original still works', async () => {
    const target = await richTarget();
    const client = new Client(target);
    const state = await begin(client);
    for (let sample = 0; sample < 256; sample++) {
      const at = Math.floor((sample * state.length) / 256);
      const flipped = state.slice(0, at) + other(state[at]!) + state.slice(at + 1);
      expect((await resume(client, flipped)).json?.error).toEqual(refusal);
    }
    expect(target.ran).toEqual([]);
    expect((await resume(client, state)).json?.result).toMatchObject({ isError: false });
    expect(target.ran).toHaveLength(1);
  });

  test('A11 a state with any one bit of its sealed bytes changed is refused', async () => {
    const target = await richTarget();
    const client = new Client(target);
    const [id = '', body = ''] = (await begin(client)).split('.');
    const bytes = Buffer.from(body, 'base64url');
    for (let sample = 0; sample < 256; sample++) {
      const changed = Buffer.from(bytes);
      const at = Math.floor((sample * bytes.length) / 256);
      changed[at]! ^= 1 << (sample % 8);
      expect((await resume(client, `${id}.${changed.toString('base64url')}`)).json?.error).toEqual(refusal);
    }
    expect(target.ran).toEqual([]);
  });

  test.each<[name: string, change: (state: string) => unknown]>([
    ['empty', () => ''],
    ['a dot', () => '.'],
    ['only its key', (state) => state.split('.')[0]],
    ['without its key', (state) => state.split('.')[1]],
    ['under another key', (state) => `00000000.${state.split('.')[1]}`],
    ['with something behind it', (state) => `${state}A`],
    ['with a second dot', (state) => `${state}.x`],
    ['with padding', (state) => `${state}==`],
    ['with a blank', (state) => `${state} `],
    ['with a line break inside', (state) => `${state.slice(0, 40)}\n${state.slice(40)}`],
    ['in the other alphabet', (state) => `${state.replace(/[-_]/, '+')}/`],
    ['cut short', (state) => state.slice(0, -20)],
    ['made up', () => `abcdef01.${randomBytes(300).toString('base64url')}`],
    ['of 100,000 letters', () => 'A'.repeat(100_000)],
    ['plain JSON', () => '{"answers":[["sure",{"action":"accept","content":{"yes":true}}]]}'],
    ['__proto__', () => '__proto__.constructor'],
  ])('A11 a state that is %s is refused without a reason', async (_name, change) => {
    const target = await richTarget();
    const client = new Client(target);
    const reply = await resume(client, change(await begin(client)));
    expect([reply.status, reply.json?.error, target.ran]).toEqual([200, refusal, []]);
  });

  test.each([1, null, true, [], {}])('A11 a state that is %j is refused', async (state) => {
    const target = await richTarget();
    const reply = await resume(new Client(target), state);
    expect([reply.json?.error?.code, target.ran]).toEqual([-32602, []]);
  });
});

describe('reusing a request state', () => {
  test.each(others)(
    'A11 %s cannot use a state of another caller, which still works for its owner',
    async (_who, caller) => {
      const target = await richTarget();
      const state = await begin(new Client(target, ada));
      expect((await resume(new Client(target, caller), state)).json?.error).toEqual(refusal);
      expect(target.ran).toEqual([]);
      expect((await resume(new Client(target, ada), state)).json?.result).toMatchObject({ isError: false });
    },
  );

  test.each<[name: string, change: object]>([
    ['another tool', { name: 'ask-too' }],
    ['other arguments', { arguments: { n: 2 } }],
    ['more arguments', { arguments: { n: 1, m: 1 } }],
    ['no arguments', { arguments: {} }],
  ])('A11 a state cannot be used for %s', async (_name, change) => {
    const target = await richTarget();
    const client = new Client(target);
    const state = await begin(client);
    expect((await resume(client, state, change)).json?.error).toEqual(refusal);
    expect(target.ran).toEqual([]);
  });

  test.each<[method: string, params: object]>([
    ['prompts/get', { name: 'greet', arguments: { who: 'x' } }],
    ['resources/read', { uri: 'note://shared' }],
  ])('A11 a state cannot be used for %s', async (method, params) => {
    const target = await richTarget();
    const client = new Client(target);
    const requestState = await begin(client);
    const { json } = await client.ask(method, { ...params, requestState, inputResponses: accept });
    expect(json?.error).toEqual(refusal);
  });

  test('A11 a state cannot be used for a tool that has changed since', async () => {
    const target = await richTarget();
    const client = new Client(target);
    const state = await begin(client);
    const changed = defineTool(
      {
        name: 'ask',
        description: 'Asks for something else.',
        input: { properties: { n: { type: 'number' } } },
      },
      () => 'ran',
    );
    target.registry.replace(changed);
    expect((await resume(client, state)).json?.error).toEqual(refusal);
  });

  test('A11 a state cannot be used twice, not even at the same time', async () => {
    const target = await richTarget();
    const client = new Client(target);
    const state = await begin(client);
    const replies = await Promise.all(Array.from({ length: 20 }, () => resume(client, state)));
    expect(replies.filter(({ json }) => json?.result)).toHaveLength(1);
    expect(replies.filter(({ json }) => json?.error?.code === -32602)).toHaveLength(19);
    expect(target.ran).toHaveLength(1);
  });

  test('A11 control: the order of arguments does not matter', async () => {
    const target = await richTarget();
    const client = new Client(target);
    const params = { name: 'ask', arguments: { n: 1, a: 2 } };
    const { json } = await client.ask('tools/call', params);
    const requestState = json?.result?.['requestState'];
    const reordered = { name: 'ask', arguments: { a: 2, n: 1 }, requestState, inputResponses: accept };
    expect((await client.ask('tools/call', reordered)).json?.result).toMatchObject({ isError: false });
  });

  test('A11 a state is valid for ten minutes', async () => {
    const clock = createFakeClock(Date.now());
    const target = await richTarget({ clock });
    const client = new Client(target);
    const [early, late] = [await begin(client), await begin(client)];
    clock.advance(10 * 60_000 - 1);
    expect((await resume(client, early)).json?.result).toMatchObject({ isError: false });
    clock.advance(1);
    expect((await resume(client, late)).json?.error).toEqual(refusal);
    expect(target.ran).toHaveLength(1);
  });

  test('A11 a state of an older key works only while that key is known', async () => {
    const { target, rotate, forget } = await withKeys();
    const client = new Client(target);
    const [one, two] = [await begin(client), await begin(client)];
    rotate();
    expect((await resume(client, one)).json?.result).toMatchObject({ isError: false });
    forget();
    expect((await resume(client, two)).json?.error).toEqual(refusal);
    expect((await resume(client, await begin(client))).json?.result).toMatchObject({ isError: false });
  });

  test('A11 a question without an answer is asked again, whatever names the client sends', async () => {
    const target = await richTarget();
    const client = new Client(target);
    for (const inputResponses of [
      {},
      { Sure: accept.sure },
      { sure: 1 },
      { sure: { action: 'accept', content: { yes: 'no' } } },
    ]) {
      const { json } = await resume(client, await begin(client), { inputResponses });
      expect(json?.result?.['resultType']).toBe('input_required');
    }
    expect(target.ran).toEqual([]);
  });

  test('A11 control: with a memory that forgets used states, a state works twice', async () => {
    const clock = createFakeClock(Date.now());
    const memory = { ...createInMemory(clock), spent: { spend: () => true } };
    const target = await richTarget({ clock, memory });
    const client = new Client(target);
    const state = await begin(client);
    await resume(client, state);
    await resume(client, state);
    expect(target.ran).toHaveLength(2);
  });
});

/** A tool that asks for an amount and then whether to pay it; the amounts it paid. */
function openPaying() {
  const paid: number[] = [];
  const pay = defineTool({ name: 'pay', description: 'Pays.' }, async (_args, { elicit }) => {
    const amount = await elicit({
      key: 'amount',
      message: 'How much?',
      schema: { properties: { amount: { type: 'number' } }, required: ['amount'] },
    });
    if (amount.action !== 'accept') return 'nothing';
    const sum = amount.content.amount;
    const sure = await elicit({ key: 'sure', message: `Pay ${sum}?`, schema: { properties: {} } });
    if (sure.action === 'accept') paid.push(sum);
    return `paid ${sum}`;
  });
  return { pay, paid };
}

const answered = (amount: number) => ({ amount: { action: 'accept', content: { amount } } });
const YES = { sure: { action: 'accept', content: {} } };

test('A11 an answer inside a state is final: a later round cannot replace it', async () => {
  const { pay, paid } = openPaying();
  const target = await richTarget();
  target.registry.registerTool(pay);
  const client = new Client(target);
  const go = async (params: object) =>
    (await client.ask('tools/call', { name: 'pay', ...params })).json?.result as Record<string, never>;
  const { requestState: begun } = await go({});
  const second = await go({ requestState: begun, inputResponses: answered(5) });
  expect(second).toMatchObject({ inputRequests: { sure: { params: { message: 'Pay 5?' } } } });
  const { requestState } = second;
  await go({ requestState, inputResponses: { ...answered(5_000), ...YES } });
  expect(paid).toEqual([5]);
  // What no round has answered yet is the client's to say.
  await go({ requestState: (await go({}))['requestState'], inputResponses: { ...answered(7), ...YES } });
  expect(paid).toEqual([5, 7]);
});

test('A11 the rounds of a call are limited: a client that never gives a good answer is not asked forever', async () => {
  let runs = 0;
  const nag = defineTool({ name: 'nag', description: 'Asks.' }, async (_args, { elicit }) => {
    runs++;
    return elicit({ key: 'sure', message: 'Sure?', schema: { properties: {} } });
  });
  const target = await richTarget();
  target.registry.registerTool(nag);
  const client = new Client(target);
  let requestState: unknown;
  for (let round = 0; round < 100; round++) {
    const { json } = await client.ask('tools/call', {
      name: 'nag',
      ...(requestState !== undefined && { requestState }),
    });
    requestState = json?.result?.['requestState'];
    if (requestState !== undefined) continue;
    expect(json?.result).toMatchObject({ isError: true });
    expect(json?.result?.['content']).toMatchObject([
      { text: expect.stringContaining('20 times') as string },
    ]);
    break;
  }
  expect(requestState).toBe(undefined);
  expect(runs).toBe(21);
});

test('A11 the content of a state cannot be read from it', async () => {
  const target = await richTarget();
  const state = await begin(new Client(target));
  const bytes = Buffer.from(state.split('.')[1]!, 'base64url').toString('latin1');
  for (const word of ['ada', 'north', 'ask', 'tools/call', 'sure', 'nonce'])
    expect(bytes).not.toContain(word);
});

test('A11 no response reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

function other(letter: string): string {
  return letter === 'A' ? 'B' : 'A';
}

async function withKeys(): Promise<{ target: RichTarget; rotate: () => void; forget: () => void }> {
  const clock: FakeClock = createFakeClock(Date.now());
  const keys: SealingKey[] = [{ id: 'one', bytes: randomBytes(32) }];
  const memory: Memory = {
    ...createInMemory(clock),
    keys: { current: () => keys.at(-1)!, find: (id) => keys.find((key) => key.id === id) },
  };
  const target = await richTarget({ clock, memory });
  return {
    target,
    rotate: () => void keys.push({ id: 'two', bytes: randomBytes(32) }),
    forget: () => void keys.shift(),
  };
}
