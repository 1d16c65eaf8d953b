import { describe, expect, test } from 'vitest';
import { defineTool, type Tool } from '../../src/index.ts';
import { openCrib, type Crib } from '../gateway.ts';
import { reads, textInput, versions } from './governed-tools.ts';
import type { Json } from './peer.ts';

// JSON can spell half of a pair, which is no character and has no bytes of its own.
const HALF = 'a\ud800';
const [newest] = versions;

describe.each([
  ['cleaned', {}, 'a\ufffd'],
  ['taken as they are', { sanitizeInput: false }, HALF],
] as const)('where arguments are %s, an unpaired surrogate', (_how, stages, arrives) => {
  test('reaches a tool with a result cache, and has a cache entry of its own', async () => {
    const { tool, ran } = taker({ ...reads, cache: { seconds: 60 } });
    const crib = await open(tool, { ...stages, cache: {} });
    const peer = await crib.connect('ada');
    for (const text of [HALF, HALF, 'b']) expect((await peer.call('take', { text })).isError).toBeFalsy();
    expect(ran).toEqual([arrives, 'b']);
    expectNoAccident(crib);
  });

  test('reaches a tool with effects under an idempotency key, once', async () => {
    const { tool, ran } = taker({});
    const crib = await open(tool, stages);
    const peer = await crib.connect('ada');
    const call = async (text: string): Promise<Json> =>
      peer.result('tools/call', {
        name: 'take',
        arguments: { text },
        _meta: { 'dev.toolcrib/idempotencyKey': 'k-1' },
      });
    expect((await call(HALF))['isError']).toBeFalsy();
    expect((await call(HALF))['isError']).toBeFalsy();
    expect((await call('a'))['isError']).toBe(true);
    expect(ran).toEqual([arrives]);
    expectNoAccident(crib);
  });

  test('is shown to the person who has to approve the call', async () => {
    const { tool } = taker({ annotations: { destructiveHint: true } });
    const crib = await open(tool, { ...stages, approve: { mode: 'operator' } });
    const peer = await crib.connect('ada');
    const { isError, content } = await peer.call('take', { text: HALF });
    expect([isError, content[0]!.text]).toEqual([true, expect.stringContaining('a person has to approve')]);
    expectNoAccident(crib);
  });

  test('does not stop a tool from asking the user, and its request state is valid for the same arguments only', async () => {
    const crib = await open(asker, stages);
    const peer = await crib.connect('ada', { version: newest!, capabilities: { elicitation: { form: {} } } });
    const ask = (text: string, more: Json = {}): Promise<Json | undefined> =>
      peer.request('tools/call', { name: 'ask', arguments: { text }, ...more }) as Promise<Json | undefined>;
    const first = (await ask(HALF))!['result'] as Json;
    const [key] = Object.keys(first['inputRequests'] as Json);
    const answered = {
      inputResponses: { [key!]: { action: 'accept', content: { why: HALF } } },
      requestState: first['requestState'],
    };
    expect(await ask('a\ufffd', answered)).toMatchObject({ error: { code: -32602 } });
    expect(await ask(HALF, answered)).toMatchObject({ result: { content: [{ text: 'accept' }] } });
    expectNoAccident(crib);
  });

  test('is on record the same way for any order of the arguments', async () => {
    const { tool, ran } = taker({ ...reads, input: {} });
    const crib = await open(tool, stages);
    const peer = await crib.connect('ada');
    await peer.call('take', { text: HALF, a: 1 });
    await peer.call('take', { a: 1, text: HALF });
    expect(ran).toEqual([arrives, arrives]);
    const [one, other] = crib.rowsOf('take');
    expect(one!['arguments']).toMatch(/^[\w-]{22}$/);
    expect(other!['arguments']).toBe(one!['arguments']);
    expectNoAccident(crib);
  });
});

const asker = defineTool(
  { name: 'ask', description: 'Asks.', input: textInput, ...reads },
  async (_args, { elicit }) =>
    (await elicit({ message: 'Why?', schema: { properties: { why: { type: 'string' } } } })).action,
) as Tool;

function taker(how: object): { readonly tool: Tool; readonly ran: unknown[] } {
  const ran: unknown[] = [];
  const tool = defineTool(
    { name: 'take', description: 'Takes.', input: textInput, ...how },
    ({ text }: { text: string }) => {
      ran.push(text);
      return 'taken';
    },
  ) as Tool;
  return { tool, ran };
}

async function open(tool: Tool, stages: object): Promise<Crib> {
  return openCrib({ offers: [tool], config: { stages } });
}

function expectNoAccident({ logged }: Crib): void {
  expect(logged.filter(({ level }) => level === 'error')).toEqual([]);
}
