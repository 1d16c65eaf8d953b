import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, expect, expectTypeOf, test } from 'vitest';
import {
  sendStream,
  startEndpoint,
  streamOf,
  type ModelEndpoint,
} from '../../../test/host/model-endpoint.ts';
import {
  chatStream,
  messageBlocks,
  messagesStream,
  responseItems,
  responsesStream,
} from '../../../test/host/model-streams.ts';
import { propertyRuns } from '../../../test/property-runs.ts';
import { within } from '../../../test/within.ts';
import { anthropicMessages, toMessagesRequest } from './anthropic-messages.ts';
import type { AssistantMessage, Model, ModelEvent, ModelRequest, ModelTool } from './model.ts';
import { openAiChat, toChatRequest } from './openai-chat.ts';
import { openAiResponses, toResponsesRequest } from './openai-responses.ts';

const add: ModelTool = {
  name: 'add',
  description: 'Adds.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
};
const ask: ModelRequest = {
  instructions: 'Be kind.',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Add.' }] }],
  tools: [add],
  parallel: true,
};
const apis = [
  { api: 'openai-chat', make: openAiChat, stream: chatStream, id: 'call_a' },
  { api: 'openai-responses', make: openAiResponses, stream: responsesStream, id: 'call_a' },
  { api: 'anthropic-messages', make: anthropicMessages, stream: messagesStream, id: 'toolu_a' },
] as const;

let endpoint: ModelEndpoint | undefined;

afterEach(async () => {
  await endpoint?.close();
  endpoint = undefined;
});

async function listen(model: Model, request: ModelRequest = ask): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  const heard = (async () => {
    for await (const event of model.respond(request, { signal: new AbortController().signal }))
      events.push(event);
  })();
  await within(10_000, 'the end of a turn', heard);
  return events;
}

/** Where a stream can be cut; the quick tests try a few places, and those in the middle of a letter. */
function placesIn(bytes: Buffer): readonly number[] {
  const every = Math.ceil(bytes.length / propertyRuns(bytes.length, 100));
  return Array.from(bytes.keys()).filter((at) => at % every === 0 || bytes[at]! >= 0x80);
}

function said(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('');
}

test.each(apis)(
  '$api: the outcome is the same wherever the stream is split',
  async ({ make, stream, id }) => {
    const bytes = Buffer.from(stream);
    const cuts = placesIn(bytes);
    endpoint = await startEndpoint((response, number) => {
      const cut = cuts[number]!;
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      if (cut > 0) response.write(bytes.subarray(0, cut));
      response.end(bytes.subarray(cut));
    });
    const model = make({ name: 'm', baseUrl: endpoint.url, limits: { retries: 0 } });
    for (let number = 0; number < cuts.length; number++) {
      const events = await listen(model);
      expect(said(events)).toBe('Grüße');
      expect(events.at(-1)).toMatchObject({
        type: 'end',
        message: {
          role: 'assistant',
          text: 'Grüße',
          toolCalls: [{ id, name: 'add', arguments: { a: 1, b: 2 } }],
        },
        usage: { inputTokens: 20, outputTokens: 7, cachedTokens: 12 },
        stopReason: 'tool_calls',
      });
    }
    expect(endpoint.seen[0]!.body).toMatchObject({ model: 'm', stream: true });
  },
);

test.each(apis)(
  '$api: a stream that ends too early is an error, wherever it ends',
  async ({ make, stream }) => {
    const bytes = Buffer.from(stream);
    const ends = placesIn(bytes);
    endpoint = await startEndpoint((response, number) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(bytes.subarray(0, ends[number]));
    });
    const model = make({ name: 'm', baseUrl: endpoint.url, limits: { retries: 0 } });
    for (let number = 0; number < ends.length; number++)
      await expect(listen(model)).rejects.toMatchObject({ code: 'invalid_answer' });
    expect(await listen(model)).toHaveLength(3);
  },
);

test('data that the endpoint needs again is sent back unchanged, and to no other model', async () => {
  endpoint = await startEndpoint((response, number) =>
    sendStream(response, number === 0 ? messagesStream : responsesStream),
  );
  const messageOf = async (model: Model): Promise<AssistantMessage> => {
    const end = (await listen(model)).at(-1)!;
    return end.type === 'end' ? end.message : expect.fail('no end');
  };
  const thought = await messageOf(anthropicMessages({ name: 'm', baseUrl: endpoint.url }));
  const responded = await messageOf(openAiResponses({ name: 'm', baseUrl: endpoint.url }));
  const result = { role: 'tool', callId: 'x', name: 'add', content: [], isError: false } as const;
  const again = (message: AssistantMessage): ModelRequest => ({
    ...ask,
    messages: [...ask.messages, message, result],
  });
  expect(toMessagesRequest(again(thought), { name: 'm' }).messages[1]).toEqual({
    role: 'assistant',
    content: messageBlocks,
  });
  expect(toMessagesRequest(again(thought), { name: 'other' }).messages[1]!.content).toEqual(
    messageBlocks.slice(1),
  );
  expect(toResponsesRequest(again(responded), { name: 'm' }).input.slice(1, 4)).toEqual(responseItems);
  expect(toResponsesRequest(again(thought), { name: 'm' }).input[1]).toEqual({
    role: 'assistant',
    content: 'Grüße',
  });
});

const everything: ModelRequest = {
  ...ask,
  messages: [
    ...ask.messages,
    { role: 'assistant', text: '', toolCalls: [{ id: 'c', name: 'add', arguments: { a: 1 } }] },
    {
      role: 'tool',
      callId: 'c',
      name: 'add',
      content: [
        { type: 'text', text: 'broken' },
        { type: 'image', mimeType: 'image/png', data: 'AAAA' },
      ],
      isError: true,
    },
  ],
  tools: [add, { ...add, name: 'rare', isDeferred: true }],
  parallel: false,
  outputSchema: {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  },
};

