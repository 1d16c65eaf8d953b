import type { ToolcribError } from '../../base/errors.ts';
import type { Progress } from '../../core/call.ts';
import type { Decision, DecisionRequest } from '../../stages/approve/decision.ts';
import type { ServerQuestion } from '../agent.ts';
import type {
  AssistantMessage,
  Message,
  StopReason,
  ToolMessage,
  Usage,
  UserMessage,
} from '../models/model.ts';
import type { SkillRequest } from './skill-request.ts';

/** How a run ended; a run that could not continue throws instead. */
export type RunEnding =
  | { readonly kind: 'finished' }
  /** A bound was reached; the message names the setting. */
  | { readonly kind: 'limit'; readonly setting: string; readonly message: string }
  /** The model does not want to answer. */
  | { readonly kind: 'refused'; readonly message: string }
  /** The answer does not have the form that was asked for, twice. */
  | { readonly kind: 'invalid_output'; readonly message: string }
  | { readonly kind: 'cancelled' };

/** The usage of a run, with that of the agents it asked. */
export interface RunUsage {
  readonly turns: number;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  /** Whether an endpoint did not tell its usage, so that it was estimated here. */
  readonly isEstimated: boolean;
  /** In the currency of the price table; `undefined` where a price is not known. */
  readonly money: number | undefined;
  /** Time at work. */
  readonly ms: number;
  /** Time a person took to answer. */
  readonly waitedMs: number;
}

/** The outcome of a run. */
export interface AgentRun {
  readonly ending: RunEnding;
  /** The last text of the model. */
  readonly text: string;
  /** The answer as data, where a form was asked for and kept. */
  readonly output: unknown;
  /** The whole conversation, to be handed to the next run. */
  readonly messages: readonly Message[];
  readonly usage: RunUsage;
}

/** The members of every event. */
export interface EventOrigin {
  /** The id of the run; an agent that another one asks has a run of its own. */
  readonly run: string;
  readonly agent: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A call of a tool, under the id the model gave it. */
export interface CallBegan {
  readonly id: string;
  readonly tool: string;
  /** `undefined` for a tool of the host itself. */
  readonly server: string | undefined;
  /** Text where the model sent no JSON object. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
}

/** The events of a run. */
export type RunHappening =
  | {
      readonly type: 'run:start';
      readonly model: string;
      readonly instructions: string;
      readonly versions: Readonly<Record<string, string>>;
      /** The call by which another run asked for this one. */
      readonly askedBy?: { readonly run: string; readonly call: string };
    }
  | {
      readonly type: 'turn:start';
      readonly turn: number;
      /** The names of the tools that are shown. */
      readonly tools: readonly string[];
      readonly toolTokens: number;
      readonly deferredTokens: number;
    }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'waiting'; readonly ms: number; readonly reason: string }
  | { readonly type: 'message'; readonly message: UserMessage }
  | {
      readonly type: 'answer';
      readonly message: AssistantMessage;
      readonly usage: Usage;
      readonly money: number | undefined;
      readonly stopReason: StopReason;
      readonly ms: number;
    }
  | ({ readonly type: 'tool:start' } & CallBegan)
  | ({ readonly type: 'tool:progress'; readonly progress: Progress } & CallBegan)
  | ({ readonly type: 'tool:end'; readonly message: ToolMessage; readonly ms: number } & CallBegan)
  /** A person is asked whether a call may be made, and decides; without an answer there is no decision. */
  | ({ readonly type: 'decision:start' } & AskedCall)
  | ({
      readonly type: 'decision:end';
      readonly decision: Decision | undefined;
      readonly ms: number;
    } & AskedCall)
  | ({ readonly type: 'question:start' } & ServerQuestion)
  | ({ readonly type: 'question:end'; readonly outcome: string; readonly ms: number } & ServerQuestion)
  | ({ readonly type: 'skill:start' } & AskedSkill)
  | ({ readonly type: 'skill:end'; readonly isAgreed: boolean; readonly ms: number } & AskedSkill)
  /** Something a person should know. */
  | { readonly type: 'note'; readonly text: string }
  | { readonly type: 'run:end'; readonly ending: RunEnding | RunFailed; readonly usage: RunUsage };

/** A call that a person is asked about. */
export type AskedCall = Omit<DecisionRequest, 'signal' | 'description'>;

/** A skill that a person is asked about. */
export type AskedSkill = Omit<SkillRequest, 'signal'>;

/** The end of a run that threw. */
export interface RunFailed {
  readonly kind: 'failed';
  readonly code: ToolcribError['code'];
  readonly message: string;
}

/** The events of a run. */
export type RunEvent = EventOrigin & RunHappening;

/** Takes the events of a run, in order. */
export type RunSink = (event: RunEvent) => void;
