import { andThen, orElse, whenOver, type Awaitable } from '../../base/awaitable.ts';
import { Deadlines } from '../../base/deadlines.ts';
import { accident, knownError, rowOf, ToolcribError, type ErrorCode } from '../../base/errors.ts';
import type { Call } from '../../core/call.ts';
import type { Caller } from '../../core/caller.ts';
import { Interview, type Asker, type QuestionCheck } from '../../core/interview.ts';
import { makeCall, targetName, type CallTarget } from '../../core/make-call.ts';
import type { Question } from '../../core/question.ts';
import { CallRecord } from '../../core/record.ts';
import { canDo } from '../../core/requirement.ts';
import { failed, type Done, type Failed, type Result } from '../../core/result.ts';
import { metaOf } from '../../protocol/wire/meta.ts';
import { readResumption } from '../../protocol/wire/params.ts';
import type { ServerParts } from '../parts.ts';
import type { UnderstoodRequest } from '../request.ts';
import { questionLimits } from '../caller-limit.ts';
import { askOnStream, encodeQuestions, requireCapabilities } from './asking.ts';
import type { ParkedCall } from './parked-calls.ts';
import { FIRST_ROUND, openRound, type QuestionRound } from './rounds.ts';
import { MAX_ROUNDS, type OpenedState } from './seal.ts';
import type { RunningTask } from './tasks.ts';
import { CallVoice, type ContinuingCall } from './voice.ts';
import { WaitingRoom } from './waiting-room.ts';

/** The outcome of running a call: it ended, or it continues as a task. */
export type Ended = Done | Failed | QuestionRound | Detached;

/** A call that continues after its request is answered. */
export interface Detached {
  readonly kind: 'detached';
  readonly task: RunningTask;
  readonly rest: Promise<Result>;
}

/** Runs calls, whatever their kind. */
export class Runner {
  readonly #parts: ServerParts;
  readonly #deadlines: Deadlines;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.#deadlines = new Deadlines(parts.clock);
  }

  /** Runs one call. What the model can act on comes back as a failed result; anything else is thrown. */
  run(request: UnderstoodRequest, target: CallTarget): Awaitable<Ended> {
    const { revision, message } = request;
    const resumption = revision.era === 'modern' ? readResumption(message.params) : undefined;
    if (!resumption) {
      request.link.hasBegun = true;
      return this.#start(request, target, FIRST_ROUND);
    }
    return openRound({ request, target }, resumption, this.#parts.seal).then((opened) => {
      const { parked } = opened;
      // A call that no longer waits never comes to the stages, so it must be counted as a request.
      const waiting = parked === undefined ? undefined : this.#parts.parked.take(parked, request.link.caller);
      request.link.hasBegun = true;
      const ended = waiting ? waiting.resume(request, opened) : this.#start(request, target, opened);
      return andThen(ended, (how) => (how.kind === 'needs_input' ? { ...how, round: opened.round } : how));
    });
  }

  #start(request: UnderstoodRequest, target: CallTarget, opened: OpenedState): Awaitable<Ended> {
    const { cancellation } = request.link;
    // A client that left meanwhile has no use for what the tool does.
    if (cancellation.reason) throw cancellation.reason;
    const run = new Run({ request, target, opened, parts: this.#parts, deadlines: this.#deadlines });
    return orElse(
      () => run.go(),
      (error) => run.fail(error),
    );
  }
}

// As long as a sealed state is valid.
const ANSWER_MS = 10 * 60_000;

function mayAskLive(target: CallTarget): boolean {
  if (target.kind === 'tool') return target.tool.asksLive === true;
  return target.kind !== 'completion';
}

async function failLater(error: unknown): Promise<never> {
  throw error;
}

interface RunOptions {
  readonly request: UnderstoodRequest;
  readonly target: CallTarget;
  readonly opened: OpenedState;
  readonly parts: ServerParts;
  readonly deadlines: Deadlines;
}

