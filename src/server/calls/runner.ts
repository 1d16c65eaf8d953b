import type { Call } from '../../core/call.ts';
import { Deadlines } from '../../base/deadlines.ts';
import { ownerOf } from '../../core/caller.ts';
import { accident, knownError, rowOf, ToolcribError } from '../../base/errors.ts';
import { Interview, type Asker, type QuestionCheck } from '../../core/interview.ts';
import type { Question } from '../../core/question.ts';
import { canDo } from '../../core/requirement.ts';
import { CallRecord } from '../../core/record.ts';
import { failed, type Done, type Failed, type NeedsInput, type Result } from '../../core/result.ts';
import { andThen, orElse, type Awaitable } from '../../base/awaitable.ts';
import { metaOf } from '../../protocol/wire/meta.ts';
import { readResumption, type Resumption } from '../../protocol/wire/params.ts';
import { askOnStream, encodeQuestions } from './asking.ts';
import type { ServerParts } from '../parts.ts';
import { MAX_ROUNDS, type Binding, type Opened } from './seal.ts';
import { questionLimits } from '../seats.ts';
import type { Settled } from '../settled.ts';
import type { RunningTask } from './tasks.ts';
import { LinkVoice } from './voice.ts';

/** What is called, as far as running it goes. */
export interface Subject<C extends Call> {
  readonly name: string;
  /** What sealed state is bound to beside the caller and the method. */
  readonly bind: () => Pick<Binding, 'target' | 'arguments'>;
  /** Whether answers may be used only once: always, unless running twice does no harm. */
  readonly answers: 'once' | 'again';
  readonly toCall: (base: CallBase) => C;
  /** Refuses, by throwing, before anything runs. */
  readonly check?: (() => void) | undefined;
}

/** What every kind of call has. */
export type CallBase = Pick<
  Call,
  'caller' | 'client' | 'meta' | 'cancellation' | 'interview' | 'voice' | 'record'
>;

/** How running a call went on: it ended, or it goes on as a task. */
export type Ended = Done | Failed | Asking | Detached;

/** Questions that ended a run, and how often the call had asked before. */
export interface Asking extends NeedsInput {
  readonly round?: number;
}

/** A call that goes on after its request is answered. */
export interface Detached {
  readonly kind: 'detached';
  readonly task: RunningTask;
  readonly rest: Promise<Result>;
}

/** Runs calls: with a deadline, a way to ask and to be stopped, and the answers of earlier rounds. */
export class Runner {
  readonly #parts: ServerParts;
  readonly #deadlines: Deadlines;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.#deadlines = new Deadlines(parts.clock);
  }

  /** Runs one call. What the model can act on comes back as a failed result; anything else is thrown. */
  run<C extends Call>(settled: Settled, subject: Subject<C>): Awaitable<Ended> {
    const resumption = settled.revision.era === 'modern' ? readResumption(settled.message.params) : undefined;
    if (!resumption) return this.#start(settled, subject, { interview: new Interview(), round: 0 });
    return this.#reopen(settled, subject, resumption).then(({ answers, round }) =>
      andThen(this.#start(settled, subject, { interview: new Interview(answers), round }), (ended) =>
        ended.kind === 'needs_input' ? { ...ended, round } : ended,
      ),
    );
  }

  /** What state sealed for this call is bound to. */
  bindingOf({ message, link }: Settled, { bind }: Pick<Subject<Call>, 'bind'>): Binding {
    return { owner: ownerOf(link.caller), method: message.method, ...bind() };
  }

  async #reopen<C extends Call>(
    settled: Settled,
    subject: Subject<C>,
    resumption: Resumption,
  ): Promise<Opened> {
    const { state, responses } = resumption;
    const now = Object.entries(responses);
    // Answers alone are the client's word; only state that was sealed here proves an earlier round.
    if (state === undefined) return { answers: new Map(now), round: 0 };
    const { answers, round } = await this.#parts.seal.open(
      state,
      this.bindingOf(settled, subject),
      subject.answers,
    );
    // What was sealed comes last: later questions were put on the strength of it, so it cannot be answered anew.
    return { answers: new Map([...now, ...answers]), round };
  }

  #start<C extends Call>(
    settled: Settled,
    subject: Subject<C>,
    { interview, round }: { interview: Interview; round: number },
  ): Awaitable<Ended> {
    const { link, client, message, revision } = settled;
    // Whoever left meanwhile has no use for what the tool does.
    if (link.cancellation.reason) throw link.cancellation.reason;
    const voice = new LinkVoice(settled);
    const { caller, cancellation } = link;
    const { publications } = this.#parts;
    if (publications) voice.publish = (publication) => publications.publish(publication, caller);
    const call = subject.toCall({
      caller,
      client,
      meta: metaOf(message.params),
      cancellation,
      interview,
      voice,
      record: new CallRecord(),
    });
    call.record.isResumed = round > 0;
    const run = new Run({
      call,
      name: subject.name,
      round,
      settled,
      parts: this.#parts,
      deadlines: this.#deadlines,
    });
    // The run itself, not a closure: made for every call, closures outlive the young generation and cost more than the call.
    if (revision.era === 'legacy') interview.asker = run;
    else {
      interview.checker = run;
      if (call.kind === 'tool' && canDo(client.capabilities, 'tasks')) run.allowDetaching(voice);
    }
    return orElse(
      () => {
        subject.check?.();
        return run.go();
      },
      (error) => run.fail(error),
    );
  }
}

// As long as sealed state is good for.
const ANSWER_MS = 10 * 60_000;

