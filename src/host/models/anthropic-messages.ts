import { isObject } from '../../base/json.ts';
import {
  toAnthropicBlocks,
  toAnthropicToolResult,
  toAnthropicTools,
  type AnthropicBlock,
  type AnthropicTool,
  type AnthropicToolResult,
} from './anthropic-tools.ts';
import { AnthropicAnswer } from './anthropic-answer.ts';
import { createEndpoint, isOwnOf, type Endpoint } from './endpoint.ts';
import type { EndpointOptions } from './endpoint-options.ts';
import type { AssistantMessage, Message, Model, ModelEvent, ModelRequest } from './model.ts';
import { send } from './send.ts';

const API = 'anthropic-messages';
const DEFERS = /^claude-(?:opus|sonnet|haiku|fable)-(?:4-[5-9]|[5-9])/;
const USUAL_MAX_TOKENS = 8_192;
const MAX_PAUSES = 8;
const CACHED = { cache_control: { type: 'ephemeral' as const } };

/** A model behind the Messages API. */
export function anthropicMessages(options: EndpointOptions): Model {
  const endpoint = createEndpoint(options, {
    baseUrl: 'https://api.anthropic.com',
    path: '/v1/messages',
    keyVariable: 'ANTHROPIC_API_KEY',
    keyHeaders: (key) => ({ 'x-api-key': key }),
    headers: { 'anthropic-version': '2023-06-01' },
  });
  const isOwn = isOwnOf('anthropic.com', endpoint);
  return {
    name: options.name,
    features: { deferral: isOwn && DEFERS.test(options.name), images: true, ...options.features },
    respond: (request, { signal }) =>
      respond(endpoint, { body: toMessagesRequest(request, options), signal }),
  };
}

/** The body of a request to the Messages API. */
export function toMessagesRequest(
  { instructions, messages, tools, parallel, outputSchema, maxOutputTokens }: ModelRequest,
  { name, maxOutputTokens: usual }: Pick<EndpointOptions, 'name' | 'maxOutputTokens'>,
): MessagesRequest {
  return {
    model: name,
    max_tokens: maxOutputTokens ?? usual ?? USUAL_MAX_TOKENS,
    stream: true,
    ...(instructions !== '' && { system: [{ type: 'text', text: instructions, ...CACHED }] }),
    messages: withBreakpoint(toMessages(messages, name)),
    ...(tools.length > 0 && { tools: toolList(toAnthropicTools(tools)) }),
    ...(tools.length > 0 && !parallel && { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }),
    ...(outputSchema && { output_config: { format: { type: 'json_schema', schema: { ...outputSchema } } } }),
  };
}

interface Breakpoint {
  cache_control?: { type: 'ephemeral' };
}

type SentBlock =
  | (AnthropicBlock & Breakpoint)
  | (AnthropicToolResult & Breakpoint)
  | ({ type: 'tool_use'; id: string; name: string; input: Record<string, unknown> } & Breakpoint);

interface SentMessage {
  role: 'user' | 'assistant';
  content: SentBlock[];
}

type SentTool =
  | (AnthropicTool & Breakpoint)
  | { type: 'tool_search_tool_bm25_20251119'; name: 'tool_search_tool_bm25' };

interface MessagesRequest {
  model: string;
  max_tokens: number;
  stream: true;
  system?: ({ type: 'text'; text: string } & Breakpoint)[];
  messages: SentMessage[];
  tools?: SentTool[];
  tool_choice?: { type: 'auto'; disable_parallel_tool_use: true };
  output_config?: { format: { type: 'json_schema'; schema: Record<string, unknown> } };
}

// A deferred tool is no part of the cached beginning; the API refuses a breakpoint there.
function toolList(tools: readonly AnthropicTool[]): SentTool[] {
  const last = tools.findLastIndex((tool) => tool.defer_loading !== true);
  const sent: SentTool[] = tools.map((tool, index) => (index === last ? { ...tool, ...CACHED } : tool));
  const hasDeferred = tools.some((tool) => tool.defer_loading);
  return hasDeferred
    ? [{ type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }, ...sent]
    : sent;
}

// All results of a turn must be in one message, before anything else in it.
function toMessages(messages: readonly Message[], model: string): SentMessage[] {
  const sent: SentMessage[] = [];
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = blocksOf(message, model);
    if (content.length === 0) continue;
    const last = sent.at(-1);
    if (last?.role === role) last.content.push(...content);
    else sent.push({ role, content });
  }
  return sent;
}

function blocksOf(message: Message, model: string): SentBlock[] {
  switch (message.role) {
    case 'user':
      return toAnthropicBlocks(message.content);
    case 'tool':
      return [toAnthropicToolResult({ id: message.callId }, message)];
    case 'assistant':
      return [...(keptBlocks(message, model) ?? spokenBlocks(message))];
  }
}

function spokenBlocks({ text, toolCalls }: AssistantMessage): SentBlock[] {
  return [
    ...toAnthropicBlocks([{ type: 'text', text }]),
    ...toolCalls.map(({ id, name, arguments: args }) => ({
      type: 'tool_use' as const,
      id,
      name,
      input: typeof args === 'string' ? {} : { ...args },
    })),
  ];
}

// Blocks of this API, as they came: only what we wrote down ourselves gets here.
function keptBlocks({ kept }: AssistantMessage, model: string): readonly SentBlock[] | undefined {
  const isOurs = isObject(kept) && kept['api'] === API && kept['model'] === model;
  return isOurs && Array.isArray(kept['blocks']) ? (kept['blocks'] as SentBlock[]) : undefined;
}

// The next turn repeats everything up to here.
function withBreakpoint(messages: readonly SentMessage[]): SentMessage[] {
  const last = messages.at(-1);
  const block = last?.role === 'user' ? last.content.at(-1) : undefined;
  if (!last || !block) return [...messages];
  return [
    ...messages.slice(0, -1),
    { ...last, content: [...last.content.slice(0, -1), { ...block, ...CACHED }] },
  ];
}

async function* respond(
  endpoint: Endpoint,
  { body, signal }: { readonly body: MessagesRequest; readonly signal: AbortSignal },
): AsyncGenerator<ModelEvent, void, undefined> {
  const answer = new AnthropicAnswer(endpoint);
  let next = body;
  for (let pauses = 0; ; pauses++) {
    for await (const heard of send(endpoint, {
      body: next,
      signal,
      isLast: ({ type }) => type === 'message_stop',
    })) {
      if (heard.type === 'waiting') yield heard;
      else {
        const text = answer.take(heard.event);
        if (text !== '') yield { type: 'text', text };
      }
    }
    if (!answer.isPaused || pauses === MAX_PAUSES) break;
    // The endpoint continues its own text, if that is sent back.
    const sofar = { role: 'assistant' as const, content: answer.blocks as unknown as SentBlock[] };
    next = { ...body, messages: [...body.messages, sofar] };
  }
  yield answer.end(API);
}
