import type { Progress } from '../core/call.ts';
import type { ContentBlock } from '../core/content.ts';
import type { NamedPlace } from '../core/merge.ts';
import type { Result } from '../core/result.ts';
import type { ListedTool } from '../core/tool.ts';
import type { Client } from '../client/client.ts';
import type { ConnectionState } from '../client/state.ts';
import type { AgentConfig, AgentServer } from './agent-config.ts';

/** A tool an agent may use, under the name its model knows, and where it comes from. */
export interface AvailableTool extends ListedTool {
  /** The server and its own name for the tool; the server is `undefined` for a tool of this process. */
  readonly from: NamedPlace | { readonly source: undefined; readonly name: string };
  readonly isTrusted: boolean;
}

/** What is told while tools run. */
export interface AgentEvents {
  'tool:start': ToolStarted;
  'tool:progress': ToolStarted & { readonly progress: Progress };
  'tool:end': ToolStarted & { readonly result: Result; readonly ms: number };
  /** What the model may use is different from the next turn on. */
  'tools:changed': readonly AvailableTool[];
  /** How a connection stands. */
  server: { readonly server: string; readonly state: ConnectionState };
  /** Something a person should know, such as a rule that matches nothing. */
  warning: string;
}

/** A call that began. */
export interface ToolStarted {
  /** The same in every event of one call. */
  readonly id: string;
  readonly tool: string;
  readonly server: string | undefined;
  readonly arguments: Readonly<Record<string, unknown>>;
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

/** An agent's side of its tools: what it may use, under the rules of whoever runs it. */
export interface Agent {
  readonly name: string;
  readonly config: AgentConfig;
  /** Sorted by name; the same array until something changes. */
  readonly availableTools: readonly AvailableTool[];
  readonly servers: readonly AgentServerView[];
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
  on<Name extends keyof AgentEvents>(name: Name, listener: (event: AgentEvents[Name]) => void): () => void;
  close(): Promise<void>;
}
