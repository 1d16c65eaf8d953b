import { randomBytes } from 'node:crypto';
import { endEach, type Cancellation } from '../../base/cancellation.ts';
import type { Clock } from '../../base/clock.ts';
import { ownerOf, type Caller } from '../../core/caller.ts';
import { noteLongIntegers, notedLongIntegers, type LongIntegers } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { accident, ToolcribError } from '../../base/errors.ts';
import { readAnswer, type Asker } from '../../core/interview.ts';
import type { TaskRecord, TaskRecords } from '../../core/memory/memory.ts';
import type { Question } from '../../core/question.ts';
import { parseJson } from '../../base/parse-json.ts';
import { errorFacts, type JsonObject } from '../../protocol/wire/json-rpc.ts';
import { encodeQuestions, longIntegersOfQuestions } from './asking.ts';
import type { UnderstoodRequest } from '../request.ts';

const POLL_INTERVAL_MS = 500;

/** How a task ended: with a result, or with a protocol error. */
export type TaskOutcome =
  | { readonly result: JsonObject; readonly longIntegers?: LongIntegers | undefined }
  | { readonly error: ToolcribError };

/** Calls that continue after their request was answered; each is visible to its caller alone. */
export class Tasks {
  readonly #records: TaskRecords;
  readonly #clock: Clock;
  readonly #running = new Map<string, RunningTask>();
  /** How long a task may run and be fetched. */
  readonly ttlMs = 60 * 60_000;

  /** Called with every change of a task. */
  onChange: (record: TaskRecord) => void = () => {};

