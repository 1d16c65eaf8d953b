import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { brokenOff } from './endpoint-failure.ts';
import type { Endpoint } from './endpoint.ts';
import type { ModelEvent, StopReason, ToolRequest } from './model.ts';
import type { WireEvent } from './send.ts';
import { countAt, objectAt, readArguments, textAt } from './wire-values.ts';

interface OpenBlock {
  readonly start: WireEvent;
  /** What was added to it, by field. */
  readonly added: Map<string, string>;
  json: string;
}

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  end_turn: 'finished',
  stop_sequence: 'finished',
  tool_use: 'tool_calls',
  pause_turn: 'finished',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'refused',
};
const GROWING = ['text', 'thinking', 'signature'];

/** Puts an answer of the Messages API together from its events; it may take several requests. */
export class AnthropicAnswer {
  readonly #endpoint: Endpoint;
  readonly #done: OpenBlock[] = [];
  readonly #open = new Map<unknown, OpenBlock>();
  #reason = '';
  #explanation = '';
  // Each request of the answer counts anew.
  readonly #usages: WireEvent[] = [];

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  get isPaused(): boolean {
    return this.#reason === 'pause_turn';
  }

  /** The blocks so far, as they can be sent back. */
  get blocks(): readonly WireEvent[] {
    return this.#done.map(whole);
  }

  /** Takes an event in; returns the text in it. */
  take(event: WireEvent): string {
    switch (event['type']) {
      case 'message_start':
        this.#usages.push(objectAt(objectAt(event, 'message'), 'usage'));
        this.#reason = '';
        return '';
      case 'content_block_start': {
        const start = objectAt(event, 'content_block');
        const block: OpenBlock = { start, added: new Map(), json: '' };
        this.#open.set(event['index'], block);
        this.#done.push(block);
        return start['type'] === 'text' ? textAt(start, 'text') : '';
      }
      case 'content_block_delta':
        return this.#grow(this.#open.get(event['index']), objectAt(event, 'delta'));
      case 'message_delta':
        this.#note(event);
        return '';
      default:
        return '';
    }
  }

  end(api: string): ModelEvent {
    if (this.#reason === '') throw brokenOff(this.#endpoint);
    const texts = this.blocks.filter(({ type }) => type === 'text').map((block) => textAt(block, 'text'));
    const toolCalls = this.#done.flatMap((block) => this.#call(block));
    const stopReason = STOP_REASONS[this.#reason] ?? (toolCalls.length > 0 ? 'tool_calls' : 'finished');
    return {
      type: 'end',
      message: {
        role: 'assistant',
        text: texts.join('') || (stopReason === 'refused' ? this.#explanation : ''),
        toolCalls,
        ...this.#kept(api),
      },
      usage: {
        inputTokens: this.#sum('input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'),
        outputTokens: this.#sum('output_tokens'),
        cachedTokens: this.#sum('cache_read_input_tokens'),
      },
      stopReason,
    };
  }

  #grow(block: OpenBlock | undefined, delta: WireEvent): string {
    if (!block)
      throw new ToolcribError(
        'invalid_answer',
        `${this.#endpoint.label} adds to a block that it did not begin.`,
      );
    block.json += textAt(delta, 'partial_json');
    for (const field of GROWING) {
      const text = textAt(delta, field);
      if (text !== '') block.added.set(field, (block.added.get(field) ?? '') + text);
    }
    return block.start['type'] === 'text' ? textAt(delta, 'text') : '';
  }

  #note(event: WireEvent): void {
    const delta = objectAt(event, 'delta');
    this.#reason = textAt(delta, 'stop_reason') || this.#reason;
    this.#explanation = textAt(objectAt(delta, 'stop_details'), 'explanation');
    const known = Object.entries(objectAt(event, 'usage')).filter(([, count]) => count !== null);
    const last = this.#usages.pop() ?? {};
    this.#usages.push({ ...last, ...Object.fromEntries(known) });
  }

  #call(block: OpenBlock): ToolRequest[] {
    const { start, json } = block;
    if (start['type'] !== 'tool_use') return [];
    const [id, name] = [textAt(start, 'id'), textAt(start, 'name')];
    if (id === '' || name === '')
      throw new ToolcribError(
        'invalid_answer',
        `${this.#endpoint.label} calls a tool without a name or an id.`,
      );
    return [{ id, name, arguments: json === '' ? objectAt(start, 'input') : readArguments(json) }];
  }

  #kept(api: string): { kept?: unknown } {
    const isPlain = this.#done.every(({ start }) => start['type'] === 'text' || start['type'] === 'tool_use');
    return isPlain ? {} : { kept: { api, model: this.#endpoint.name, blocks: this.blocks } };
  }

  #sum(...fields: readonly string[]): number | undefined {
    const counts = this.#usages.flatMap((usage) => fields.flatMap((field) => countAt(usage, field) ?? []));
    return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0);
  }
}

function whole({ start, added, json }: OpenBlock): WireEvent {
  const grown = [...added].map(([field, text]): [string, string] => [field, textAt(start, field) + text]);
  const input = json === '' ? undefined : readArguments(json);
  return {
    ...start,
    ...Object.fromEntries(grown),
    ...(input !== undefined && { input: isObject(input) ? input : {} }),
  };
}
