import { ToolcribError } from '../../base/errors.ts';
import { asList, isObject } from '../../base/json.ts';
import { eventSetback } from './endpoint-failure.ts';
import { createEndpoint, isOwnOf, type Endpoint } from './endpoint.ts';
import type { EndpointOptions } from './endpoint-options.ts';
import type { AssistantMessage, Message, Model, ModelEvent, ModelRequest, ToolRequest } from './model.ts';
import { isStrictSchema } from './model-schema.ts';
import {
  toInputPart,
  toOpenAiCallOutput,
  toOpenAiResponsesTools,
  type OpenAiResponsesTool,
  type OutputPart,
} from './openai-tools.ts';
import { send, type WireEvent } from './send.ts';
import { countAt, objectAt, readArguments, textAt, writeArguments } from './wire-values.ts';

const API = 'openai-responses';
const DEFERS = /^gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|\d\d)/;
const REASONS = /^(?:o\d|codex|gpt-(?:[5-9]|\d\d))(?!.*chat)/;
const LAST: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** A model behind the Responses API. */
export function openAiResponses(options: EndpointOptions): Model {
  const endpoint = createEndpoint(options, {
    baseUrl: 'https://api.openai.com/v1',
    path: '/responses',
    keyVariable: 'OPENAI_API_KEY',
    keyHeaders: (key) => ({ authorization: `Bearer ${key}` }),
  });
  const isOpenAi = isOwnOf('openai.com', endpoint);
  return {
    name: options.name,
    features: { deferral: isOpenAi && DEFERS.test(options.name), images: true, ...options.features },
    respond: (request, { signal }) =>
      respond(endpoint, { body: toResponsesRequest(request, options), signal }),
  };
}

/** The body of a request to the Responses API. */
export function toResponsesRequest(
  { instructions, messages, tools, parallel, outputSchema, maxOutputTokens }: ModelRequest,
  { name, maxOutputTokens: usual }: Pick<EndpointOptions, 'name' | 'maxOutputTokens'>,
): ResponsesRequest {
  const limit = maxOutputTokens ?? usual;
  const hasDeferred = tools.some(({ isDeferred }) => isDeferred);
  return {
    model: name,
    ...(instructions !== '' && { instructions }),
    input: messages.flatMap((message) => toInput(message, name)),
    stream: true,
    // Nothing is kept at the endpoint, so the reasoning has to travel along.
    store: false,
    ...(REASONS.test(name) && { include: ['reasoning.encrypted_content'] }),
    ...(tools.length > 0 && {
      tools: [...toOpenAiResponsesTools(tools), ...(hasDeferred ? [{ type: 'tool_search' as const }] : [])],
    }),
    ...(tools.length > 0 && !parallel && { parallel_tool_calls: false }),
    ...(outputSchema && {
      text: {
        format: {
          type: 'json_schema',
          name: 'answer',
          schema: { ...outputSchema },
          strict: isStrictSchema(outputSchema),
        },
      },
    }),
    ...(limit !== undefined && { max_output_tokens: limit }),
  };
}

interface ResponsesRequest {
  model: string;
  instructions?: string;
  input: InputItem[];
  stream: true;
  store: false;
  include?: 'reasoning.encrypted_content'[];
  tools?: (OpenAiResponsesTool | { type: 'tool_search' })[];
  parallel_tool_calls?: false;
  text?: {
    format: { type: 'json_schema'; name: string; schema: Record<string, unknown>; strict: boolean };
  };
  max_output_tokens?: number;
}

type InputItem =
  | { role: 'user'; content: OutputPart[] }
  | { role: 'assistant'; content: string }
  | { type: 'function_call'; call_id: string; name: string; arguments: string }
  | ReturnType<typeof toOpenAiCallOutput>;

function toInput(message: Message, model: string): InputItem[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: message.content.map(toInputPart) }];
    case 'tool':
      return [toOpenAiCallOutput({ id: message.callId }, message)];
    case 'assistant':
      return keptItems(message, model) ?? spokenItems(message);
  }
}

function spokenItems({ text, toolCalls }: AssistantMessage): InputItem[] {
  return [
    ...(text === '' ? [] : [{ role: 'assistant' as const, content: text }]),
    ...toolCalls.map(({ id, name, arguments: args }) => ({
      type: 'function_call' as const,
      call_id: id,
      name,
      arguments: writeArguments(args),
    })),
  ];
}

// Items of this API, as they came: only what we wrote down ourselves gets here.
function keptItems({ kept }: AssistantMessage, model: string): InputItem[] | undefined {
  const isOurs = isObject(kept) && kept['api'] === API && kept['model'] === model;
  return isOurs && Array.isArray(kept['items']) ? (kept['items'] as InputItem[]) : undefined;
}

