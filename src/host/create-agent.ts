import { systemClock, type Clock } from '../base/clock.ts';
import { digest } from '../base/digest.ts';
import { ToolcribError } from '../base/errors.ts';
import { ToolExecutionFailed, toThrownError } from '../client/errors.ts';
import { Listeners } from '../client/listeners.ts';
import type { HttpOptions } from '../client/options.ts';
import type { QuestionHandlers } from '../client/question-handlers.ts';
import { localCaller, type Caller } from '../core/caller.ts';
import { merge } from '../core/merge.ts';
import { describePrompt } from '../core/prompts/prompt.ts';
import { describeResource, describeTemplate } from '../core/resources/resource.ts';
import type { Result } from '../core/result.ts';
import type { ToolSource } from '../core/source.ts';
import { withStages } from '../core/stage.ts';
import { governedName } from '../core/tool.ts';
import { stderrLog, steadyLog, type Log } from '../observe/log.ts';
import type { Secrets } from '../observe/secrets.ts';
import type { OnToolCall, SafetyMode } from '../stages/approve/decision.ts';
import { Grants } from '../stages/approve/grants.ts';
import type { Journal } from '../store/store.ts';
import type { Agent, AgentEvents, AgentServerView } from './agent.ts';
import type { AgentConfig, AgentServer } from './agent-config.ts';
import { AgentCalls } from './tools/agent-calls.ts';
import { AgentServers } from './tools/agent-servers.ts';
import { cleanReadings } from './tools/clean-definition.ts';
import { describeExposure, explainTools, type Exposure } from './tools/explain-tools.ts';
import { hostStages, type HostStageOptions } from './tools/host-stages.ts';
import { knownSecrets } from './tools/known-secrets.ts';
import { handlersFor, tellingQuestions } from './tools/server-handlers.ts';
import { recordStory } from './tools/story.ts';
import { tellingDecision } from './tools/telling-decision.ts';
import { ToolList } from './tools/tool-list.ts';

/** The settings of an agent by its operator. */
export interface CreateAgentOptions {
  /** Asks a person about a call; without it, what needs a person is refused. */
  readonly onToolCall?: OnToolCall;
  /** How freely tools run, `balanced` unless set; the agent's file can only make it stricter. */
  readonly mode?: SafetyMode;
  /** Tools of this process that the agent may use too; their names stay as they are. */
  readonly tools?: ToolSource;
  /** Where calls and decisions are recorded; nothing runs that cannot be recorded there. */
  readonly journal?: Journal;
  /** Answers what servers ask in the middle of a call. */
  readonly handlers?: QuestionHandlers;
  /** Further options of the connection to a server, such as how it signs in. */
  readonly connection?: (server: string, config: AgentServer) => HttpOptions;
  /** Told of events from the start on; `agent.on` comes too late for the first connections. */
  readonly listeners?: { readonly [Name in keyof AgentEvents]?: (event: AgentEvents[Name]) => void };
  readonly stages?: HostStageOptions;
  /** Secrets to take out of what is shown and recorded, beside those that servers are given. */
  readonly secrets?: Secrets;
  readonly caller?: Caller;
  /** How long servers may take to be ready; those that take longer join at a later turn. 10 seconds unless set. */
  readonly readyMs?: number;
  readonly clock?: Clock;
  readonly log?: Log;
  /** Closes the agent. */
  readonly signal?: AbortSignal;
}

const READY_MS = 10_000;

/** Makes an agent: connects to its servers and offers what it may use of them, under the rules of its operator. */
export async function createAgent(config: AgentConfig, options: CreateAgentOptions = {}): Promise<Agent> {
  const { signal, readyMs = READY_MS } = options;
  if (signal?.aborted) throw new ToolcribError('cancelled', 'The agent was stopped before it began.');
  const agent = new LiveAgent(config, options);
  try {
    await agent.start(readyMs);
    return agent;
  } catch (error) {
    await agent.close();
    throw error;
  }
}

class LiveAgent implements Agent {
  readonly config: AgentConfig;
  readonly modes: readonly SafetyMode[];
  readonly grants: Grants;
  readonly #listeners: Listeners<AgentEvents>;
  readonly #servers: AgentServers;
  readonly #source: ToolSource;
  readonly #tools: ToolList;
  readonly #calls: AgentCalls;
  readonly #caller: Caller;
  readonly #endRecord: () => void;
  readonly #unwatch: () => void;
  readonly #signal: AbortSignal | undefined;
  readonly #stop = (): void => void this.close();
  #hasStarted = false;
  #closing: Promise<void> | undefined;

