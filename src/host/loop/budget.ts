import { ToolcribError } from '../../base/errors.ts';
import type { AgentLimits } from '../agent-config.ts';
import { estimateOnce, estimateTokens } from '../models/estimate-tokens.ts';
import type { AssistantMessage, ModelRequest, Usage } from '../models/model.ts';
import type { RunUsage } from './run-events.ts';

/** What a model costs, for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  /** For input from the endpoint's cache; as `input` unless set. */
  readonly cached?: number;
}

/** Prices by the name of the model. */
export type PriceTable = Readonly<Record<string, Price>>;

/** Bounds of a run; what is left out is as in the agent's file. */
export interface RunLimits extends Partial<AgentLimits> {
  /** How often the same call may be asked for in a row; five times ends the run unless set. */
  readonly repeats?: number;
}

/** The bound that was reached, and what to change. */
export interface Exceeded {
  readonly setting: string;
  readonly message: string;
}

/** The counts of one turn. */
export interface TurnCost {
  readonly usage: Usage;
  readonly money: number | undefined;
}

type Counted = 'turns' | 'calls' | 'tokens' | 'money';

interface Used {
  turns: number;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  money: number;
}

const MILLION = 1_000_000;

/** What a run may use and has used; the agents it asks take from it too. */
export class Budget {
  readonly #limits: Partial<AgentLimits>;
  readonly #prices: PriceTable;
  readonly #parent: Budget | undefined;
  readonly #used: Used = { turns: 0, calls: 0, inputTokens: 0, outputTokens: 0, cachedTokens: 0, money: 0 };
  #isPriced = true;
  #isEstimated = false;

  constructor(limits: Partial<AgentLimits>, prices: PriceTable = {}, parent?: Budget) {
    this.#limits = limits;
    this.#prices = prices;
    this.#parent = parent;
  }

  /** A bound on money needs a price. */
  check(model: string): void {
    if (this.#limits.money !== undefined && !Object.hasOwn(this.#prices, model))
      throw new ToolcribError(
        'invalid_setup',
        `limits.money is set, but no price of ${model} is known; add it to the price table.`,
      );
    this.#parent?.check(model);
  }

  /** Counts one turn before it begins; the bound that forbids it is returned. */
  takeTurn(): Exceeded | undefined {
    const reached = this.#reached('turns') ?? this.#reached('tokens') ?? this.#reached('money');
    if (reached) return reached;
    this.#count((used) => used.turns++);
    return undefined;
  }

  /** Counts one call before it is made; the bound that forbids it is returned. */
  takeCall(): Exceeded | undefined {
    const reached = this.#reached('calls');
    if (reached) return reached;
    this.#count((used) => used.calls++);
    return undefined;
  }

  /** Counts the tokens of a turn; estimates them if the endpoint did not tell. */
  spend(model: string, request: ModelRequest, turn: { message: AssistantMessage; usage: Usage }): TurnCost {
    const { usage, message } = turn;
    const isKnown = usage.inputTokens !== undefined && usage.outputTokens !== undefined;
    const input = usage.inputTokens ?? requestTokens(request);
    const output = usage.outputTokens ?? estimateTokens(message.text) + estimateTokens(message.toolCalls);
    const cached = Math.min(usage.cachedTokens ?? 0, input);
    const money = this.#moneyOf(model, { input, output, cached });
    this.#count((used) => {
      used.inputTokens += input;
      used.outputTokens += output;
      used.cachedTokens += cached;
      used.money += money ?? 0;
    });
    this.#note({ isKnown, isPriced: money !== undefined });
    return { usage, money };
  }

  /** The usage so far. */
  get usage(): Omit<RunUsage, 'ms' | 'waitedMs'> {
    const { money, ...counts } = this.#used;
    return {
      ...counts,
      isEstimated: this.#isEstimated,
      money: this.#isPriced && counts.turns > 0 ? money : undefined,
    };
  }

  /** A part of it for another agent, which has bounds of its own as well. */
  part(limits: Partial<AgentLimits>): Budget {
    return new Budget(limits, this.#prices, this);
  }

  #moneyOf(
    model: string,
    { input, output, cached }: { input: number; output: number; cached: number },
  ): number | undefined {
    const price = Object.hasOwn(this.#prices, model) ? this.#prices[model] : undefined;
    if (!price) return undefined;
    const fresh = (input - cached) * price.input + cached * (price.cached ?? price.input);
    return (fresh + output * price.output) / MILLION;
  }

  #count(change: (used: Used) => void): void {
    change(this.#used);
    if (this.#parent) this.#parent.#count(change);
  }

  #note({ isKnown, isPriced }: { readonly isKnown: boolean; readonly isPriced: boolean }): void {
    this.#isEstimated ||= !isKnown;
    this.#isPriced &&= isPriced;
    if (this.#parent) this.#parent.#note({ isKnown, isPriced });
  }

  #reached(what: Counted): Exceeded | undefined {
    const { turns, calls, inputTokens, outputTokens, money } = this.#used;
    const used = { turns, calls, tokens: inputTokens + outputTokens, money }[what];
    const limit = this.#limits[what];
    if (limit === undefined || used < limit) return this.#parent ? this.#parent.#reached(what) : undefined;
    return exceeded(what, `${what === 'money' ? money.toFixed(4) : used} of ${limit} ${UNITS[what]}`);
  }
}

const UNITS = {
  turns: 'turns',
  calls: 'calls',
  tokens: 'tokens',
  money: 'of the currency of the price table',
};

/** The bound in words, with the setting to change. */
export function exceeded(what: keyof AgentLimits | 'repeats', used: string): Exceeded {
  const setting = `limits.${what}`;
  return { setting, message: `The run ended at its limit: ${used} (${setting}).` };
}

// A picture counts like about a page of text.
function requestTokens({ instructions, messages, tools }: ModelRequest): number {
  const defined = tools.reduce((sum, tool) => sum + estimateOnce(tool), 0);
  return estimateTokens(instructions) + messagesTokens(messages) + defined;
}

/** About how many tokens messages take. */
export function messagesTokens(messages: ModelRequest['messages']): number {
  return messages.reduce((sum, message) => sum + messageTokens(message), 0);
}

const IMAGE_TOKENS = 1_600;
const counted = new WeakMap<object, number>();

// Messages never change, so each is counted once.
function messageTokens(message: ModelRequest['messages'][number]): number {
  const known = counted.get(message);
  if (known !== undefined) return known;
  const tokens =
    message.role === 'assistant'
      ? estimateTokens(message.text) + (message.toolCalls.length > 0 ? estimateTokens(message.toolCalls) : 0)
      : message.content.reduce(
          (sum, part) => sum + (part.type === 'text' ? estimateTokens(part.text) : IMAGE_TOKENS),
          0,
        );
  counted.set(message, tokens);
  return tokens;
}
