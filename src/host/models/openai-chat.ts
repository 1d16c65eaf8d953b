import { asList, isObject } from '../../base/json.ts';
import { brokenOff } from './endpoint-failure.ts';
import { createEndpoint, isOwnOf, type Endpoint } from './endpoint.ts';
import type { EndpointOptions } from './endpoint-options.ts';
import type {
  AssistantMessage,
  Message,
  Model,
  ModelEvent,
  ModelRequest,
  Part,
  ToolMessage,
} from './model.ts';
import { isStrictSchema } from './model-schema.ts';
import { DONE, send, type WireEvent } from './send.ts';
import { toOpenAiTools, type OpenAiTool } from './openai-tools.ts';
import {
  countAt,
  dataUrl,
  FAILED_MARK,
  objectAt,
  readArguments,
  textAt,
  textOfParts,
  writeArguments,
} from './wire-values.ts';
import { ToolcribError } from '../../base/errors.ts';

const API = 'openai-chat';
const SEES =
  /gpt-4o|gpt-4\.1|gpt-[5-9]|^o[34]|claude|gemini|pixtral|llava|vision|[-_]vl\b|qwen.*vl|gemma-?3/i;

/** A model behind the chat completions API, which most model servers speak, local ones too. */
export function openAiChat(options: EndpointOptions): Model {
  const endpoint = createEndpoint(options, {
    baseUrl: 'https://api.openai.com/v1',
    path: '/chat/completions',
    keyVariable: 'OPENAI_API_KEY',
    keyHeaders: (key) => ({ authorization: `Bearer ${key}` }),
  });
  return {
    name: options.name,
    features: { deferral: false, images: SEES.test(options.name), ...options.features },
    respond: (request, { signal }) =>
      respond(endpoint, {
        body: toChatRequest(request, { ...options, isOpenAi: isOwnOf('openai.com', endpoint) }),
        signal,
      }),
  };
}

/** The body of a request to the chat completions API. */
export function toChatRequest(
  { instructions, messages, tools, parallel, outputSchema, maxOutputTokens }: ModelRequest,
  endpoint: { readonly name: string; readonly isOpenAi: boolean; readonly maxOutputTokens?: number },
): ChatRequest {
  const { name, isOpenAi, maxOutputTokens: usual } = endpoint;
  const limit = maxOutputTokens ?? usual;
  return {
    model: name,
    messages: [
      ...(instructions === '' ? [] : [{ role: 'system' as const, content: instructions }]),
      ...toChatMessages(messages, name),
    ],
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length > 0 && { tools: toOpenAiTools(tools) }),
    ...(tools.length > 0 && !parallel && { parallel_tool_calls: false }),
    ...(outputSchema && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: { ...outputSchema }, strict: isStrictSchema(outputSchema) },
      },
    }),
    // Servers that imitate the API mostly know the old name only.
    ...(limit !== undefined && (isOpenAi ? { max_completion_tokens: limit } : { max_tokens: limit })),
  };
}

interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  stream: true;
  stream_options: { include_usage: true };
  tools?: OpenAiTool[];
  parallel_tool_calls?: false;
  response_format?: {
    type: 'json_schema';
    json_schema: { name: string; schema: Record<string, unknown>; strict: boolean };
  };
  max_completion_tokens?: number;
  max_tokens?: number;
}

type ChatPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

type ChatMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | ChatPart[] }
  | { role: 'assistant'; content: string | null; tool_calls?: ChatCall[] }
  | { role: 'tool'; tool_call_id: string; content: string };

interface ChatCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

// A tool's message has no place for pictures: they follow in one of the user, after the last of the results.
function toChatMessages(messages: readonly Message[], name: string): ChatMessage[] {
  const sent: ChatMessage[] = [];
  let pictures: ChatPart[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      sent.push(toolMessage(message));
      pictures.push(...picturesOf(message));
      continue;
    }
    if (pictures.length > 0) sent.push({ role: 'user', content: pictures });
    pictures = [];
    sent.push(message.role === 'user' ? userMessage(message.content) : assistantMessage(message, name));
  }
  return pictures.length > 0 ? [...sent, { role: 'user', content: pictures }] : sent;
}

function userMessage(content: readonly Part[]): ChatMessage {
  const isText = content.every(({ type }) => type === 'text');
  return { role: 'user', content: isText ? textOfParts(content) : content.map(toChatPart) };
}

function assistantMessage({ text, toolCalls, kept }: AssistantMessage, model: string): ChatMessage {
  const { message = {}, calls = {} } = keptOf(kept, model);
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    ...message,
    ...(toolCalls.length > 0 && {
      tool_calls: toolCalls.map(({ id, name, arguments: args }) => ({
        ...calls[id],
        id,
        type: 'function' as const,
        function: { name, arguments: writeArguments(args) },
      })),
    }),
  };
}

function toolMessage({ callId, content, isError }: ToolMessage): ChatMessage {
  const text = textOfParts(content);
  return { role: 'tool', tool_call_id: callId, content: isError ? FAILED_MARK + text : text };
}