  constructor(config: AgentConfig, options: CreateAgentOptions) {
    const { clock = systemClock, caller = localCaller, handlers = {}, mode = 'balanced', journal } = options;
    const log = steadyLog(options.log ?? stderrLog);
    this.config = config;
    this.#signal = options.signal;
    this.#signal?.addEventListener('abort', this.#stop, { once: true });
    this.modes = config.mode === undefined ? [mode] : [...new Set([mode, config.mode])];
    this.grants = new Grants(clock);
    this.#caller = caller;
    const listeners = (this.#listeners = createListeners(options, log));
    const secrets = knownSecrets(config.servers, options.secrets);
    const connection = options.connection ?? (() => ({}));
    const onQuestion = tellingQuestions(listeners, clock);
    const redact = (text: string): string => secrets.redact(text);
    const serverParts = { clock, listeners, handlers, onQuestion, redact, connection };
    this.#servers = new AgentServers(config.servers, serverParts);
    const merged = merge(this.#servers.sources, { prefix: config.prefix, own: options.tools });
    const stages = hostStages(options.stages ?? {}, {
      modes: this.modes,
      clock,
      secrets,
      journal,
      grants: this.grants,
      onToolCall: options.onToolCall && tellingDecision(options.onToolCall, listeners, clock),
      toolsOf: (server) => [...this.#tools.latest.values()].filter(({ place }) => place?.source === server),
      policyVersion: policyOf(config, this.modes),
    });
    this.#endRecord = stages.close;
    const source = (this.#source = withStages(merged, stages.inOrder));
    this.#tools = new ToolList((server) => config.servers[server]?.trust === 'trusted');
    if (journal) {
      const recordedName = (name: string): string => governedName(this.#tools.latest.get(name) ?? { name });
      recordStory({ journal, listeners, clock, caller, secrets, recordedName });
    }
    const agent = config.name;
    const handlersOf = (asker: string): QuestionHandlers => handlersFor(asker, handlers, onQuestion);
    const tools = this.#tools;
    this.#calls = new AgentCalls({ agent, source, tools, caller, clock, handlersOf, listeners, log });
    this.#unwatch = merged.watch!((change) => {
      if (change.kind === 'tools' && this.#hasStarted) void this.#update();
    });
  }

  get name(): string {
    return this.config.name;
  }

  get availableTools(): Agent['availableTools'] {
    return this.#tools.published;
  }

  get servers(): readonly AgentServerView[] {
    return this.#servers.views;
  }

  /** Connects to the servers, and publishes what they offer. */
  async start(readyMs: number): Promise<void> {
    await this.#servers.start(readyMs);
    this.#hasStarted = true;
    this.#tools.update(await this.#source.list(this.#caller));
    this.#tools.publish();
  }

  beginTurn(): Agent['availableTools'] {
    return this.#tools.publish();
  }

  explainTools(): ReturnType<Agent['explainTools']> {
    return explainTools(this.#exposure());
  }

  describeExposedTools(): string {
    return describeExposure(this.name, this.#exposure());
  }

  async executeToolCall(
    ...[name, args, options]: Parameters<Agent['executeToolCall']>
  ): ReturnType<Agent['executeToolCall']> {
    let result: Result;
    try {
      result = await this.#calls.run(name, args, options);
    } catch (error) {
      throw toThrownError(error, name);
    }
    return contentOf(result);
  }

  call(...[name, args, options]: Parameters<Agent['call']>): Promise<Result> {
    return this.#calls.call(name, args, options);
  }

  async listResources(): ReturnType<Agent['listResources']> {
    const { resources } = this.#source;
    if (!resources) return [];
    const [listed, templates] = await Promise.all([
      resources.list(this.#caller),
      resources.templates(this.#caller),
    ]);
    return cleanReadings([...listed.map(describeResource), ...templates.map(describeTemplate)]);
  }

  async listPrompts(): ReturnType<Agent['listPrompts']> {
    const listed = (await this.#source.prompts?.list(this.#caller)) ?? [];
    return cleanReadings(listed.map(describePrompt));
  }

  readResource(...[uri, options]: Parameters<Agent['readResource']>): ReturnType<Agent['readResource']> {
    return this.#calls.read(uri, options);
  }

  getPrompt(...[name, args = {}, options]: Parameters<Agent['getPrompt']>): ReturnType<Agent['getPrompt']> {
    return this.#calls.prompt(name, args, options);
  }

  on<Name extends keyof AgentEvents>(name: Name, listener: (event: AgentEvents[Name]) => void): () => void {
    return this.#listeners.on(name, listener);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#stop);
    this.#unwatch();
    this.#calls.close();
    await this.#servers.close();
    this.#endRecord();
    this.#listeners.clear();
  }

  // Published by `beginTurn`: a model that is in the middle of a turn keeps what it was shown.
  async #update(): Promise<void> {
    try {
      const tools = await this.#source.list(this.#caller);
      this.#tools.update(tools);
      this.grants.review(tools);
      this.#listeners.tell('tools:changed', this.#tools.next);
    } catch (error) {
      this.#listeners.tell('warning', `The changed tools cannot be used: ${String(error)}`);
    }
  }

  #exposure(): Exposure {
    const { modes, servers } = this;
    const { published, latest } = this.#tools;
    return { published, latest, modes, servers, heldBack: (server) => this.#servers.heldBack(server) };
  }
}

function createListeners({ listeners: given = {} }: CreateAgentOptions, log: Log): Listeners<AgentEvents> {
  const listeners = new Listeners<AgentEvents>((error) => log('error', 'A listener failed.', { error }));
  for (const [name, listener] of Object.entries(given))
    listeners.on(name as keyof AgentEvents, listener as (event: unknown) => void);
  return listeners;
}

// Of the rules alone: entries of servers hold credentials.
function policyOf({ servers, prefix }: AgentConfig, modes: readonly SafetyMode[]): string {
  const rules = Object.entries(servers).map(([name, { tools, resources, prompts, trust }]) => [
    name,
    tools,
    resources,
    prompts,
    trust,
  ]);
  return digest([rules, prefix, modes]).slice(0, 12);
}

function contentOf(result: Result): Awaited<ReturnType<Agent['executeToolCall']>> {
  if (result.kind === 'needs_input')
    throw new ToolcribError('cannot_ask', 'The tool asks for something that nobody here can answer.');
  const { content, data } = result;
  const blocks = content ?? [{ type: 'text' as const, text: JSON.stringify(data) ?? '' }];
  if (result.kind === 'failed') {
    const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
    throw new ToolExecutionFailed(text || 'The tool failed and gave no reason.', { data: { result } });
  }
  return { content: blocks, ...(data !== undefined && { structuredContent: data }) };
}
