import type { NameRule } from '../config/agents.ts';
import type { ServerEntry } from '../config/servers.ts';
import type { JsonSchema } from '../schema/schema.ts';
import type { SafetyMode } from '../stages/approve/decision.ts';

export type { NameRule } from '../config/agents.ts';
export type { SafetyMode } from '../stages/approve/decision.ts';

/** A server that an agent uses, and what it may use of it. */
export interface AgentServer {
  readonly entry: ServerEntry;
  readonly tools: NameRule;
  readonly resources: NameRule;
  readonly prompts: NameRule;
  /** Hints of a trusted server count; those of others never make a rule looser. */
  readonly trust: 'trusted' | 'untrusted';
  readonly parallel: 'read-only' | 'all' | 'none';
  /** Whether the model sees its definitions at once, or only their names until it asks. */
  readonly load: 'always' | 'defer' | 'auto';
  /** The pause before a connection that failed several times is tried again; 0 means it is not. */
  readonly retryMs: number;
}

/** How the tools of several servers are named: with the server's name in front on collisions, always or never. */
export type Prefix = 'collisions' | 'always' | 'never';

/** Bounds of one run, shared with the agents it asks; `undefined` means no bound. */
export interface AgentLimits {
  readonly turns: number;
  readonly calls: number | undefined;
  readonly tokens: number | undefined;
  /** In the currency of the price table. */
  readonly money: number | undefined;
  /** Time at work: waiting for a person does not count. */
  readonly seconds: number | undefined;
}

/** Which model an agent uses, as far as its file says. */
export interface ModelChoice {
  /** As written; `undefined` where the file leaves it open, or says `inherit`. */
  readonly name: string | undefined;
  readonly api: 'openai-chat' | 'openai-responses' | 'anthropic-messages' | undefined;
  readonly baseUrl: string | undefined;
  /** The environment variable that holds the key. */
  readonly keyVariable: string | undefined;
  readonly maxOutputTokens: number | undefined;
}

/** The formats that agents are read from. */
export type AgentFormat =
  | 'toolcrib'
  | 'claude-code'
  | 'copilot'
  | 'opencode'
  | 'gemini'
  | 'fast-agent'
  | 'docker-agent'
  | 'amazon-q';

/** One agent, whichever file it came from. */
export interface AgentConfig {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly format: AgentFormat;
  /** The file it was read from; `undefined` for one that was written in code. */
  readonly file: string | undefined;
  readonly model: ModelChoice;
  readonly servers: Readonly<Record<string, AgentServer>>;
  /** The tools of the process it runs in that it may use, where its file says which. */
  readonly ownTools?: NameRule;
  readonly prefix: Prefix;
  /** The loosest mode the file accepts; the operator's own is never loosened by it. */
  readonly mode: SafetyMode | undefined;
  readonly limits: AgentLimits;
  /** Names or files of agents that it may ask, as tools `ask_<name>`. */
  readonly agents: readonly string[];
  readonly outputSchema: JsonSchema | undefined;
  /** Whether skills of its servers are offered to the model. */
  readonly skills: boolean;
  /** What a person should know: fields that were not honoured, names that are unknown here. */
  readonly notes: readonly string[];
  /** Keys that nothing here reads, kept for `--explain`. */
  readonly unknown: Readonly<Record<string, unknown>>;
}
