import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { withLongIntegers } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import type { ToolCall } from '../../core/call.ts';
import type { ListedTool } from '../../core/tool.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { argumentHeaders } from './argument-headers.ts';
import { CallResult } from './call-result.ts';
import type { Connection, SendOptions } from '../connection.ts';
import { RemoteError, toToolError } from '../errors.ts';
import type { Received } from '../../protocol/decode/received.ts';
import { checkArguments, resultProblem } from './known-tools.ts';
import type { RequestOptions, Timeouts } from '../options.ts';
import type { PagedList } from '../paged-list.ts';
import { afterPages } from './required-pages.ts';
import { throughRounds } from './rounds.ts';
import { unlessStopped, type ServerQuestions } from '../server-questions.ts';
import { TaskHandle, taskOf } from './task-handle.ts';

/** The parts that calls of tools need. */
export interface ToolCallParts {
  readonly connection: Connection;
  readonly tools: PagedList<ListedTool>;
  /** What the server declared. */
  capabilities(): JsonObject;
  readonly questions: ServerQuestions;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly maxRounds: number;
  readonly checksArguments: boolean;
  readonly checksResults: 'off' | 'warn' | 'strict';
  onWarning(text: string): void;
}

const GIVEN_UP: ReadonlySet<string> = new Set(['cancelled', 'timed_out']);
const NEVER = new AbortController().signal;

/** Calls the tools of one server: checks, sends, answers questions, follows tasks. */
export class ToolCalls {
  readonly #parts: ToolCallParts;
  #index = new Map<string, ListedTool>();
  #indexed: readonly ListedTool[] | undefined;

  constructor(parts: ToolCallParts) {
    this.#parts = parts;
  }

  /** Calls a tool and waits for its result, also where it becomes a task. */
  async call(name: string, args: JsonObject, options: RequestOptions): Promise<CallResult> {
    const { tools, checksArguments } = this.#parts;
    const tool = tools.latest || !checksArguments ? this.known(name) : await this.#find(name, options);
    const received = await this.#send(name, args, { tool, options });
    const task = received.result['resultType'] === 'complete' ? undefined : taskOf(received.result);
    const result = task ? await this.#follow(task, options) : new CallResult(received);
    this.#check(name, tool, result);
    return result;
  }

  /** Sends a call of a source once, with the members that a further round adds; the answer is not checked here. */
  sendOnce(call: ToolCall, extra: JsonObject, options: SendOptions): Promise<Received> {
    const { connection } = this.#parts;
    const { name } = call.tool;
    const args = call.longIntegers
      ? (withLongIntegers(call.arguments, call.longIntegers) as JsonObject)
      : call.arguments;
    if (connection.dialect?.era === 'modern') {
      const tool = this.known(name) ?? call.tool;
      const headers = argumentHeaders(tool.inputSchema, args);
      const params = { name, arguments: args, ...extra };
      return connection.request('tools/call', params, headers ? { ...options, headers } : options);
    }
    const listed = call.tool.extraFields;
    const isTask = taskSupport(listed) === 'required' && this.#mayBeTask(listed);
    const params = { name, arguments: args, ...(isTask && { task: {} }), ...extra };
    return connection.request('tools/call', params, options);
  }

  /** Fetches the definitions again. */
  async reload(): Promise<void> {
    await this.#parts.tools.load();
  }

