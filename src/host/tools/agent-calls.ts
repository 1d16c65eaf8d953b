import { Cancellation } from '../../base/cancellation.ts';
import type { Clock } from '../../base/clock.ts';
import { accident, ToolcribError } from '../../base/errors.ts';
import type { Listeners } from '../../client/listeners.ts';
import { capabilitiesOf, type QuestionHandlers } from '../../client/question-handlers.ts';
import { absentPrompt, absentResource, absentTool } from '../../core/absent-tool.ts';
import type { Call, Clean, Voice } from '../../core/call.ts';
import type { Caller } from '../../core/caller.ts';
import { Interview } from '../../core/interview.ts';
import { calledThing, makeCall, type GivenParts } from '../../core/make-call.ts';
import { CallRecord } from '../../core/record.ts';
import { failed, type Result } from '../../core/result.ts';
import type { ToolSource } from '../../core/source.ts';
import type { Log } from '../../observe/log.ts';
import type { AgentCallOptions, AgentEvents, ListedReading, ToolStarted } from '../agent.ts';
import { askerFor } from './server-handlers.ts';
import type { ToolList } from './tool-list.ts';

/** The parts that calls of an agent need. */
export interface AgentCallParts {
  readonly agent: string;
  /** The servers and own tools, merged and behind the stages. */
  readonly source: ToolSource;
  readonly tools: ToolList;
  readonly caller: Caller;
  readonly clock: Clock;
  /** Answers questions with the name of the asking side: a server, or the agent for tools of this process. */
  readonly handlersOf: (asker: string) => QuestionHandlers;
  readonly listeners: Listeners<AgentEvents>;
  readonly log: Log;
}

/** Makes the calls of an agent, and reports them. */
export class AgentCalls {
  readonly #parts: AgentCallParts;
  readonly #open = new Set<Cancellation>();
  #isClosed = false;

  constructor(parts: AgentCallParts) {
    this.#parts = parts;
  }

  /** Calls a tool. Refusals and failures on the way are thrown; a failure that the tool reports is returned. */
  async run(name: string, args: ToolStarted['arguments'], options: AgentCallOptions = {}): Promise<Result> {
    const { clock, listeners, tools } = this.#parts;
    const tool = tools.find(name) ?? absentTool(name);
    const record = new CallRecord();
    const started: ToolStarted = {
      id: options.id ?? record.id,
      call: record.id,
      tool: name,
      server: tool.place?.source,
      arguments: args,
    };
    const startedAt = clock.ticks();
    listeners.tell('tool:start', started);
    const end = (result: Result): void =>
      listeners.tell('tool:end', { ...started, result, ms: clock.ticks() - startedAt });
    const voice = reportingVoice((progress) => listeners.tell('tool:progress', { ...started, progress }));
    try {
      const result = await this.#perform(options, { record, voice }, (parts) =>
        makeCall({ kind: 'tool', tool, arguments: args }, parts),
      );
      end(result);
      return result;
    } catch (error) {
      const known = this.#known(error, name);
      end(asResult(known));
      throw known;
    }
  }

  /** Calls a tool. Every outcome is a result, except that a cancelled call throws. */
  async call(name: string, args: ToolStarted['arguments'], options: AgentCallOptions = {}): Promise<Result> {
    try {
      return await this.run(name, args, options);
    } catch (error) {
      const known = this.#known(error, name);
      if (known.code === 'cancelled') throw known;
      return asResult(known);
    }
  }

  /** Reads a resource. */
  async read(uri: string, options: AgentCallOptions = {}): Promise<ListedReading> {
    const { source, caller } = this.#parts;
    const found = await source.resources?.find(uri, caller);
    const { resource, variables } = found ?? { resource: absentResource(uri), variables: {} };
    return this.#reading(options, (parts) => makeCall({ kind: 'resource', resource, uri, variables }, parts));
  }

  /** Fills in a prompt. */
  async prompt(
    name: string,
    args: Readonly<Record<string, string>>,
    options: AgentCallOptions = {},
  ): Promise<ListedReading> {
    const { source, caller } = this.#parts;
    const prompt = (await source.prompts?.find(name, caller)) ?? absentPrompt(name);
    return this.#reading(options, (parts) => makeCall({ kind: 'prompt', prompt, arguments: args }, parts));
  }

  /** Stops every call under way, and refuses further ones. */
  close(): void {
    this.#isClosed = true;
    for (const cancellation of this.#open) cancellation.withdraw(cancelled());
  }

  async #reading(options: AgentCallOptions, make: (parts: GivenParts) => Call): Promise<ListedReading> {
    const result = await this.#perform(options, {}, make);
    return (result.kind === 'needs_input' ? {} : result.data) as ListedReading;
  }

  async #perform(
    { signal }: AgentCallOptions,
    more: Partial<GivenParts>,
    make: (parts: GivenParts) => Call,
  ): Promise<Result> {
    const { agent, source, caller, handlersOf } = this.#parts;
    if (this.#isClosed || signal?.aborted) throw cancelled();
    const cancellation = new Cancellation();
    const stop = (): void => cancellation.withdraw(cancelled());
    signal?.addEventListener('abort', stop, { once: true });
    this.#open.add(cancellation);
    const call = make({
      caller,
      cancellation,
      interview: new Interview(),
      client: {
        name: agent,
        version: undefined,
        protocolVersion: undefined,
        capabilities: capabilitiesOf(handlersOf(agent)),
      },
      ...more,
    });
    const server = calledThing(call).place?.source ?? agent;
    call.interview.askThrough(askerFor(handlersOf(server), { server, signal: cancellation.signal }));
    try {
      return await cancellation.race(Promise.resolve(source.call(call)));
    } finally {
      this.#open.delete(cancellation);
      signal?.removeEventListener('abort', stop);
    }
  }

  #known(error: unknown, tool: string): ToolcribError {
    if (error instanceof ToolcribError) return error;
    const unexpected = accident('tool_failed', `${tool} failed unexpectedly`, error);
    this.#parts.log('error', unexpected.message, { tool, cause: error });
    return unexpected;
  }
}

/** The error in a result, if the call ended with one instead of a result of its tool. */
export function errorOf(result: Result): ToolcribError | undefined {
  return errors.get(result);
}

const errors = new WeakMap<Result, ToolcribError>();

function asResult(error: ToolcribError): Result {
  const result = failed(error.message);
  errors.set(result, error);
  return result;
}

/** The voice of a call whose progress is reported here, cleaned. */
export function reportingVoice(report: NonNullable<Voice['report']>): Voice {
  let clean: Clean = (said) => said;
  return {
    report: (progress) => report(clean(progress)),
    cleanWith: (next) => (clean = next),
  };
}

function cancelled(): ToolcribError {
  return new ToolcribError('cancelled', 'The call was cancelled.');
}
