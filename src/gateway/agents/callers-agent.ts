import { Cancellation } from '../../base/cancellation.ts';
import { accident, ToolcribError } from '../../base/errors.ts';
import { Listeners } from '../../client/listeners.ts';
import { absentTool, isAbsent } from '../../core/absent-tool.ts';
import { askerOf, consentArgument, withoutConsent } from '../../core/authoring/confirmation.ts';
import type { ToolCall } from '../../core/call.ts';
import { Interview } from '../../core/interview.ts';
import { makeCall } from '../../core/make-call.ts';
import { CallRecord } from '../../core/record.ts';
import { canDo } from '../../core/requirement.ts';
import { failed, type Result } from '../../core/result.ts';
import type { ToolSource } from '../../core/source.ts';
import { describeTool, type Tool } from '../../core/tool.ts';
import type { AgentCallOptions, AgentEvents, AvailableTool } from '../../host/agent.ts';
import type { AgentConfig } from '../../host/agent-config.ts';
import type { RunnableAgent } from '../../host/loop/run-options.ts';
import { reportingVoice } from '../../host/tools/agent-calls.ts';
import type { Log } from '../../observe/log.ts';
import { verdictOn } from '../../stages/approve/which-calls.ts';
import { PersonBehind } from './person-behind.ts';

/** The parts of an agent that answers one call. */
export interface CallersAgentParts {
  readonly config: AgentConfig;
  /** The call that asks it: everything is done for its caller, and ends with it. */
  readonly outer: ToolCall;
  /** What its caller may use: the tools behind all stages. */
  readonly source: Pick<ToolSource, 'list' | 'find' | 'call'>;
  /** Whether the agent may use a tool that its caller may use. */
  readonly isGranted: (tool: Tool) => boolean;
  /** Told of a call before it is made, by the id of the model's request. */
  readonly onCall: (record: CallRecord, id: string) => void;
  readonly log: Log;
}

type Arguments = Readonly<Record<string, unknown>>;

/** An agent at work for a caller: its tools are those of the caller, and its calls take the line of any other call. */
export class CallersAgent implements RunnableAgent {
  readonly config: AgentConfig;
  readonly servers = [];
  readonly #parts: CallersAgentParts;
  readonly #listeners: Listeners<AgentEvents>;
  readonly #person: PersonBehind;
  readonly #known = new WeakMap<Tool, AvailableTool>();
  #tools: readonly AvailableTool[] = [];
  #questions = 0;

  constructor(parts: CallersAgentParts) {
    const { config, outer, log } = parts;
    this.#parts = parts;
    this.config = config;
    this.#listeners = new Listeners((error) => log('error', 'A listener failed.', { error }));
    this.#person = new PersonBehind(outer, config.name, (kind, message) => this.#open(kind, message));
  }

  get name(): string {
    return this.config.name;
  }

  beginTurn(): readonly AvailableTool[] {
    return this.#tools;
  }

  on<Name extends keyof AgentEvents>(name: Name, listener: (event: AgentEvents[Name]) => void): () => void {
    return this.#listeners.on(name, listener);
  }

  /** Looks again at what the caller may use; the model sees it from its next turn on. */
  async refresh(): Promise<void> {
    const { source, outer, isGranted } = this.#parts;
    const tools = (await source.list(outer.caller)).filter(isGranted).map((tool) => this.#shown(tool));
    const isSame =
      tools.length === this.#tools.length && tools.every((tool, index) => tool === this.#tools[index]);
    if (!isSame) this.#tools = Object.freeze(tools);
  }

  async call(name: string, args: Arguments, options: AgentCallOptions = {}): Promise<Result> {
    try {
      return await this.#agreedTo(await this.#find(name), args, options);
    } catch (error) {
      const known = this.#logged(error, name);
      if (known.code === 'cancelled' && options.signal?.aborted) throw known;
      return failed(known.message);
    } finally {
      await this.refresh().catch((cause: unknown) =>
        this.#parts.log('warn', `The tools of the agent ${this.name} cannot be listed.`, { cause }),
      );
    }
  }

  // A tool that the model was not shown is unknown to it, and its call is recorded like that of any unknown name.
  async #find(name: string): Promise<Tool> {
    const { source, outer, isGranted } = this.#parts;
    const found = this.#tools.some((tool) => tool.name === name)
      ? await source.find(name, outer.caller)
      : undefined;
    return found && isGranted(found) ? found : absentTool(name);
  }