async function failLater(error: unknown): Promise<never> {
  throw error;
}

interface RunOptions {
  readonly call: Call;
  readonly name: string;
  /** How often the call has asked before this run. */
  readonly round: number;
  readonly settled: Settled;
  readonly parts: ServerParts;
  readonly deadlines: Deadlines;
}

/** One call while it runs. */
class Run implements Asker, QuestionCheck {
  readonly #call: Call;
  readonly #name: string;
  readonly #round: number;
  readonly #settled: Settled;
  readonly #parts: ServerParts;
  readonly #deadlines: Deadlines;
  #stopDeadline: () => void = () => {};
  #waiting = 0;
  #over = false;
  #detached: Promise<RunningTask> | undefined;
  #onDetach: ((task: Promise<RunningTask>) => void) | undefined;

  constructor({ call, name, round, settled, parts, deadlines }: RunOptions) {
    this.#call = call;
    this.#name = name;
    this.#round = round;
    this.#settled = settled;
    this.#parts = parts;
    this.#deadlines = deadlines;
  }

  go(): Awaitable<Ended> {
    const work = this.#begin();
    if (!(work instanceof Promise)) {
      this.#over = true;
      this.#stopDeadline();
      return this.#detached ? this.#goOn(this.#detached, Promise.resolve(work)) : work;
    }
    // Only a call that can become a task has something to clear up: a promise more for every other call would cost.
    if (!this.#onDetach) return work;
    const ended = work.finally(() => {
      this.#over = true;
      this.#stopDeadline();
    });
    if (this.#detached) return this.#goOn(this.#detached, ended);
    const detached = new Promise<Ended>((resolve, reject) => {
      this.#onDetach = (task) => void this.#goOn(task, ended).then(resolve, reject);
    });
    return Promise.race([ended, detached]);
  }

  /** Lets the handler turn the call into a task, whose own lifetime replaces the deadline. */
  allowDetaching(voice: LinkVoice): void {
    this.#onDetach = () => {};
    voice.detach = () => {
      if (this.#detached || this.#over) return;
      const { interview } = this.#call;
      const task = this.#beginTask();
      this.#detached = task;
      interview.asker = this;
      interview.lift();
      this.#startDeadline(this.#parts.tasks.ttlMs);
      this.#onDetach?.(task);
    };
  }

  /** Asks through the task, where the call became one, or on the call's own stream; a person gets more time than a handler. */
  async ask(questions: ReadonlyMap<string, Question>): Promise<ReadonlyMap<string, unknown>> {
    if (this.#detached) return (await this.#detached).ask(questions);
    const { link } = this.#settled;
    const size = Number(link.headers?.['content-length'] ?? 0);
    const leave = this.#parts.waiting.take(link.caller, 1 + Math.floor(size / questionLimits.bytesPerSeat));
    if (this.#waiting++ === 0) this.#startDeadline(ANSWER_MS);
    try {
      return await askOnStream(questions, this.#settled);
    } finally {
      leave();
      if (--this.#waiting === 0) this.#stopDeadline();
    }
  }

  /** Refuses questions that the client cannot take or that are not JSON; only those that end a run come here. */
  check(questions: ReadonlyMap<string, Question>): void {
    if (this.#round >= MAX_ROUNDS)
      throw new ToolcribError('cannot_ask', `${this.#name} asked ${MAX_ROUNDS} times and had no end.`);
    const encoded = encodeQuestions(questions, this.#settled);
    try {
      JSON.stringify(encoded);
    } catch (cause) {
      const code = this.#call.kind === 'tool' ? 'tool_failed' : 'internal';
      throw accident(code, `${this.#name} asked something that is not JSON`, cause);
    }
  }

  /** What the model can act on becomes a result; the rest is for the client program. */
  fail(error: unknown): Result {
    const known = knownError(error);
    const { code, message, cause, incident } = known;
    // A handler may throw undefined: what counts is that there was an exception.
    if ('cause' in known) this.#parts.log('error', message, { target: this.#name, code, incident, cause });
    if (rowOf(code).reply !== 'result' || this.#call.kind !== 'tool') throw known;
    return failed(message, known.data && { 'dev.toolcrib/error': { code, ...known.data } });
  }

  // A handler may detach and throw before it ever waits; its task must hear of that too.
  #begin(): Awaitable<Result> {
    return orElse(
      () => this.#parts.source.call(this.#call),
      (error) => {
        if (!this.#detached) throw error;
        return failLater(error);
      },
    );
  }

  // Nobody could follow a call that is not on record or cannot be fetched, so it is stopped.
  async #beginTask(): Promise<RunningTask> {
    const { record, cancellation } = this.#call;
    try {
      await record.beforeDetaching();
      return await this.#parts.tasks.begin(this.#settled, cancellation);
    } catch (error) {
      cancellation.abort(knownError(error));
      throw error;
    }
  }

  async #goOn(begun: Promise<RunningTask>, ended: Promise<Result>): Promise<Ended> {
    const rest = ended.catch((error: unknown) => this.fail(error));
    // Whoever takes the rest hears of its failure; until then nobody does.
    rest.catch(() => {});
    const task = await begun.catch(() => undefined);
    return task ? { kind: 'detached', task, rest } : rest;
  }

  #startDeadline(ms: number): void {
    this.#stopDeadline = this.#deadlines.start(ms, () => {
      const text = `${this.#name} took over ${ms / 1000} s and was stopped.`;
      this.#call.cancellation.abort(new ToolcribError('timed_out', text));
    });
  }
}
