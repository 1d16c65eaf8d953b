import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { knownError } from '../../base/errors.ts';
import type { DecisionRequest } from '../../stages/approve/decision.ts';
import type { AvailableTool } from '../agent.ts';
import { hostNote } from '../models/content-parts.ts';
import type { Message, Part, ToolRequest } from '../models/model.ts';
import { Budget, exceeded, type Exceeded } from './budget.ts';
import { CallRunner } from './call-runner.ts';
import { readOutput } from './final-output.ts';
import { LoopGuard } from './loop-guard.ts';
import type { TurnEnd } from './model-turn.ts';
import type { AgentRun, AskedCall, RunEnding, RunFailed, RunHappening, RunUsage } from './run-events.ts';
import type { AskingRun, RunFrame } from './run-frame.ts';
import type { AskOptions } from './run-options.ts';
import { noSpans, type RunSpan } from './run-spans.ts';
import type { SkillRequest } from './skill-request.ts';
import { TurnTaker } from './turn-taker.ts';
import { WorkTime } from './work-time.ts';

const MOST_LISTENERS = 100;

/** One question on its way to an answer. */
export class Run {
  readonly #frame: RunFrame;
  readonly #id = randomUUID();
  readonly #budget: Budget;
  readonly #time: WorkTime;
  readonly #guard: LoopGuard;
  readonly #stop = new AbortController();
  readonly #asked: AskOptions;
  readonly #span: RunSpan;
  readonly #calls: CallRunner;
  readonly #turns: TurnTaker;
  readonly #from: number;
  #timeUp: Exceeded | undefined;
  #hasComplained = false;
  #output: unknown;

