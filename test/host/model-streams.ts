import { streamOf } from './model-endpoint.ts';

const chunk = (delta: object, more: object = {}): object => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});

/** A chat completion that says "Grüße" and calls a tool. */
export const chatStream = streamOf(
  [
    chunk({ role: 'assistant', content: 'Grü' }),
    chunk({ content: 'ße' }),
    chunk({
      tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'add', arguments: '' } }],
    }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":1,' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '"b":2}' } }] }),
    chunk({}, { finish_reason: 'tool_calls' }),
    {
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [],
      usage: {
        prompt_tokens: 20,
        completion_tokens: 7,
        total_tokens: 27,
        prompt_tokens_details: { cached_tokens: 12 },
      },
    },
  ],
  'data: [DONE]\n\n',
);

const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'sealed' };
const said = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Grüße', annotations: [] }],
};
const called = {
  id: 'fc_1',
  type: 'function_call',
  call_id: 'call_a',
  name: 'add',
  arguments: '{"a":1,"b":2}',
  status: 'completed',
};

/** The items of the response below, as an endpoint wants them back. */
export const responseItems = [reasoning, said, called];

/** A response that thinks, says "Grüße" and calls a tool. */
export const responsesStream = streamOf(
  [
    { type: 'response.created', response: { id: 'r1', status: 'in_progress', output: [], error: null } },
    { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, encrypted_content: '' } },
    { type: 'response.output_item.done', output_index: 0, item: reasoning },
    { type: 'response.output_item.added', output_index: 1, item: { ...said, content: [] } },
    {
      type: 'response.content_part.added',
      item_id: 'msg_1',
      output_index: 1,
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [] },
    },
    { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 1, content_index: 0, delta: 'Grü' },
    { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 1, content_index: 0, delta: 'ße' },
    { type: 'response.output_item.done', output_index: 1, item: said },
    { type: 'response.output_item.added', output_index: 2, item: { ...called, arguments: '' } },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 2, delta: '{"a":1,' },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 2, delta: '"b":2}' },
    { type: 'response.output_item.done', output_index: 2, item: called },
    {
      type: 'response.completed',
      response: {
        id: 'r1',
        status: 'completed',
        error: null,
        output: responseItems,
        usage: {
          input_tokens: 20,
          input_tokens_details: { cached_tokens: 12 },
          output_tokens: 7,
          output_tokens_details: { reasoning_tokens: 2 },
          total_tokens: 27,
        },
      },
    },
  ].map((event, index) => ({ ...event, sequence_number: index })),
);

/** The blocks of the message below, as an endpoint wants them back. */
export const messageBlocks = [
  { type: 'thinking', thinking: 'Add them.', signature: 'sig' },
  { type: 'text', text: 'Grüße' },
  { type: 'tool_use', id: 'toolu_a', name: 'add', input: { a: 1, b: 2 } },
];

/** A message that thinks, says "Grüße" and calls a tool. */
export const messagesStream = streamOf([
  {
    type: 'message_start',
    message: {
      id: 'm1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: 5,
        cache_read_input_tokens: 12,
        cache_creation_input_tokens: 3,
        output_tokens: 1,
      },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Add them.' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Grü' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'ße' } },
  { type: 'content_block_stop', index: 1 },
  {
    type: 'content_block_start',
    index: 2,
    content_block: { type: 'tool_use', id: 'toolu_a', name: 'add', input: {} },
  },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":1,' } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '"b":2}' } },
  { type: 'content_block_stop', index: 2 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 7 },
  },
  { type: 'message_stop' },
]);