function picturesOf({ content, name }: ToolMessage): ChatPart[] {
  const pictures = content.filter(({ type }) => type === 'image');
  if (pictures.length === 0) return [];
  return [{ type: 'text', text: `Pictures in the result of ${name}:` }, ...pictures.map(toChatPart)];
}

function toChatPart(part: Part): ChatPart {
  return part.type === 'text' ? { ...part } : { type: 'image_url', image_url: { url: dataUrl(part) } };
}

/** What some endpoints want back: signatures at calls, and their reasoning. */
interface Kept {
  readonly api: typeof API;
  readonly model: string;
  readonly message?: WireEvent;
  readonly calls?: Readonly<Record<string, WireEvent>>;
}

function keptOf(kept: unknown, model: string): Partial<Kept> {
  return isObject(kept) && kept['api'] === API && kept['model'] === model ? kept : {};
}

async function* respond(
  endpoint: Endpoint,
  { body, signal }: { readonly body: object; readonly signal: AbortSignal },
): AsyncGenerator<ModelEvent, void, undefined> {
  const answer = new ChatAnswer(endpoint);
  for await (const heard of send(endpoint, { body, signal, isLast: (event) => event === DONE })) {
    if (heard.type === 'waiting') yield heard;
    else {
      const text = answer.take(heard.event);
      if (text !== '') yield { type: 'text', text };
    }
  }
  yield answer.end();
}

interface OpenCall {
  readonly id: string;
  readonly extra: WireEvent | undefined;
  name: string;
  text: string;
}

/** Puts an answer together from its pieces. */
class ChatAnswer {
  readonly #endpoint: Endpoint;
  readonly #calls: OpenCall[] = [];
  // Some endpoints give every call the same index.
  readonly #byIndex = new Map<unknown, OpenCall>();
  readonly #reasoning: unknown[] = [];
  #text = '';
  #refusal = '';
  #reason = '';
  #usage: WireEvent = {};

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  /** Adds a piece; returns the text in it. */
  take(event: WireEvent): string {
    if (isObject(event['usage'])) this.#usage = event['usage'];
    const [choice] = asList(event['choices']);
    if (!isObject(choice)) return '';
    const delta = objectAt(choice, 'delta');
    for (const call of asList(delta['tool_calls'])) if (isObject(call)) this.#takeCall(call);
    this.#reasoning.push(...asList(delta['reasoning_details']));
    this.#refusal += textAt(delta, 'refusal');
    this.#reason = textAt(choice, 'finish_reason') || this.#reason;
    const text = textAt(delta, 'content');
    this.#text += text;
    return text;
  }

  end(): ModelEvent {
    if (this.#reason === '') throw brokenOff(this.#endpoint);
    if (this.#reason === 'error')
      throw new ToolcribError('upstream_unavailable', `${this.#endpoint.label} failed within its answer.`);
    const isRefused = this.#refusal !== '' || this.#reason === 'content_filter';
    return {
      type: 'end',
      message: {
        role: 'assistant',
        text: this.#text || this.#refusal,
        toolCalls: this.#calls.map(({ id, name, text }) => ({ id, name, arguments: readArguments(text) })),
        ...this.#kept(),
      },
      usage: {
        inputTokens: countAt(this.#usage, 'prompt_tokens'),
        outputTokens: countAt(this.#usage, 'completion_tokens'),
        cachedTokens: countAt(objectAt(this.#usage, 'prompt_tokens_details'), 'cached_tokens'),
      },
      stopReason: isRefused
        ? 'refused'
        : this.#reason === 'length'
          ? 'length'
          : this.#calls.length > 0
            ? 'tool_calls'
            : 'finished',
    };
  }

  #takeCall(piece: WireEvent): void {
    const index = piece['index'];
    const id = textAt(piece, 'id');
    const called = objectAt(piece, 'function');
    const name = textAt(called, 'name');
    let call = this.#byIndex.get(index);
    if (!call || (id !== '' && id !== call.id && name !== '')) {
      if (name === '')
        throw new ToolcribError('invalid_answer', `${this.#endpoint.label} calls a tool without a name.`);
      const extra = isObject(piece['extra_content']) ? { extra_content: piece['extra_content'] } : undefined;
      call = { id: id || `call_${crypto.randomUUID()}`, name, text: '', extra };
      this.#byIndex.set(index, call);
      this.#calls.push(call);
    }
    const args = called['arguments'];
    call.text += isObject(args) ? JSON.stringify(args) : textAt(called, 'arguments');
  }

  #kept(): { kept?: Kept } {
    const calls = Object.fromEntries(this.#calls.flatMap(({ id, extra }) => (extra ? [[id, extra]] : [])));
    const hasCalls = Object.keys(calls).length > 0;
    if (!hasCalls && this.#reasoning.length === 0) return {};
    return {
      kept: {
        api: API,
        model: this.#endpoint.name,
        ...(this.#reasoning.length > 0 && { message: { reasoning_details: this.#reasoning } }),
        ...(hasCalls && { calls }),
      },
    };
  }
}