  // Nobody else knows this task, so it is cancelled if its result is no longer awaited.
  async #follow(task: JsonObject, options: RequestOptions): Promise<CallResult> {
    const handle = this.#task(task, options);
    try {
      return await handle.result();
    } catch (error) {
      const isGivenUp = error instanceof ToolcribError && GIVEN_UP.has(error.code);
      if (isGivenUp) handle.cancel().catch(() => {});
      throw error;
    }
  }

  /** Calls a tool as a task; a server that answers at once is an error. */
  async start(name: string, args: JsonObject, options: RequestOptions): Promise<TaskHandle> {
    const tool = await this.#find(name, options);
    if (!this.#mayBeTask(tool))
      throw new ToolcribError(
        'missing_capability',
        `The server does not run "${name}" as a task; call it instead.`,
      );
    const received = await this.#send(name, args, { tool, options, wantsTask: true });
    const task = taskOf(received.result);
    if (task) return this.#task(task, options);
    throw new ToolcribError('invalid_answer', `"${name}" answered at once instead of as a task.`);
  }

  /** The definition of a tool, if it was listed. */
  known(name: string): ListedTool | undefined {
    const { latest } = this.#parts.tools;
    if (latest !== this.#indexed) {
      this.#indexed = latest;
      this.#index = new Map(latest?.map((tool) => [tool.name, tool]));
    }
    return this.#index.get(name);
  }

  // Definitions are needed once: for the check of arguments, and for headers that repeat them.
  async #find(name: string, { signal = NEVER }: RequestOptions): Promise<ListedTool | undefined> {
    if (this.#parts.tools.latest || !this.#parts.checksArguments) return this.known(name);
    try {
      await unlessStopped(signal, this.#parts.tools.load());
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
    }
    return this.known(name);
  }

  async #send(name: string, args: JsonObject, call: Sent): Promise<Received> {
    const request = this.#prepare(name, args, call);
    try {
      // Few layers here: each would cost as much as reading the answer.
      const first = await this.#parts.connection.request('tools/call', request.params, request.options);
      return first.result['resultType'] === 'complete' ? first : await this.#throughRounds(first, request);
    } catch (error) {
      const isOutdated = error instanceof RemoteError && error.number === -32020;
      if (!isOutdated) return this.#afterPages(error, name, request);
    }
    // The server wants other headers than the definition we know asked for; it has not run the tool.
    await this.#parts.tools.load();
    const again = this.#prepare(name, args, { ...call, tool: this.known(name) });
    try {
      const first = await this.#parts.connection.request('tools/call', again.params, again.options);
      return await this.#throughRounds(first, again);
    } catch (error) {
      return this.#afterPages(error, name, again);
    }
  }

  async #afterPages(refusal: unknown, name: string, { params, options }: Prepared): Promise<Received> {
    const { connection, questions, maxRounds, clock } = this.#parts;
    const send = (): Promise<Received> => connection.request('tools/call', params, options);
    try {
      return await afterPages(refusal, send, {
        questions,
        maxRounds,
        clock,
        signal: options.signal ?? NEVER,
      });
    } catch (error) {
      throw toToolError(error, name);
    }
  }

  #prepare(name: string, args: JsonObject, { tool, options, wantsTask = false }: Sent): Prepared {
    const { connection, checksArguments } = this.#parts;
    if (tool && checksArguments) checkArguments(tool, args);
    const isModern = connection.dialect?.era === 'modern';
    const headers = isModern && tool ? argumentHeaders(tool.inputSchema, args) : undefined;
    const isTask = !isModern && (wantsTask || (taskSupport(tool) === 'required' && this.#mayBeTask(tool)));
    return {
      params: isTask ? { name, arguments: args, task: {} } : { name, arguments: args },
      options: headers ? { ...options, headers } : options,
    };
  }

  // In the newest revision the server decides; in older ones the definition of each tool tells.
  #mayBeTask(tool: object | undefined): boolean {
    if (this.#parts.connection.dialect?.era === 'modern') return true;
    const declared = valueIn(this.#parts.capabilities(), ['tasks', 'requests', 'tools', 'call']);
    return isObject(declared) && ['optional', 'required'].includes(String(taskSupport(tool)));
  }

  #throughRounds(first: Received, { params, options }: Prepared): Promise<Received> {
    const { connection, questions, maxRounds, clock } = this.#parts;
    const send = (extra: JsonObject): Promise<Received> =>
      connection.request('tools/call', { ...params, ...extra }, options);
    return throughRounds(first, send, { questions, maxRounds, signal: options.signal ?? NEVER, clock });
  }

  #task(task: JsonObject, { signal = NEVER, timeoutMs }: RequestOptions): TaskHandle {
    const { connection, questions, clock, timeouts } = this.#parts;
    const maxMs = Math.max(timeoutMs ?? 0, timeouts.absoluteMs);
    return new TaskHandle(task, { connection, questions, clock, signal, maxMs });
  }

  #check(name: string, tool: ListedTool | undefined, result: CallResult): void {
    const { checksResults } = this.#parts;
    if (checksResults === 'off') return;
    const problem = resultProblem(tool, result);
    if (problem === undefined) return;
    const text = `The result of "${name}" ${problem}.`;
    if (checksResults === 'warn') this.#parts.onWarning(text);
    else throw new ToolcribError('invalid_answer', text, { data: { result: result.raw } });
  }
}

interface Sent {
  readonly tool: ListedTool | undefined;
  readonly options: RequestOptions;
  readonly wantsTask?: boolean;
}

interface Prepared {
  readonly params: JsonObject;
  readonly options: SendOptions;
}

function taskSupport(tool: object | undefined): unknown {
  return valueIn(tool, ['execution', 'taskSupport']);
}

function valueIn(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), value);
}
