import { ToolcribError } from '../../base/errors.ts';
import type { Progress } from '../../core/call.ts';
import type { AvailableTool } from '../agent.ts';
import type { AgentConfig } from '../agent-config.ts';
import { contentParts } from '../models/content-parts.ts';
import type { ToolMessage, ToolRequest } from '../models/model.ts';
import { soonAfterAbort } from './model-turn.ts';
import { toldFailure, type ToldResult } from './own-tool.ts';
import type { RunFrame } from './run-frame.ts';
import type { CallBegan, RunHappening } from './run-events.ts';
import { noSpans, type RunSpan } from './run-spans.ts';

/** What calls are made with. */
export interface CallRunnerParts {
  readonly frame: RunFrame;
  readonly span: RunSpan;
  readonly signal: AbortSignal;
  readonly emit: (happening: RunHappening) => void;
}

/** A call the model asked for, and why it is not made, if so. */
export interface PlannedCall {
  readonly request: ToolRequest;
  readonly refusal: string | undefined;
}

const MOST_AT_ONCE = 8;
const CANCELLED =
  'The call was cancelled before its result was there; if it had begun, it may have had its effect.';

/** Makes the calls a model asked for, side by side where both it and their servers allow that. */
export class CallRunner {
  readonly #parts: CallRunnerParts;
  // Under way, by the id the agent knows them by; ids of models need not be unique.
  readonly #running = new Map<string, CallBegan>();
  #count = 0;

  constructor(parts: CallRunnerParts) {
    this.#parts = parts;
  }

  /** Makes calls in their order, and returns a message for each; those after a cancellation are not made. */
  async perform(
    planned: readonly PlannedCall[],
    tools: readonly AvailableTool[],
  ): Promise<readonly ToolMessage[]> {
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const messages: ToolMessage[] = [];
    for (const group of groups(planned, (call) => this.#mayShare(call, byName)))
      messages.push(
        ...(await Promise.all(group.map((call) => this.#one(call, byName.get(call.request.name))))),
      );
    return messages;
  }

  /** Tells how far a call is. */
  report(id: string, progress: Progress): void {
    const began = this.#running.get(id);
    if (began) this.#parts.emit({ type: 'tool:progress', ...began, progress });
  }

  #mayShare({ request, refusal }: PlannedCall, tools: ReadonlyMap<string, AvailableTool>): boolean {
    if (refusal !== undefined || typeof request.arguments === 'string') return true;
    const own = this.#parts.frame.ownTool(request.name);
    if (own) return own.isHarmless;
    return mayRunBesides(tools.get(request.name), this.#parts.frame.agent.config);
  }

  async #one({ request, refusal }: PlannedCall, tool: AvailableTool | undefined): Promise<ToolMessage> {
    const { frame, emit, signal } = this.#parts;
    const { name, id, arguments: args } = request;
    const server = this.#parts.frame.ownTool(name) ? undefined : tool?.from.source;
    const began: CallBegan = { id, tool: name, server, arguments: args };
    if (signal.aborted) return messageOf(request, toldFailure('The call was cancelled and not made.'));
    emit({ type: 'tool:start', ...began });
    const start = frame.clock.ticks();
    const told = refusal === undefined ? await this.#call(began, tool) : toldFailure(refusal);
    const message = messageOf(request, told);
    emit({ type: 'tool:end', ...began, message, ms: frame.clock.ticks() - start });
    return message;
  }

  async #call(began: CallBegan, tool: AvailableTool | undefined): Promise<ToldResult> {
    const { frame, span: parent } = this.#parts;
    const { arguments: args } = began;
    if (typeof args === 'string')
      return toldFailure(`The arguments of ${began.tool} were no JSON object; send them again as one.`);
    const { hasContent } = frame.options.spans ?? noSpans;
    const span = (frame.options.spans ?? noSpans).start('execute_tool', tool ? began.tool : 'unknown', {
      parent,
      attributes: {
        'gen_ai.tool.name': began.tool,
        'gen_ai.tool.call.id': began.id,
        'gen_ai.tool.type': 'function',
        ...(hasContent && { 'gen_ai.tool.call.arguments': JSON.stringify(args) }),
      },
    });
    const told = await span.within(() => this.#made({ ...began, arguments: args }, tool));
    if (hasContent) span.set({ 'gen_ai.tool.call.result': JSON.stringify(told.content) });
    span.end(told.isError ? 'tool_error' : undefined);
    return told;
  }

  async #made(
    began: CallBegan & { readonly arguments: Readonly<Record<string, unknown>> },
    tool: AvailableTool | undefined,
  ): Promise<ToldResult> {
    const { frame, signal } = this.#parts;
    const own = this.#parts.frame.ownTool(began.tool);
    const id = `${began.id}#${++this.#count}`;
    this.#running.set(id, began);
    try {
      if (own)
        return await soonAfterAbort(
          Promise.resolve(own.call(began.arguments, { id: began.id, signal })),
          this.#bound,
        );
      const call = frame.agent.call(began.tool, began.arguments, { id, signal });
      const { features } = frame.options.model;
      const result = await soonAfterAbort(call, this.#bound);
      const toolMeta = tool?._meta;
      return contentParts(result, { features, server: tool?.from.source, toolMeta, spill: frame.spill });
    } catch (error) {
      if (signal.aborted) return toldFailure(CANCELLED);
      if (error instanceof ToolcribError) return toldFailure(error.message);
      throw error;
    } finally {
      this.#running.delete(id);
    }
  }

  get #bound(): Parameters<typeof soonAfterAbort>[1] {
    return { signal: this.#parts.signal, clock: this.#parts.frame.clock };
  }
}

// As the server's `parallel` says.
function mayRunBesides(tool: AvailableTool | undefined, { servers }: Pick<AgentConfig, 'servers'>): boolean {
  // Nothing is called under an unknown name.
  if (!tool) return true;
  const { source } = tool.from;
  const rule = source === undefined ? 'read-only' : (servers[source]?.parallel ?? 'none');
  if (rule !== 'read-only') return rule === 'all';
  return tool.isTrusted && tool.annotations?.readOnlyHint === true;
}

function groups<T>(items: readonly T[], mayShare: (item: T) => boolean): readonly (readonly T[])[] {
  const made: { items: T[]; isShared: boolean }[] = [];
  for (const item of items) {
    const isShared = mayShare(item);
    const last = made.at(-1);
    if (isShared && last?.isShared === true && last.items.length < MOST_AT_ONCE) last.items.push(item);
    else made.push({ items: [item], isShared });
  }
  return made.map((group) => group.items);
}

function messageOf({ id, name }: ToolRequest, { content, isError }: ToldResult): ToolMessage {
  return { role: 'tool', callId: id, name, content, isError };
}