/** One call while it runs. */
class Run implements Asker, QuestionCheck, ContinuingCall, ParkedCall {
  readonly #call: Call;
  readonly #parts: ServerParts;
  readonly #deadlines: Deadlines;
  readonly #voice: CallVoice;
  readonly canDetach: boolean;
  readonly canPark: boolean;
  #round: number;
  #request: UnderstoodRequest;
  #room: WaitingRoom | undefined;
  /** The call at its source, if that did not answer at once. */
  #work: Promise<Result> | undefined;
  /** Answers the request while the call goes on: as a task, or with questions. */
  #answer: ((how: Ended | Promise<Ended>) => void) | undefined;
  #stopDeadline: (() => void) | undefined;
  #waiting = 0;
  #over = false;
  #detached: Promise<RunningTask> | undefined;

  constructor({ request, target, opened: { answers, round, state }, parts, deadlines }: RunOptions) {
    const { link, client, message, revision } = request;
    const isModern = revision.era === 'modern';
    this.#round = round;
    this.#request = request;
    this.#parts = parts;
    this.#deadlines = deadlines;
    this.canDetach = isModern && target.kind === 'tool' && canDo(client.capabilities, 'tasks');
    this.canPark = isModern && !this.canDetach && mayAskLive(target);
    this.#voice = new CallVoice(
      request,
      parts.publications,
      this.canDetach || this.canPark ? this : undefined,
    );
    // The run itself, not closures: made for every call, they outlive the young generation and cost more than the call.
    this.#call = makeCall(target, {
      caller: link.caller,
      client,
      meta: metaOf(message.params),
      cancellation: link.cancellation,
      interview: isModern ? new Interview(answers, undefined, this) : new Interview(answers, this),
      voice: this.#voice,
      record: new CallRecord(round > 0 ? 'resumed' : 'first'),
    });
    this.#call.interview.farState = state;
  }

  get caller(): Caller {
    return this.#call.caller;
  }

  go(): Awaitable<Ended> {
    const call = this.#call;
    if (call.kind === 'tool' && call.tool.requires) requireCapabilities(call.tool.requires, this.#request);
    const work = this.#begin();
    if (!(work instanceof Promise)) {
      this.#end();
      return this.#detached ? this.#continueAsTask(this.#detached, Promise.resolve(work)) : work;
    }
    // Other calls have nothing to clear up at their end, and one more promise for each would cost.
    if (!this.canDetach && !this.canPark) return work;
    return this.#outlast(work);
  }

  // Settles when the call ends, or earlier: when it becomes a task, or is parked with questions.
  #outlast(work: Promise<Result>): Promise<Ended> {
    this.#work = work;
    return new Promise<Ended>((resolve, reject) => {
      this.#answer = resolve;
      whenOver(work, () => this.#end()).then(resolve, reject);
      if (this.#detached) resolve(this.#continueAsTask(this.#detached, work));
      else if (this.#room) resolve(this.#room.next(work));
    });
  }

  /** Turns the call into a task, whose own lifetime replaces the deadline. */
  detach(): void {
    if (this.#detached || this.#over) return;
    const { interview } = this.#call;
    const task = this.#beginTask();
    this.#detached = task;
    interview.askThrough(this);
    interview.liftLimit();
    this.#startDeadline(this.#parts.tasks.ttlMs);
    if (this.#work) this.#answer?.(this.#continueAsTask(task, this.#work));
  }

  /** Lets the call wait for answers that further requests bring. */
  park(): void {
    this.#call.interview.askThrough(this.#waitingRoom());
  }

  /** Continues with the answers of a further request, which now gets the call's messages and can cancel it. */
  async resume(request: UnderstoodRequest, { answers, round }: OpenedState): Promise<Ended> {
    const { signal, reason } = request.link.cancellation;
    if (reason) {
      // Its state is used up, so nobody can continue it.
      this.stop(reason);
      throw reason;
    }
    const cancel = (): void => this.stop(signal.reason as Error);
    signal.addEventListener('abort', cancel, { once: true });
    this.#round = round;
    this.#request = request;
    this.#voice.moveTo(request);
    const room = this.#waitingRoom();
    room.take(answers);
    try {
      return await room.next(this.#work!);
    } catch (error) {
      return this.fail(error);
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  stop(reason: Error): void {
    this.#call.cancellation.abort(reason);
  }

  #waitingRoom(): WaitingRoom {
    const { parked } = this.#parts;
    // Made when it is needed, because nearly all calls end without a question.
    return (this.#room ??= new WaitingRoom(
      {
        cancellation: this.#call.cancellation,
        answers: () => this.#call.interview.accepted,
        check: (questions) => this.check(questions),
        park: () => parked.park(this),
        forget: (id) => parked.forget(id),
      },
      this.#answer,
    ));
  }

  /** Asks through the task, if there is one, or on the stream of the call, with a time limit of its own. */
  async ask(questions: ReadonlyMap<string, Question>): Promise<ReadonlyMap<string, unknown>> {
    if (this.#detached) return (await this.#detached).ask(questions);
    const { link } = this.#request;
    const places = 1 + Math.floor(link.size / questionLimits.bytesPerQuestion);
    const leave = this.#parts.waiting.take(link.caller, places);
    if (this.#waiting++ === 0) this.#startDeadline(ANSWER_MS);
    try {
      return await askOnStream(questions, this.#request);
    } finally {
      leave();
      if (--this.#waiting === 0) this.#stopDeadline?.();
    }
  }

  /** Refuses questions that the client cannot take or that are not JSON; only those that end a run come here. */
  check(questions: ReadonlyMap<string, Question>): void {
    const name = targetName(this.#call);
    if (this.#round >= MAX_ROUNDS)
      throw new ToolcribError('cannot_ask', `${name} asked ${MAX_ROUNDS} times and did not end.`);
    const encoded = encodeQuestions(questions, this.#request);
    try {
      JSON.stringify(encoded);
    } catch (cause) {
      const code = this.#call.kind === 'tool' ? 'tool_failed' : 'internal';
      throw accident(code, `${name} asked something that is not JSON`, cause);
    }
  }

  /** What the model can act on becomes a result; the rest is for the client program. */
  fail(error: unknown): Result {
    const known = knownError(error);
    const { code, message, cause, incident } = known;
    // Not `cause !== undefined`: a handler may throw undefined.
    if ('cause' in known)
      this.#parts.log('error', message, { target: targetName(this.#call), code, incident, cause });
    if (rowOf(code).reply !== 'result' || this.#call.kind !== 'tool' || this.#isForProgram(code)) throw known;
    return failed(message, known.data && { 'dev.toolcrib/error': { code, ...known.data } });
  }

  #isForProgram(code: ErrorCode): boolean {
    return code === 'invalid_arguments' && this.#parts.invalidArguments === 'protocol';
  }

  // A handler may detach and throw before its first await; its task must fail then, too.
  #begin(): Awaitable<Result> {
    return orElse(
      () => this.#parts.source.call(this.#call),
      (error) => {
        if (!this.#detached) throw error;
        return failLater(error);
      },
    );
  }

  #end(): void {
    this.#over = true;
    this.#stopDeadline?.();
  }

  // If the task cannot be recorded or kept, nobody could fetch its result: the call is stopped.
  async #beginTask(): Promise<RunningTask> {
    const { record, cancellation } = this.#call;
    try {
      await record.beforeDetaching();
      return await this.#parts.tasks.begin(this.#request, cancellation);
    } catch (error) {
      cancellation.abort(knownError(error));
      throw error;
    }
  }

  async #continueAsTask(begun: Promise<RunningTask>, ended: Promise<Result>): Promise<Ended> {
    const rest = ended.catch((error: unknown) => this.fail(error));
    // Avoids an unhandled rejection until `rest` is awaited.
    rest.catch(() => {});
    const task = await begun.catch(() => undefined);
    return task ? { kind: 'detached', task, rest } : rest;
  }

  #startDeadline(ms: number): void {
    this.#stopDeadline = this.#deadlines.start(ms, () => {
      const text = `${targetName(this.#call)} took over ${ms / 1000} s and was stopped.`;
      this.#call.cancellation.abort(new ToolcribError('timed_out', text));
    });
  }
}
