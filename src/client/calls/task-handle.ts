import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { longIntegersAt, noteLongIntegers, notedLongIntegers } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { notedResult, rawResultOf } from '../../protocol/decode/message.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { CallResult } from './call-result.ts';
import type { Connection, SendOptions } from '../connection.ts';
import { Cancelled, RemoteError, ToolTimeout } from '../errors.ts';
import type { Received } from '../../protocol/decode/received.ts';
import { paramsOf, pause, type AskedQuestions } from './rounds.ts';
import type { ServerQuestions } from '../server-questions.ts';

/** How far a task is. */
export interface TaskState {
  readonly taskId: string;
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  readonly statusMessage?: string;
  readonly [field: string]: unknown;
}

/** What a task is followed with. */
export interface TaskParts {
  readonly connection: Connection;
  readonly questions: Pick<ServerQuestions, 'answerAll'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** What goes with every request about the task. */
  readonly send?: SendOptions;
  /** The longest a task is followed. */
  readonly maxMs: number;
}

const SHORTEST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 30_000;
const USUAL_WAIT_MS = 1_000;

/** A call that continues at the server after its request was answered. */
export class TaskHandle {
  readonly id: string;
  readonly #parts: TaskParts;
  readonly #isOld: boolean;
  readonly #answered = new Set<string>();
  #waitMs: number;

  constructor(task: JsonObject, parts: TaskParts) {
    this.id = readId(task);
    this.#parts = parts;
    this.#isOld = parts.connection.dialect?.era === 'legacy';
    this.#waitMs = waitOf(task);
  }

  /** How far it is. */
  async state(): Promise<TaskState> {
    return (await this.#get()).result as TaskState;
  }

  /** Waits for the end, and answers questions meanwhile. */
  async result(): Promise<CallResult> {
    return new CallResult(await this.received());
  }

  /** The same, as it came. */
  async received(): Promise<Received> {
    const until = this.#parts.clock.ticks() + this.#parts.maxMs;
    for (;;) {
      const received = await this.#get();
      const ending = await this.#follow(received);
      if (ending) return ending;
      if (this.#parts.clock.ticks() > until)
        throw new ToolTimeout(`The task did not end within ${this.#parts.maxMs / 1000} s.`);
      await pause(this.#parts.clock, this.#waitMs, this.#parts.signal);
    }
  }

  /** Asks the server to stop; whether it does, its state tells. */
  async cancel(): Promise<void> {
    await this.#parts.connection.request('tasks/cancel', { taskId: this.id }, this.#parts.send);
  }

  async #get(): Promise<Received> {
    const received = await this.#parts.connection.request(
      'tasks/get',
      { taskId: this.id },
      { ...this.#parts.send, signal: this.#parts.signal },
    );
    this.#waitMs = waitOf(received.result);
    return received;
  }

  async #follow(received: Received): Promise<Received | undefined> {
    const { result: task, bytes, hasLongNumbers = false } = received;
    switch (task['status']) {
      case 'working':
        return undefined;
      case 'input_required':
        // The old generation asks on the stream of the result.
        if (this.#isOld) return this.#fetchResult();
        await this.#answer(notedResult(received));
        return undefined;
      case 'completed':
        return this.#isOld
          ? this.#fetchResult()
          : { result: readResult(task), bytes: innerResult(bytes), hasLongNumbers };
      case 'failed':
        if (this.#isOld) return this.#fetchResult();
        throw failureOf(notedResult(received));
      case 'cancelled':
        throw new Cancelled(undefined, 'The task was cancelled.');
      default:
        throw new ToolcribError('invalid_answer', 'The server says nothing about how far a task is.');
    }
  }

  #fetchResult(): Promise<Received> {
    const { connection, signal, maxMs, send } = this.#parts;
    const options = { ...send, signal, timeoutMs: maxMs };
    return connection.request('tasks/result', { taskId: this.id }, options);
  }

  // A question stays there until the answer has arrived, so one may be seen twice.
  async #answer(task: JsonObject): Promise<void> {
    const { inputRequests: asked } = task;
    const longs = longIntegersAt(notedLongIntegers(task), 'inputRequests');
    const open = Object.entries(isObject(asked) ? asked : {}).filter(([key]) => !this.#answered.has(key));
    if (open.length === 0) return;
    const questions: AskedQuestions = Object.fromEntries(
      open.flatMap(([key, question]) =>
        isObject(question) && typeof question['method'] === 'string'
          ? [
              [
                key,
                {
                  method: question['method'],
                  params: paramsOf(question, longIntegersAt(longs, key)),
                },
              ],
            ]
          : [],
      ),
    );
    const inputResponses = await this.#parts.questions.answerAll(questions, this.#parts.signal);
    for (const [key] of open) this.#answered.add(key);
    const { connection, send } = this.#parts;
    await connection.request('tasks/update', { taskId: this.id, inputResponses }, send);
  }
}

/** The task a call was answered with, in either generation; `undefined` where it was answered with a result. */
export function taskOf(result: JsonObject): JsonObject | undefined {
  if (result['resultType'] === 'task') return result;
  const { task } = result;
  return isObject(task) && typeof task['taskId'] === 'string' && !('content' in result) ? task : undefined;
}

function readId({ taskId }: JsonObject): string {
  if (typeof taskId === 'string' && taskId.length > 0 && taskId.length <= 4_096) return taskId;
  throw new ToolcribError('invalid_answer', 'The server answered with a task that has no id.');
}

function readResult({ result }: JsonObject): JsonObject {
  if (isObject(result)) return result;
  throw new ToolcribError('invalid_answer', 'The server ended a task without a result.');
}

function failureOf(task: JsonObject): RemoteError {
  const { error, statusMessage } = task;
  if (!isObject(error)) return new RemoteError({ message: statusMessage });
  noteLongIntegers(error, longIntegersAt(notedLongIntegers(task), 'error'));
  return new RemoteError(error);
}

// The result of a task is a member of the task, which is the result of the message.
function innerResult(bytes: Uint8Array): Uint8Array {
  return Buffer.from(rawResultOf(bytes) ?? '{}');
}

function waitOf({ pollIntervalMs, pollInterval }: JsonObject): number {
  const ms = pollIntervalMs ?? pollInterval;
  return typeof ms === 'number' && ms >= 0
    ? Math.min(Math.max(ms, SHORTEST_WAIT_MS), LONGEST_WAIT_MS)
    : USUAL_WAIT_MS;
}
