import { createInterface } from 'node:readline';
import { PassThrough, Readable } from 'node:stream';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineTool } from '../../src/core/tool.ts';
import { createServer } from '../../src/server/create-server.ts';
import { serveStdio } from '../../src/server/stdio.ts';
import { recordingSource } from '../../src/testing.ts';
import { propertyRuns } from '../property-runs.ts';
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
])('A12 %s gets one refusal and the next line is served', async (_name, noise) => {
  const { answers, source } = await overStdio([noise, call('good')]);
  expect(answers.filter(({ id }) => id === 'good').map(codeOf)).toEqual([undefined]);
  expect(answers.filter(({ id }) => id !== 'good').map(codeOf)).toEqual([expect.toBeOneOf([-32700, -32600])]);
  expect(source.calls).toHaveLength(1);
});

const hello =
  '{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}';

test.each<[name: string, noise: string]>([
  ['an answer to nothing', '{"jsonrpc":"2.0","id":7,"result":{}}'],
  ['an error about nothing', '{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}'],
  ['an answer to a question not asked yet', '{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept"}}'],
  ['an answer named __proto__', '{"jsonrpc":"2.0","id":"__proto__","result":{}}'],
  ['an answer with a result and an error', '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}'],
  ['a notification nobody knows', '{"jsonrpc":"2.0","method":"notifications/unknown","params":{"a":1}}'],
  [
    'a cancellation of nothing',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
  ],
  [
    'progress about nothing',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}',
  ],
])('A12 %s is ignored, before and after a handshake, and the next line is served', async (_name, noise) => {
  for (const lines of [
    [noise, call('good')],
    [hello, ...Array<string>(50).fill(noise), call('good')],
  ]) {
    const { answers, source } = await overStdio(lines);
    expect(answers.filter(({ id }) => id !== 'hello').map(({ id, error }) => [id, error])).toEqual([
      ['good', undefined],
    ]);
    expect(source.calls).toHaveLength(1);
  }
});

test.each([
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
  'notifications/message',
  'exec',
  '',
])('A12 a request for %j, which a client may not make, is refused and nothing runs', async (method) => {
  for (const lines of [[], [hello]]) {
    const request = JSON.stringify({
      jsonrpc: '2.0',
      id: 'x',
      method,
      params: { messages: [], command: 'id' },
    });
    const { answers, source } = await overStdio([...lines, request]);
    expect(answers.find(({ id }) => id === 'x')?.error?.code).toBe(-32601);
    expect(source.calls).toEqual([]);
  }
});

describe('questions', () => {
  test('A12 only the first response with the right id counts, and only after the question was asked', async () => {
    const conversation = talkOverStdio();
    conversation.say(
      '{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept","content":{"word":"early"}}}',
    );
    conversation.say(
      '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}',
    );
    await conversation.hear();
    conversation.say('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}');
    const question = await conversation.hear();
    expect(question).toMatchObject({ method: 'elicitation/create' });
    const answer = (id: unknown, word: string): string =>
      JSON.stringify({ jsonrpc: '2.0', id, result: { action: 'accept', content: { word } } });
    for (const id of ['ask-2', 'ask-0', 'ASK-1', 1, 'ask-1 ', '__proto__'])
      conversation.say(answer(id, 'fake'));
    conversation.say(answer(question.id, 'true'));
    conversation.say(answer(question.id, 'late'));
    expect(JSON.stringify(await conversation.hear())).toContain('the word is true');
    conversation.end();
  });

  test('A12 a response of another form fails its own call only', async () => {
    const conversation = talkOverStdio();
    conversation.say(
      '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}',
    );
    await conversation.hear();
    for (const result of [
      '1',
      'null',
      '"x"',
      '[]',
      '{}',
      '{"action":"accept"}',
      '{"action":"accept","content":{"word":1}}',
    ]) {
      conversation.say('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}');
      const { id } = await conversation.hear();
      conversation.say(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
      expect((await conversation.hear()).result).toMatchObject({ isError: true });
    }
    conversation.say('{"jsonrpc":"2.0","id":2,"method":"ping"}');
    expect(await conversation.hear()).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
    conversation.end();
  });
});

test('A12 blank lines are ignored, and lines may end in LF or CRLF', async () => {
  const { answers } = await overStdio(
    Readable.from([Buffer.from(`\n\r\n${call('a')}\r\n\n${call('b')}\n\r\n`)]),
  );
  expect(answers.map(({ id }) => String(id)).toSorted()).toEqual(['a', 'b']);
});

test('A12 a last line without a line end is served', async () => {
  const { answers } = await overStdio(Readable.from([Buffer.from(call('last'))]));
  expect(answers.map(({ id }) => id)).toEqual(['last']);
});

test('A12 lines are read the same wherever their bytes are split', async () => {
  const ids = ['a', 'é', '😀', 'd'];
  const bytes = Buffer.from(ids.map(call).join('\n'));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: bytes.length }), { maxLength: 12 }), async (cuts) => {
      const { answers, source } = await overStdio(Readable.from(cutAt(bytes, cuts)));
      expect(answers.map(({ id }) => String(id)).toSorted()).toEqual(ids.toSorted());
      expect(source.calls).toHaveLength(ids.length);
    }),
    { numRuns: propertyRuns() },
  );
});

test('A12 no response reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

interface Conversation {
  say(line: string): void;
  hear(): Promise<JsonRpcAnswer & { method?: string }>;
  end(): void;
}

function talkOverStdio(): Conversation {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const schema = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] } as const;
  const ask = defineTool({ name: 'ask', description: 'Asks.' }, async (_args, { elicit }) => {
    const answer = await elicit({ message: 'Which word?', schema });
    return `the word is ${answer.action === 'accept' ? answer.content.word : 'none'}`;
  });
  const server = createServer({ source: recordingSource(ask), log: () => {} });
  const served = serveStdio(server, { input, output });
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  onTestFinished(async () => {
    input.end();
    await served;
  });
  return {
    say: (line) => void input.write(`${line}\n`),
    hear: async () => JSON.parse(String((await lines.next()).value)) as JsonRpcAnswer,
    end: () => void input.end(),
  };
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const edges = [0, ...new Set(cuts)].toSorted((a, b) => a - b);
  return edges
    .map((edge, index) => bytes.subarray(edge, edges[index + 1] ?? bytes.length))
    .filter(({ length }) => length > 0);
}