async function* respond(
  endpoint: Endpoint,
  { body, signal }: { readonly body: object; readonly signal: AbortSignal },
): AsyncGenerator<ModelEvent, void, undefined> {
  const answer = new ResponseAnswer(endpoint);
  for await (const heard of send(endpoint, { body, signal, isLast: ({ type }) => LAST.has(type) })) {
    if (heard.type === 'waiting') yield heard;
    else {
      const text = answer.take(heard.event);
      if (text !== '') yield { type: 'text', text };
    }
  }
  const text = answer.unsaid();
  if (text !== '') yield { type: 'text', text };
  yield answer.end();
}

/** Puts an answer together from its events. */
class ResponseAnswer {
  readonly #endpoint: Endpoint;
  readonly #items = new Map<unknown, WireEvent>();
  readonly #arguments = new Map<unknown, string>();
  #text = '';
  #refusal = '';
  #response: WireEvent = {};

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  /** Takes an event in; returns the text in it. */
  take(event: WireEvent): string {
    const index = event['output_index'];
    switch (event['type']) {
      case 'response.output_text.delta': {
        const text = textAt(event, 'delta');
        this.#text += text;
        return text;
      }
      case 'response.refusal.delta':
        this.#refusal += textAt(event, 'delta');
        return '';
      case 'response.output_item.added':
      case 'response.output_item.done':
        this.#items.set(index, objectAt(event, 'item'));
        return '';
      case 'response.function_call_arguments.delta':
        this.#arguments.set(index, (this.#arguments.get(index) ?? '') + textAt(event, 'delta'));
        return '';
      case 'response.failed':
        throw eventSetback(objectAt(event, 'response'), this.#endpoint).error;
      default:
        if (LAST.has(event['type'])) this.#close(objectAt(event, 'response'));
        return '';
    }
  }

  /** Text of an endpoint that sends whole items only. */
  unsaid(): string {
    if (this.#text !== '') return '';
    this.#text = this.#contents('output_text')
      .map((part) => textAt(part, 'text'))
      .join('');
    return this.#text;
  }

  end(): ModelEvent {
    const refusal =
      this.#refusal ||
      this.#contents('refusal')
        .map((part) => textAt(part, 'refusal'))
        .join('');
    const toolCalls = [...this.#items].flatMap(([index, item]) => this.#call(index, item));
    const usage = objectAt(this.#response, 'usage');
    return {
      type: 'end',
      message: {
        role: 'assistant',
        text: this.#text || refusal,
        toolCalls,
        ...this.#kept(),
      },
      usage: {
        inputTokens: countAt(usage, 'input_tokens'),
        outputTokens: countAt(usage, 'output_tokens'),
        cachedTokens: countAt(objectAt(usage, 'input_tokens_details'), 'cached_tokens'),
      },
      stopReason: this.#stopReason(refusal, toolCalls),
    };
  }

  #stopReason(
    refusal: string,
    toolCalls: readonly ToolRequest[],
  ): 'finished' | 'tool_calls' | 'length' | 'refused' {
    const reason = textAt(objectAt(this.#response, 'incomplete_details'), 'reason');
    if (refusal !== '' || reason === 'content_filter') return 'refused';
    if (this.#response['status'] === 'incomplete') return 'length';
    return toolCalls.length > 0 ? 'tool_calls' : 'finished';
  }

  // Some endpoints send the items only at the end, others only on the way.
  #close(response: WireEvent): void {
    this.#response = response;
    if (this.#items.size > 0) return;
    asList(response['output']).forEach((item, index) => isObject(item) && this.#items.set(index, item));
  }

  #call(index: unknown, item: WireEvent): ToolRequest[] {
    if (item['type'] !== 'function_call') return [];
    const name = textAt(item, 'name');
    const id = textAt(item, 'call_id') || textAt(item, 'id');
    if (name === '' || id === '')
      throw new ToolcribError(
        'invalid_answer',
        `${this.#endpoint.label} calls a tool without a name or an id.`,
      );
    const text = textAt(item, 'arguments') || (this.#arguments.get(index) ?? '');
    return [{ id, name, arguments: readArguments(text) }];
  }

  #contents(type: string): WireEvent[] {
    return [...this.#items.values()]
      .filter((item) => item['type'] === 'message')
      .flatMap((item) => asList(item['content']))
      .filter((part): part is WireEvent => isObject(part) && part['type'] === type);
  }

  #kept(): { kept?: unknown } {
    const items = [...this.#items.values()];
    const isPlain = items.every(({ type }) => type === 'message' || type === 'function_call');
    return isPlain ? {} : { kept: { api: API, model: this.#endpoint.name, items } };
  }
}