  constructor(frame: RunFrame, asked: AskOptions) {
    const { agent, options, clock, askedBy } = frame;
    this.#frame = frame;
    this.#asked = asked;
    const { repeats, ...given } = options.limits ?? {};
    const limits = { ...agent.config.limits, ...given };
    this.#budget = askedBy ? askedBy.budget.part(limits) : new Budget(limits, options.prices);
    this.#guard = new LoopGuard(repeats);
    this.#span = (options.spans ?? noSpans).start('invoke_agent', agent.name, {
      parent: askedBy?.span,
      attributes: { 'gen_ai.agent.name': agent.name, 'gen_ai.request.model': options.model.name },
    });
    const { seconds } = limits;
    this.#time = new WorkTime({
      clock,
      parent: askedBy?.time,
      limitMs: seconds === undefined ? undefined : seconds * 1000,
      whenUp: () => this.#endTime(seconds!),
    });
    // Every call side by side listens.
    setMaxListeners(MOST_LISTENERS, this.#stop.signal);
    this.#from = frame.messages.length;
    const emit = (happening: RunHappening): void => this.#emit(happening);
    const parts = { frame, emit, span: this.#span, signal: this.#stop.signal };
    this.#calls = new CallRunner(parts);
    this.#turns = new TurnTaker({ ...parts, budget: this.#budget, push: (message) => this.#push(message) });
  }

  /** Asks the model until there is an answer. */
  async answer(parts: readonly Part[]): Promise<AgentRun> {
    const { agent, options, askedBy } = this.#frame;
    const stops = this.#listen();
    try {
      this.#budget.check(options.model.name);
      this.#emit({
        type: 'run:start',
        model: options.model.name,
        instructions: agent.config.instructions,
        versions: { node: process.version },
        ...(askedBy && { askedBy: { run: askedBy.id, call: askedBy.call } }),
      });
      await this.#say(parts);
      const ending = await this.#untilEnd();
      return this.#end(ending);
    } catch (error) {
      if (this.#stop.signal.aborted) return this.#end(this.#stopped());
      const { code, message } = knownError(error);
      this.#finish({ kind: 'failed', code, message });
      throw error;
    } finally {
      for (const stop of stops) stop();
      // Calls that are still under way have no reader any more.
      this.#stop.abort();
    }
  }

  /** The settings of another run that works for this one. */
  asking(call: string): AskingRun {
    const depth = (this.#frame.askedBy?.depth ?? 0) + 1;
    return { id: this.#id, call, budget: this.#budget, time: this.#time, span: this.#span, depth };
  }

  /** Asks a person about a skill; the working time stops meanwhile. */
  async askAboutSkill(request: SkillRequest): Promise<boolean> {
    const { clock, options } = this.#frame;
    const { signal: _signal, ...asked } = request;
    const began = clock.ticks();
    this.#emit({ type: 'skill:start', ...asked });
    this.#time.pause();
    try {
      const isAgreed = await options.onSkill!(request);
      this.#emit({ type: 'skill:end', ...asked, isAgreed, ms: clock.ticks() - began });
      return isAgreed;
    } finally {
      this.#time.resume();
    }
  }

  /** Tells a person something. */
  note(text: string): void {
    this.#emit({ type: 'note', text });
  }

  async #untilEnd(): Promise<RunEnding> {
    for (;;) {
      const reached = this.#budget.takeTurn();
      if (reached) return limit(reached);
      const tools = this.#frame.agent.beginTurn();
      const { message, stopReason } = await this.#turns.take(tools);
      const ending =
        message.toolCalls.length > 0
          ? await this.#perform(message.toolCalls, tools)
          : this.#judge(message.text, stopReason);
      if (ending) return ending;
    }
  }

  // The notices of the first turn go with the question itself.
  async #say(parts: readonly Part[]): Promise<void> {
    if (parts.length === 0) return;
    const { notice } = this.#frame.block.view(this.#frame.agent.beginTurn());
    const news = await this.#frame.news();
    this.#push({
      role: 'user',
      content: [...parts, ...(notice === undefined ? [] : [hostNote(notice)]), ...news],
    });
  }

  async #perform(
    requests: readonly ToolRequest[],
    tools: readonly AvailableTool[],
  ): Promise<RunEnding | undefined> {
    let reached: Exceeded | undefined;
    const planned = requests.map((request) => {
      reached ??=
        this.#guard.look(request) ??
        (this.#frame.ownTool(request.name) ? undefined : this.#budget.takeCall());
      return { request, refusal: reached?.message };
    });
    const messages = await this.#calls.perform(planned, tools);
    this.#frame.messages = [...this.#frame.messages, ...messages];
    if (this.#stop.signal.aborted) return this.#stopped();
    return reached && limit(reached);
  }

  // How the run ends with a final answer; `undefined` if the model gets another chance.
  #judge(text: string, stopReason: TurnEnd['stopReason']): RunEnding | undefined {
    const { agent, options } = this.#frame;
    if (stopReason === 'refused')
      return { kind: 'refused', message: text === '' ? 'The model refuses to answer.' : text };
    if (stopReason === 'length')
      return {
        kind: 'limit',
        setting: 'model.maxOutputTokens',
        message: 'The answer was cut off at its longest (model.maxOutputTokens).',
      };
    const schema = options.outputSchema ?? agent.config.outputSchema;
    if (!schema) return { kind: 'finished' };
    const read = readOutput(text, schema);
    if ('output' in read) {
      this.#output = read.output;
      return { kind: 'finished' };
    }
    if (this.#hasComplained) return { kind: 'invalid_output', message: read.complaint };
    this.#hasComplained = true;
    this.#push({ role: 'user', content: [hostNote(`${read.complaint} Answer again.`)] });
    return undefined;
  }

  #listen(): readonly (() => void)[] {
    const { agent } = this.#frame;
    const { signal } = this.#asked;
    const stop = (): void => this.#stop.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    return [
      () => signal?.removeEventListener('abort', stop),
      () => this.#time.stop(),
      agent.on('tool:progress', ({ id, progress }) => this.#calls.report(id, progress)),
      agent.on('warning', (text) => this.note(text)),
      agent.on('decision:start', (request) => {
        this.#time.pause();
        this.#emit({ type: 'decision:start', ...askedOf(request) });
      }),
      agent.on('decision:end', ({ request, decision, ms }) => {
        this.#time.resume();
        this.#emit({ type: 'decision:end', ...askedOf(request), decision, ms });
      }),
      agent.on('question:start', (question) => {
        this.#time.pause();
        this.#emit({ type: 'question:start', ...question });
      }),
      agent.on('question:end', (question) => {
        this.#time.resume();
        this.#emit({ type: 'question:end', ...question });
      }),
    ];
  }

  #endTime(seconds: number): void {
    this.#timeUp = exceeded('seconds', `${seconds} seconds of work`);
    this.#stop.abort();
  }

  #stopped(): RunEnding {
    return this.#timeUp ? limit(this.#timeUp) : { kind: 'cancelled' };
  }

  #push(message: Message): void {
    this.#frame.messages = [...this.#frame.messages, message];
    if (message.role === 'user') this.#emit({ type: 'message', message });
  }

  #end(ending: RunEnding): AgentRun {
    const usage = this.#finish(ending);
    const { messages } = this.#frame;
    const said = messages.slice(this.#from).findLast(({ role }) => role === 'assistant');
    const text = said?.role === 'assistant' ? said.text : '';
    return { ending, text, output: this.#output, messages, usage };
  }

  #finish(ending: RunEnding | RunFailed): RunUsage {
    this.#time.stop();
    const usage = { ...this.#budget.usage, ms: this.#time.ms, waitedMs: this.#time.waitedMs };
    this.#span.set({
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.output_tokens': usage.outputTokens,
    });
    this.#span.end(ending.kind === 'finished' ? undefined : ending.kind);
    this.#emit({ type: 'run:end', ending, usage });
    return usage;
  }

  #emit(happening: RunHappening): void {
    const { agent, clock, tell } = this.#frame;
    tell({ run: this.#id, agent: agent.name, at: clock.now(), ...happening });
  }
}

function limit({ setting, message }: Exceeded): RunEnding {
  return { kind: 'limit', setting, message };
}

function askedOf({ signal: _signal, description: _description, ...asked }: DecisionRequest): AskedCall {
  return asked;
}