  constructor(records: TaskRecords, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Makes a task of a call; it can be fetched from now on. */
  async begin(request: UnderstoodRequest, cancellation: Cancellation): Promise<RunningTask> {
    const now = this.#clock.now();
    const record: TaskRecord = {
      id: randomBytes(16).toString('base64url'),
      owner: ownerOf(request.link.caller),
      status: 'working',
      createdAt: now,
      updatedAt: now,
      ttlMs: this.ttlMs,
    };
    await this.#records.put(record);
    const task = new RunningTask(record, request, { cancellation, save: (changed) => this.#save(changed) });
    this.#running.set(record.id, task);
    return task;
  }

  /** A caller's task; a foreign, expired or invented id gives the same answer. */
  async find(id: string, caller: Caller): Promise<TaskRecord> {
    const record = await this.#records.get(id);
    // Compared in any case: how long the answer takes must not tell a foreign task from none.
    const owner = record ? record.owner : NOBODY;
    if (owner === ownerOf(caller)) return record!;
    throw new ToolcribError('unknown_task', 'There is no such task.');
  }

  /** Hands a waiting task answers; what it did not ask is ignored. */
  async update(id: string, caller: Caller, responses: JsonObject): Promise<void> {
    await this.find(id, caller);
    await this.#running.get(id)?.take(responses);
  }

  /** Stops a task; one that is over stays as it is. */
  async cancel(id: string, caller: Caller): Promise<void> {
    await this.find(id, caller);
    await this.#running.get(id)?.cancel();
  }

  /** Stops every task that runs here. */
  stop(reason: Error): void {
    endEach(this.#running.values(), (task) => task.stop(reason));
  }

  async #save(record: TaskRecord): Promise<void> {
    const changed = { ...record, updatedAt: this.#clock.now() };
    try {
      await this.#records.put(changed);
    } finally {
      if (!isOpen(record.status)) this.#running.delete(record.id);
    }
    this.onChange(changed);
  }
}

// As long as the owner of a task usually is, and the owner of none.
const NOBODY = ':nobody/nobody';

interface TaskControls {
  readonly cancellation: Cancellation;
  readonly save: (record: TaskRecord) => Promise<void>;
}

/** A task while its call runs in this process. */
export class RunningTask implements Asker {
  readonly #request: UnderstoodRequest;
  readonly #controls: TaskControls;
  #record: TaskRecord;
  readonly #waiting = new Map<string, Waiting>();
  #saved: Promise<void> = Promise.resolve();

  constructor(record: TaskRecord, request: UnderstoodRequest, controls: TaskControls) {
    this.#record = record;
    this.#request = request;
    this.#controls = controls;
  }

  get record(): TaskRecord {
    return this.#record;
  }

  /** Stops the call behind it; how that ends is the task's end. */
  stop(reason: Error): void {
    this.#controls.cancellation.abort(reason);
  }

  /** Asks through the task and waits until every question has its answer; a call never asks twice under one key. */
  async ask(questions: ReadonlyMap<string, Question>): Promise<ReadonlyMap<string, unknown>> {
    const encoded = asJson(encodeQuestions(questions, this.#request));
    const answers = Promise.all(
      [...questions].map(async ([key, question]) => {
        const answer = new Promise<unknown>((resolve) => {
          this.#waiting.set(key, { question, resolve, request: encoded[key]! });
        });
        return [key, await this.#controls.cancellation.race(answer)] as const;
      }),
    );
    // The task may be stopped while it is being recorded that it waits.
    answers.catch(() => {});
    await this.#tellWaiting();
    return new Map(await answers);
  }

  /** Takes the answers it waits for. */
  async take(responses: JsonObject): Promise<void> {
    const before = this.#waiting.size;
    for (const [name, { question, resolve }] of this.#waiting) {
      const response = Object.hasOwn(responses, name) ? responses[name] : undefined;
      if (response === undefined || readAnswer(question, response) === undefined) continue;
      this.#waiting.delete(name);
      resolve(response);
    }
    if (this.#waiting.size < before) await this.#tellWaiting();
  }

  /** Stops the call and marks the task. */
  async cancel(): Promise<void> {
    if (!isOpen(this.#record.status)) return;
    this.#controls.cancellation.abort(new ToolcribError('cancelled', 'The task was cancelled.'));
    await this.#change({ status: 'cancelled' });
  }

  /** Records how the call ended. */
  async end(outcome: TaskOutcome): Promise<void> {
    if ('result' in outcome) {
      const { result, longIntegers } = outcome;
      return this.#change({
        status: 'completed',
        result,
        ...(longIntegers && { longIntegers: { result: longIntegers } }),
      });
    }
    const error = errorFacts(outcome.error);
    const longs = notedLongIntegers(error);
    return this.#change({ status: 'failed', error, ...(longs && { longIntegers: { error: longs } }) });
  }

  #tellWaiting(): Promise<void> {
    const requests = Object.fromEntries([...this.#waiting].map(([name, { request }]) => [name, request]));
    if (this.#waiting.size === 0) return this.#change({ status: 'working' });
    const longIntegers = longIntegersOfQuestions(requests);
    return this.#change({
      status: 'input_required',
      inputRequests: requests,
      ...(longIntegers && { longIntegers }),
    });
  }

  // A task that has ended does not change any more. Changes are saved one after the other, in order.
  #change(change: Partial<TaskRecord>): Promise<void> {
    if (!isOpen(this.#record.status)) return this.#saved;
    const { inputRequests: _answered, longIntegers: _theirs, ...rest } = this.#record;
    const record: TaskRecord = { ...rest, ...change };
    this.#record = record;
    const save = (): Promise<void> => this.#controls.save(record);
    this.#saved = this.#saved.then(save, save);
    return this.#saved;
  }
}

// A question is stored and sent later by other code, so a question that is not JSON must fail here, in the tool.
function asJson(questions: Record<string, JsonObject>): Record<string, JsonObject> {
  try {
    const copy = parseJson(JSON.stringify(questions)) as Record<string, JsonObject>;
    for (const [key, { params }] of Object.entries(copy)) {
      const asked = questions[key]!['params'];
      if (isObject(params) && isObject(asked)) noteLongIntegers(params, notedLongIntegers(asked));
    }
    return copy;
  } catch (cause) {
    throw accident('tool_failed', 'The tool asked something that is not JSON', cause);
  }
}

interface Waiting {
  readonly question: Question;
  readonly request: JsonObject;
  readonly resolve: (answer: unknown) => void;
}

/** A task as the protocol shows it; its long integers are noted of it. */
export function encodeTask(record: TaskRecord): JsonObject {
  const { id, status, createdAt, updatedAt, ttlMs, inputRequests, result, error } = record;
  const task = {
    taskId: id,
    status,
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
    ttlMs,
    pollIntervalMs: POLL_INTERVAL_MS,
    inputRequests,
    result,
    error,
  };
  noteLongIntegers(task, record.longIntegers);
  return task;
}

function isOpen(status: TaskRecord['status']): boolean {
  return status === 'working' || status === 'input_required';
}
