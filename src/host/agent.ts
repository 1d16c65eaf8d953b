import type { Progress } from '../core/call.ts';
import type { ContentBlock } from '../core/content.ts';
import type { NamedPlace } from '../core/merge.ts';
import type { Result } from '../core/result.ts';
import type { ListedTool } from '../core/tool.ts';
import type { Client } from '../client/client.ts';
import type { ConnectionState } from '../client/state.ts';
import type { Decision, DecisionRequest, SafetyMode } from '../stages/approve/decision.ts';
import type { Grants } from '../stages/approve/grants.ts';
import type { Verdict } from '../stages/approve/which-calls.ts';
import type { AgentConfig, AgentServer } from './agent-config.ts';

/** A tool an agent may use, under the name its model knows, and where it comes from. */
export interface AvailableTool extends ListedTool {
  /** The server and its own name for the tool; the server is `undefined` for a tool of this process. */
  readonly from: NamedPlace | { readonly source: undefined; readonly name: string };
  readonly isTrusted: boolean;
}

/** The events while tools run. */
export interface AgentEvents {
  'tool:start': ToolStarted;
  'tool:progress': ToolStarted & { readonly progress: Progress };
  'tool:end': ToolStarted & { readonly result: Result; readonly ms: number };
  /** What the model may use is different from the next turn on: `beginTurn` makes it so. */
  'tools:changed': readonly AvailableTool[];
  /** A person is asked whether a call may be made; time does not count until the end. */
  'decision:start': DecisionRequest;
  'decision:end': DecisionEnded;
  /** A server asks something during a call. */
  'question:start': ServerQuestion;
  'question:end': ServerQuestion & { readonly outcome: string; readonly ms: number };
  /** The state of a connection. */
  server: { readonly server: string; readonly state: ConnectionState };
  /** Something a person should know, such as a rule that matches nothing. */
  warning: string;
}

/** A call that began. */
export interface ToolStarted {
  /** The same in every event of one call. */
  readonly id: string;
  /** Names the call in the record, and where a person is asked about it. */
  readonly call: string;
  readonly tool: string;
  readonly server: string | undefined;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The decision of a person, or that there was none. */
export interface DecisionEnded {
  readonly request: DecisionRequest;
  /** `undefined` where there was no answer. */
  readonly decision: Decision | undefined;
  readonly ms: number;
}

/** A question of a server. */
export interface ServerQuestion {
  /** The same when it begins and ends. */
  readonly id: string;
  readonly server: string;
  readonly kind: 'form' | 'url' | 'sample' | 'roots';
  /** What the person is asked, as far as it is a question to a person. */
  readonly message: string;
}

/** What can be set for one call of an agent. */
export interface AgentCallOptions {
  readonly id?: string;
  readonly signal?: AbortSignal;
}

/** A server of an agent, and how the connection to it stands. */
export interface AgentServerView {
  readonly name: string;
  readonly config: AgentServer;
  readonly state: ConnectionState;
  /** Instructions of the server: cleaned, capped and still not to be trusted. */
  readonly instructions: string | undefined;
  /** `undefined` while there is no connection. */
  readonly client: Client | undefined;
}

/** A tool of a server, and whether and how the model can use it. */
export interface ToolExplanation {
  /** `undefined` for a tool of this process. */
  readonly server: string | undefined;
  /** What the server itself calls it. */
  readonly name: string;
  /** What the model knows it by; `undefined` where it does not see it. */
  readonly shownAs: string | undefined;
  /** What happens to a call: it runs, a person is asked, or it is refused. */
  readonly verdict: Verdict | undefined;
  /** Why it is seen or not. */
  readonly reason: string;
}

/** A resource, a template or a prompt of a server, as it is listed. */
export type ListedReading = Readonly<Record<string, unknown>>;

/** An agent's side of its tools: what it may use, under the rules of its operator. */
export interface Agent {
  readonly name: string;
  readonly config: AgentConfig;
  /** How freely tools run: of these, the strictest counts for each call. */
  readonly modes: readonly SafetyMode[];
  /** Sorted by name; the same array until `beginTurn` publishes a change. */
  readonly availableTools: readonly AvailableTool[];
  readonly servers: readonly AgentServerView[];
  /** What people have allowed for a while. */
  readonly grants: Pick<Grants, 'list' | 'revoke'>;
  /** Publishes what has changed since the last turn, and returns the tools that the model may use from now on. */
  beginTurn(): readonly AvailableTool[];
  /** Every tool that servers list, with what the model sees of it and why. */
  explainTools(): readonly ToolExplanation[];
  /** What the model can see and why, for people. */
  describeExposedTools(): string;
  /** Calls a tool and returns its content; throws `ToolExecutionFailed` where the tool says it failed. */
  executeToolCall(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options?: AgentCallOptions,
  ): Promise<{ readonly content: readonly ContentBlock[]; readonly structuredContent?: unknown }>;
  /** Calls a tool and returns how it ended, refusals and failures too; only cancelling throws. */
  call(name: string, args: Readonly<Record<string, unknown>>, options?: AgentCallOptions): Promise<Result>;
  /** The resources and templates that the agent may read. */
  listResources(): Promise<readonly ListedReading[]>;
  /** The prompts that the agent may use, under the names they go by here. */
  listPrompts(): Promise<readonly ListedReading[]>;
  /** The contents of a resource that the agent may read. */
  readResource(uri: string, options?: AgentCallOptions): Promise<ListedReading>;
  /** The messages of a prompt that the agent may use. */
  getPrompt(
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: AgentCallOptions,
  ): Promise<ListedReading>;
  on<Name extends keyof AgentEvents>(name: Name, listener: (event: AgentEvents[Name]) => void): () => void;
  /** Ends every call and connection; nothing is left running. */
  close(): Promise<void>;
}