test('requests have the types of the official clients', () => {
  expectTypeOf(toChatRequest).returns.toExtend<OpenAI.Chat.ChatCompletionCreateParamsStreaming>();
  expectTypeOf(toResponsesRequest).returns.toExtend<OpenAI.Responses.ResponseCreateParamsStreaming>();
  expectTypeOf(toMessagesRequest).returns.toExtend<Anthropic.MessageCreateParamsStreaming>();
  const chat = toChatRequest(everything, { name: 'm', isOpenAi: true, maxOutputTokens: 9 });
  expect(chat).toMatchObject({
    parallel_tool_calls: false,
    max_completion_tokens: 9,
    response_format: { type: 'json_schema', json_schema: { strict: true } },
  });
  expect(chat.messages.slice(2)).toEqual([
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'The tool failed. broken' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Pictures in the result of add:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      ],
    },
  ]);
  expect(toResponsesRequest(everything, { name: 'gpt-5.4' })).toMatchObject({
    store: false,
    include: ['reasoning.encrypted_content'],
    parallel_tool_calls: false,
    tools: [{ name: 'add' }, { name: 'rare', defer_loading: true }, { type: 'tool_search' }],
    text: { format: { type: 'json_schema', strict: true } },
  });
});

test('a message has its cache breakpoints after the stable parts, and never on a deferred tool', () => {
  const cached = { cache_control: { type: 'ephemeral' } };
  const request = toMessagesRequest(everything, { name: 'm' });
  expect(request.system).toEqual([{ type: 'text', text: 'Be kind.', ...cached }]);
  expect(request.tools).toMatchObject([
    { type: 'tool_search_tool_bm25_20251119' },
    { name: 'add', ...cached },
    { name: 'rare', defer_loading: true },
  ]);
  expect(request.tools![2]).not.toHaveProperty('cache_control');
  expect(request.messages.at(-1)!.content.at(-1)).toMatchObject({
    type: 'tool_result',
    is_error: true,
    ...cached,
  });
  expect(request).toMatchObject({
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    output_config: { format: { type: 'json_schema' } },
  });
});

test('the official clients read our test streams as we do', async () => {
  endpoint = await startEndpoint((response, number) =>
    sendStream(response, [chatStream, responsesStream, messagesStream][number]!),
  );
  const openai = new OpenAI({ apiKey: 'k', baseURL: endpoint.url, maxRetries: 0 });
  const chat = openai.chat.completions.stream(toChatRequest(ask, { name: 'm', isOpenAi: true }));
  expect((await chat.finalChatCompletion()).choices[0]!.message).toMatchObject({
    content: 'Grüße',
    tool_calls: [{ id: 'call_a', function: { name: 'add', arguments: '{"a":1,"b":2}' } }],
  });
  const responses = openai.responses.stream(toResponsesRequest(ask, { name: 'm' }));
  expect((await responses.finalResponse()).output).toMatchObject(responseItems);
  const anthropic = new Anthropic({ apiKey: 'k', baseURL: endpoint.url, maxRetries: 0 });
  const message = await anthropic.messages.stream(toMessagesRequest(ask, { name: 'm' })).finalMessage();
  expect(message.content).toEqual(messageBlocks);
  expect(endpoint.seen.map(({ url }) => url)).toEqual(['/chat/completions', '/responses', '/v1/messages']);
});

test('refusals and truncated answers are reported as such', async () => {
  const chunk = (delta: object, reason: string | null): object => ({
    choices: [{ delta, finish_reason: reason }],
  });
  const streams = [
    streamOf([chunk({ refusal: 'No.' }, 'stop')], 'data: [DONE]\n\n'),
    streamOf([chunk({ content: 'Much' }, 'length')], 'data: [DONE]\n\n'),
  ];
  endpoint = await startEndpoint((response, number) => sendStream(response, streams[number]!));
  const model = openAiChat({ name: 'm', baseUrl: endpoint.url });
  expect((await listen(model)).at(-1)).toMatchObject({ stopReason: 'refused', message: { text: 'No.' } });
  expect((await listen(model)).at(-1)).toMatchObject({ stopReason: 'length', message: { text: 'Much' } });
});

test('arguments that are not a JSON object stay text', async () => {
  const call = { index: 0, id: 'a', function: { name: 'add', arguments: '{"a":' } };
  const stream = streamOf(
    [{ choices: [{ delta: { tool_calls: [call] }, finish_reason: 'length' }] }],
    'data: [DONE]\n\n',
  );
  endpoint = await startEndpoint((response) => sendStream(response, stream));
  const [end] = await listen(openAiChat({ name: 'm', baseUrl: endpoint.url }));
  expect(end).toMatchObject({ message: { toolCalls: [{ name: 'add', arguments: '{"a":' }] } });
});

test('a turn that the endpoint pauses is continued', async () => {
  const start = (id: string): object => ({
    type: 'message_start',
    message: { id, usage: { input_tokens: 1 } },
  });
  const say = (text: string, reason: string): object[] => [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text } },
    { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ];
  const streams = [
    streamOf([start('a'), ...say('One ', 'pause_turn')]),
    streamOf([start('b'), ...say('two', 'end_turn')]),
  ];
  endpoint = await startEndpoint((response, number) => sendStream(response, streams[number]!));
  const end = (await listen(anthropicMessages({ name: 'm', baseUrl: endpoint.url }))).at(-1);
  expect(end).toMatchObject({ message: { text: 'One two' }, usage: { inputTokens: 2, outputTokens: 2 } });
  expect(endpoint.seen[1]!.body['messages']).toHaveLength(2);
});
