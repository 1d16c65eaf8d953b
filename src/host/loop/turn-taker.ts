import { knownError, ToolcribError } from '../../base/errors.ts';
import type { AvailableTool } from '../agent.ts';
import { hostNote } from '../models/content-parts.ts';
import { estimateTokens } from '../models/estimate-tokens.ts';
import type { Message, ModelRequest, Usage } from '../models/model.ts';
import type { ToolBlockView } from '../models/tool-block.ts';
import { messagesTokens, type Budget } from './budget.ts';
import { fitMessages } from './message-window.ts';
import { takeTurn, type TurnEnd } from './model-turn.ts';
import type { RunHappening } from './run-events.ts';
import type { RunFrame } from './run-frame.ts';
import { noSpans, type RunSpan } from './run-spans.ts';

/** What turns are taken with. */
export interface TurnTakerParts {
  readonly frame: RunFrame;
  readonly span: RunSpan;
  readonly signal: AbortSignal;
  readonly budget: Budget;
  readonly emit: (happening: RunHappening) => void;
  /** Adds a message to the conversation. */
  readonly push: (message: Message) => void;
}

const WINDOW_TOKENS = 128_000;
const LEAST_ROOM = 1_000;
const UNTOLD: Usage = { inputTokens: undefined, outputTokens: undefined, cachedTokens: undefined };

/** Asks the model for one turn after the other, with the tools as they are and the messages as they fit. */
export class TurnTaker {
  readonly #parts: TurnTakerParts;

  constructor(parts: TurnTakerParts) {
    this.#parts = parts;
  }

  /** Asks for one turn, and adds the answer of the model to the conversation. */
  async take(tools: readonly AvailableTool[]): Promise<TurnEnd> {
    return this.#turn(await this.#view(tools));
  }

  // Tools change only between turns, and new ones are added after the earlier messages.
  async #view(tools: readonly AvailableTool[]): Promise<ToolBlockView> {
    const view = this.#parts.frame.block.view(tools);
    const notice = view.notice === undefined ? [] : [hostNote(view.notice)];
    const news = [...notice, ...(await this.#parts.frame.news())];
    if (news.length > 0) this.#parts.push({ role: 'user', content: news });
    this.#makeRoom(view);
    this.#parts.emit({
      type: 'turn:start',
      turn: this.#parts.budget.usage.turns,
      tools: view.tools.map(({ name }) => name),
      toolTokens: view.tokens,
      deferredTokens: view.deferredTokens,
    });
    return view;
  }

  async #turn(view: ToolBlockView): Promise<TurnEnd> {
    const { options, clock } = this.#parts.frame;
    const span = (options.spans ?? noSpans).start('chat', options.model.name, {
      parent: this.#parts.span,
      attributes: { 'gen_ai.request.model': options.model.name },
    });
    const began = clock.ticks();
    try {
      const request = this.#request(view);
      const end = await span.within(() => this.#ask(request, view));
      const { usage, money } = this.#parts.budget.spend(options.model.name, request, end);
      this.#parts.push(end.message);
      const { message, stopReason } = end;
      this.#parts.emit({ type: 'answer', message, usage, money, stopReason, ms: clock.ticks() - began });
      span.set(turnAttributes(end, options.spans?.hasContent === true ? request : undefined));
      span.end();
      return end;
    } catch (error) {
      span.end(knownError(error).code);
      throw error;
    }
  }

  async #ask(request: ModelRequest, view: ToolBlockView): Promise<TurnEnd> {
    const { options, clock } = this.#parts.frame;
    const { signal } = this.#parts;
    const isSent = !signal.aborted;
    let said = '';
    const turn = {
      clock,
      signal,
      onEvent: (event: { type: 'text'; text: string } | { type: 'waiting'; ms: number; reason: string }) => {
        if (event.type === 'text') said += event.text;
        this.#parts.emit(event);
      },
    };
    try {
      return await takeTurn(options.model, request, turn);
    } catch (error) {
      if (signal.aborted && isSent) this.#leaveOff(request, said);
      if (!isTooLong(error) || !this.#makeRoom(view, messagesTokens(this.#parts.frame.messages) / 2))
        throw error;
      return takeTurn(options.model, this.#request(view), turn);
    }
  }

  // The text before the stop stays in the conversation. It and the request are counted, because the endpoint does, too.
  #leaveOff(request: ModelRequest, text: string): void {
    const message = { role: 'assistant', text, toolCalls: [] } as const;
    this.#parts.budget.spend(this.#parts.frame.options.model.name, request, { message, usage: UNTOLD });
    if (text !== '') this.#parts.push(message);
  }

  #request(view: ToolBlockView): ModelRequest {
    const { agent, options, messages } = this.#parts.frame;
    const { outputSchema = agent.config.outputSchema } = options;
    const servers = Object.values(agent.config.servers);
    return {
      instructions: agent.config.instructions,
      messages,
      tools: view.tools,
      parallel: servers.length === 0 || servers.some(({ parallel }) => parallel !== 'none'),
      ...(outputSchema && { outputSchema }),
    };
  }

  #makeRoom({ tokens }: ToolBlockView, most?: number): boolean {
    const { agent, options, spill } = this.#parts.frame;
    const taken = tokens + estimateTokens(agent.config.instructions);
    const maxTokens = most ?? Math.max(LEAST_ROOM, (options.windowTokens ?? WINDOW_TOKENS) - taken);
    const { messages, replaced } = fitMessages(this.#parts.frame.messages, { maxTokens, spill });
    if (replaced === 0) return false;
    this.#parts.frame.messages = messages;
    const text = `${replaced} old ${replaced === 1 ? 'result was' : 'results were'} taken out to make room.`;
    this.#parts.emit({ type: 'note', text });
    return true;
  }
}

function isTooLong(error: unknown): boolean {
  return error instanceof ToolcribError && error.data?.['reason'] === 'context_too_long';
}

function turnAttributes(
  { message, usage, stopReason }: TurnEnd,
  request: ModelRequest | undefined,
): Readonly<Record<string, string | number | readonly string[]>> {
  const { inputTokens, outputTokens } = usage;
  return {
    'gen_ai.response.finish_reasons': [stopReason],
    ...(inputTokens !== undefined && { 'gen_ai.usage.input_tokens': inputTokens }),
    ...(outputTokens !== undefined && { 'gen_ai.usage.output_tokens': outputTokens }),
    ...(request && {
      'gen_ai.input.messages': JSON.stringify(request.messages),
      'gen_ai.output.messages': JSON.stringify([message]),
    }),
  };
}
