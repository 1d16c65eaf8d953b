import { ToolcribError } from '../../base/errors.ts';
import { Cancelled } from '../../client/errors.ts';
import { estimateOnce, estimateTokens } from './estimate-tokens.ts';
import type { Model, ModelEvent, ModelRequest, StopReason, ToolRequest } from './model.ts';

/** One turn of a scripted model. */
export interface ScriptedTurn {
  readonly text?: string;
  readonly toolCalls?: readonly (Omit<ToolRequest, 'id'> & { readonly id?: string })[];
  /** Follows from the calls unless set. */
  readonly stopReason?: StopReason;
}

/** One turn of a script: a text, a turn, or a function that makes a turn from the request. */
export type ScriptedStep =
  | string
  | ScriptedTurn
  | ((request: ModelRequest) => string | ScriptedTurn | Promise<string | ScriptedTurn>);

/** A model that follows a script, and remembers its requests. */
export interface ScriptedModel extends Model {
  readonly requests: readonly ModelRequest[];
}

/** Makes a model for tests and replays; its usage is estimated. */
export function scripted(
  steps: readonly ScriptedStep[],
  options: { readonly name?: string; readonly features?: Partial<Model['features']> } = {},
): ScriptedModel {
  const requests: ModelRequest[] = [];
  let calls = 0;
  return {
    name: options.name ?? 'scripted',
    features: { deferral: false, images: true, ...options.features },
    requests,
    async *respond(request, { signal }): AsyncGenerator<ModelEvent, void, undefined> {
      if (signal.aborted) throw new Cancelled({ cause: signal.reason });
      const step = steps[requests.length];
      requests.push(request);
      if (step === undefined)
        throw new ToolcribError(
          'invalid_setup',
          `The script has ${steps.length} turns, and one more was asked for.`,
        );
      const said = typeof step === 'function' ? await step(request) : step;
      if (signal.aborted) throw new Cancelled({ cause: signal.reason });
      const { text = '', toolCalls = [], stopReason } = typeof said === 'string' ? { text: said } : said;
      if (text !== '') yield { type: 'text', text };
      const made = toolCalls.map((call) => ({ ...call, id: call.id ?? `call_${++calls}` }));
      yield {
        type: 'end',
        message: { role: 'assistant', text, toolCalls: made },
        usage: {
          inputTokens: tokensOf(request),
          outputTokens: estimateTokens(text) + (made.length > 0 ? estimateTokens(made) : 0),
          cachedTokens: 0,
        },
        stopReason: stopReason ?? (made.length > 0 ? 'tool_calls' : 'finished'),
      };
    },
  };
}

function tokensOf({ instructions, messages, tools }: ModelRequest): number {
  return [...messages, ...tools].reduce((sum, one) => sum + estimateOnce(one), estimateTokens(instructions));
}