  async #agreedTo(tool: Tool, args: Arguments, options: AgentCallOptions): Promise<Result> {
    if (isAbsent(tool)) return (await this.#perform(tool, args, options)).result;
    const verdict = verdictOn(tool, [this.config.mode ?? 'autonomous']);
    if (verdict === 'refuse') return failed(notProven(tool));
    const given = askerOf(tool) ? withoutConsent(tool, args) : args;
    if (verdict === 'ask') {
      const answer = await this.#person.allows(tool, given);
      if (answer !== true) return failed(answer === false ? denied(tool) : nobodyToAsk(tool));
      const agreed = askerOf(tool) ? { ...given, [consentArgument(tool)]: true } : given;
      return (await this.#perform(tool, agreed, options)).result;
    }
    const { result, record } = await this.#perform(tool, given, options);
    // A confirmation by a model without a user does not count: the person behind its caller is asked.
    if (record.refusal !== 'approval_required' || !askerOf(tool)) return result;
    const answer = await this.#person.allows(tool, given);
    if (answer !== true) return failed(answer === false ? denied(tool) : nobodyToAsk(tool));
    return (await this.#perform(tool, { ...given, [consentArgument(tool)]: true }, options)).result;
  }

  async #perform(
    tool: Tool,
    args: Arguments,
    { id = '', signal }: AgentCallOptions,
  ): Promise<{ readonly result: Result; readonly record: CallRecord }> {
    const { outer, source, onCall } = this.#parts;
    const { caller, client } = outer;
    const missing = tool.requires?.filter((requirement) => !canDo(client.capabilities, requirement)) ?? [];
    if (missing.length > 0)
      throw new ToolcribError('cannot_ask', `This needs a client that can do ${missing.join(' and ')}.`);
    const record = new CallRecord('first', outer.record);
    const cancellation = new Cancellation();
    const stop = (): void =>
      cancellation.withdraw(new ToolcribError('cancelled', 'The call of the agent was stopped.'));
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    onCall(record, id);
    const started = { id, call: record.id, tool: tool.name, server: tool.place?.source, arguments: args };
    const voice = reportingVoice((progress) =>
      this.#listeners.tell('tool:progress', { ...started, progress }),
    );
    const interview = new Interview(undefined, this.#person);
    try {
      const call = makeCall(
        { kind: 'tool', tool, arguments: args },
        { caller, client, cancellation, record, interview, voice },
      );
      return { result: await cancellation.race(Promise.resolve(source.call(call))), record };
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  #shown(tool: Tool): AvailableTool {
    const known = this.#known.get(tool);
    if (known) return known;
    const { place } = tool;
    const shown: AvailableTool = Object.freeze({
      ...describeTool(tool),
      inputSchema: withoutConsentIn(tool),
      from: place ?? { source: undefined, name: tool.name },
      isTrusted: place === undefined || this.config.servers[place.source]?.trust === 'trusted',
    });
    this.#known.set(tool, shown);
    return shown;
  }

  // The working time stops while a person is asked.
  #open(kind: 'form' | 'url' | 'sample' | 'roots', message: string): () => void {
    const question = { id: `question-${++this.#questions}`, server: this.name, kind, message };
    this.#listeners.tell('question:start', question);
    return () => this.#listeners.tell('question:end', { ...question, outcome: 'answered', ms: 0 });
  }

  #logged(error: unknown, tool: string): ToolcribError {
    const known =
      error instanceof ToolcribError ? error : accident('tool_failed', `${tool} failed unexpectedly`, error);
    const { message, code, incident, cause } = known;
    if ('cause' in known) this.#parts.log('error', message, { target: tool, code, incident, cause });
    return known;
  }
}

// Consent is the person's to give, so the model has no argument for it.
function withoutConsentIn(tool: Tool): AvailableTool['inputSchema'] {
  if (!askerOf(tool)) return tool.inputSchema;
  const { [consentArgument(tool)]: _consent, ...properties } = tool.inputSchema.properties ?? {};
  return { ...tool.inputSchema, properties };
}

function notProven({ name }: Tool): string {
  return `Nothing was done: ${name} is not proven to be read-only, and you are restricted to tools that are. Go on without it.`;
}

function denied({ name }: Tool): string {
  return `Nothing was done: the person you work for denied this call of ${name}. Do not repeat it; go on without it.`;
}

function nobodyToAsk({ name }: Tool): string {
  return `Nothing was done: a person has to agree to this call of ${name}, and nobody can be asked here. Do not repeat it; go on without it, and say so in your answer.`;
}
