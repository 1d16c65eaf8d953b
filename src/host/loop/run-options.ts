import type { Clock } from '../../base/clock.ts';
import type { JsonSchema } from '../../schema/schema.ts';
import type { Agent } from '../agent.ts';
import type { Message, Model, Part } from '../models/model.ts';
import type { AskableAgent } from './ask-agent.ts';
import type { PriceTable, RunLimits } from './budget.ts';
import type { RunSink } from './run-events.ts';
import type { RunSpans } from './run-spans.ts';
import type { OnSkill } from './skill-request.ts';

/** What a run needs of an agent. */
export type RunnableAgent = Pick<Agent, 'name' | 'config' | 'servers' | 'beginTurn' | 'call' | 'on'>;

/** What an agent works with, for as long as a conversation lasts. */
export interface ConversationOptions {
  readonly model: Model;
  /** The earlier messages. */
  readonly messages?: readonly Message[];
  readonly limits?: RunLimits;
  readonly prices?: PriceTable;
  /** The schema of the final answer; that of the agent's file unless set. */
  readonly outputSchema?: JsonSchema;
  /** Keeps the events, such as one made by `recordRun`. */
  readonly record?: RunSink;
  readonly onEvent?: RunSink;
  /** Agents that this one may ask. */
  readonly agents?: readonly AskableAgent[];
  /** Decides about skills; without it every skill is refused. */
  readonly onSkill?: OnSkill;
  /** Where spans go; nothing is traced unless set. */
  readonly spans?: RunSpans;
  /** How many tokens the model takes in at most; old results make room beyond it. 128,000 unless set. */
  readonly windowTokens?: number;
  /** Definitions of tools are held back where they take more tokens; 10,000 unless set. */
  readonly maxToolTokens?: number;
  readonly clock?: Clock;
}

/** The options of one question. */
export interface AskOptions {
  readonly signal?: AbortSignal;
}

/** The question of a run, and its options. */
export interface RunOptions extends ConversationOptions, AskOptions {
  /** The question; not needed where `messages` end with one. */
  readonly prompt?: string | readonly Part[];
}
