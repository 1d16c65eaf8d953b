import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Call } from '../../core/call.ts';
import type { Question } from '../../core/question.ts';
import { canDo } from '../../core/requirement.ts';
import { failed, type NeedsInput, type Result } from '../../core/result.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { pause, readAsked, type Asked } from '../calls/rounds.ts';
import type { ToolCalls } from '../calls/tool-calls.ts';
import { TaskHandle, taskOf } from '../calls/task-handle.ts';
import type { SendOptions } from '../connection.ts';
import { RemoteError } from '../errors.ts';
import type { Received } from '../exchange.ts';
import type { Peer } from '../peer.ts';
import { relayedCapabilities } from './relayed-capabilities.ts';
import { relayedMeta } from './relayed-meta.ts';
import { relayedQuestion, relayedQuestions, requiredPages, type FarQuestion } from './relayed-questions.ts';
import { relayedResult } from './relayed-result.ts';

const PAGE_REQUIRED = -32042;
// As long as a task of our own may run.
const LONGEST_TASK_MS = 60 * 60_000;

/** How a call is passed on. */
export interface RelayOptions {
  /** How long to wait for its first sign of life, where that is less than a call may take. */
  readonly withinMs?: number;
  /** Told that the call waits for a person or the end of a task; what it returns is told that it goes on. */
  readonly onWait?: () => () => void;
}

/** One call on its way to another server, with the questions that come back before its answer. */
export class RelayedCall {
  readonly #call: Call;
  readonly #peer: Peer;
  readonly #tools: ToolCalls;
  readonly #options: SendOptions;
  readonly #how: RelayOptions;
  #asked = 0;

  constructor(
    call: Call,
    { peer, tools }: { readonly peer: Peer; readonly tools: ToolCalls },
    how: RelayOptions = {},
  ) {
    this.#call = call;
    this.#peer = peer;
    this.#tools = tools;
    this.#how = how;
    this.#options = this.#optionsOf(call);
  }

  /** Sends the call, round after round where the server asks. */
  async run(): Promise<Result> {
    const { kind, cancellation } = this.#call;
    const { limits, clock } = this.#peer;
    let extra: JsonObject | undefined = this.#resumption();
    let withinMs = await this.#untilSent();
    for (let round = 1; round <= limits.rounds + 1; round++) {
      const received = await this.#send(extra, withinMs);
      withinMs = undefined;
      if (!('result' in received)) {
        const ending = await this.#visit(received.pages);
        if (ending) return ending;
        extra = {};
        continue;
      }
      const { resultType, inputRequests, requestState } = received.result;
      if (resultType !== 'input_required') return relayedResult(await this.#toEnd(received), kind);
      const asked = readAsked(inputRequests, requestState);
      const state = typeof requestState === 'string' ? { requestState } : {};
      if (asked && !this.#canAsk) return this.#needInput(this.#read(asked), state.requestState);
      if (asked) extra = { inputResponses: await this.#answers(asked), ...state };
      else {
        extra = state;
        await pause(clock, Math.min(1_000, 50 * 2 ** round), cancellation.signal);
      }
    }
    throw new ToolcribError('cannot_ask', `The server asked in more than ${limits.rounds} rounds.`);
  }

  // What comes before the call is sent takes of the same time.
  async #untilSent(): Promise<number | undefined> {
    const { clock, timeouts } = this.#peer;
    const { withinMs } = this.#how;
    const start = clock.ticks();
    const asked = this.#peer.wantLogs(this.#options.logLevel, withinMs);
    if (!asked) return withinMs;
    await asked;
    return Math.max(0, (withinMs ?? timeouts.callMs) - (clock.ticks() - start));
  }

  get #canAsk(): boolean {
    return this.#call.interview.asker !== undefined || this.#peer.hasHandlers;
  }

  // What an earlier round left: the answers that no stage asked for, and the state of the server.
  #resumption(): JsonObject {
    const { interview } = this.#call;
    if (this.#peer.server.era === 'legacy') {
      this.#checkVisits(interview.unused);
      return {};
    }
    const answers = interview.hasAnswers ? [...interview.unused] : [];
    return {
      ...(answers.length > 0 && { inputResponses: Object.fromEntries(answers) }),
      ...(interview.farState !== undefined && { requestState: interview.farState }),
    };
  }

  async #send(
    extra: JsonObject,
    withinMs: number | undefined,
  ): Promise<Received | { readonly pages: ReadonlyMap<string, Question> }> {
    const call = this.#call;
    const options = withinMs === undefined ? this.#options : { ...this.#options, withinMs };
    try {
      if (call.kind === 'tool') return await this.#tools.sendOnce(call, extra, options);
      const { method, params } = readingRequest(call);
      return await this.#peer.connection.request(method, { ...params, ...extra }, options);
    } catch (error) {
      const isPage = error instanceof RemoteError && error.number === PAGE_REQUIRED;
      const pages = isPage ? requiredPages(error.data, this.#peer.options.askedBy) : undefined;
      if (!pages) throw error;
      return { pages };
    }
  }

  // Where the client follows tasks it gets one of ours, whose state is that of the other; else its end is waited for.
  async #toEnd(received: Received): Promise<Received> {
    const task = this.#call.kind === 'tool' ? taskOf(received.result) : undefined;
    if (!task) return received;
    const { voice, cancellation } = this.#call;
    const { connection, clock, timeouts } = this.#peer;
    voice.detach?.();
    const { onProgress: _progress, signal = cancellation.signal, ...send } = this.#options;
    const handle = new TaskHandle(task, {
      connection,
      questions: { answerAll: (asked) => this.#answers(asked) },
      clock,
      signal,
      send,
      maxMs: voice.detach ? LONGEST_TASK_MS : timeouts.absoluteMs,
    });
    const goOn = this.#how.onWait?.();
    try {
      return await handle.received();
    } catch (error) {
      if (cancellation.reason) handle.cancel().catch((cause: unknown) => this.#peer.warn(String(cause)));
      throw error;
    } finally {
      goOn?.();
    }
  }

  #needInput(questions: ReadonlyMap<string, Question>, state: string | undefined): NeedsInput {
    const { interview } = this.#call;
    interview.checker?.check(questions);
    const answers = interview.accepted;
    return { kind: 'needs_input', questions, answers, ...(state !== undefined && { state }) };
  }

  async #answers(asked: Asked): Promise<JsonObject> {
    const { interview, voice, cancellation } = this.#call;
    if (!this.#canAsk) voice.park?.();
    if (!interview.asker && this.#peer.hasHandlers)
      return this.#peer.questions.answerAll(asked, cancellation.signal);
    // A key may come again in a later round, and in a task each is asked once.
    const questions = this.#read(asked);
    const keys = new Map([...questions.keys()].map((key) => [this.#ownKey(key), key]));
    const own = new Map([...keys].map(([key, theirs]) => [key, questions.get(theirs)!]));
    const answers = await this.#ask(own);
    return Object.fromEntries([...keys].map(([key, theirs]) => [theirs, answers.get(key)]));
  }

  readonly #keys = new Set<string>();

  #ownKey(key: string): string {
    let own = key;
    for (let count = 2; this.#keys.has(own); count++) own = `${key}-${count}`;
    this.#keys.add(own);
    return own;
  }

  #read(asked: Asked): ReadonlyMap<string, Question> {
    return relayedQuestions(asked, this.#peer.options.askedBy);
  }

  // The server has not run the tool: it wants pages visited, and then to be called again.
  async #visit(pages: ReadonlyMap<string, Question>): Promise<Result | undefined> {
    const { interview, client } = this.#call;
    if (!canDo(client.capabilities, 'elicitation.url')) return failed(pagesText(pages));
    if (!interview.asker) return this.#needInput(pages, undefined);
    const own = new Map([...pages].map(([key, page]) => [this.#ownKey(key), page]));
    this.#checkVisits(await this.#ask(own));
    return undefined;
  }

  #checkVisits(answers: ReadonlyMap<string, unknown>): void {
    for (const answer of answers.values())
      if (isObject(answer) && (answer['action'] === 'decline' || answer['action'] === 'cancel'))
        throw new ToolcribError('cannot_ask', 'The page that this needs was not opened.');
  }

  // Asked in the middle of the call by a server that waits for the answer.
  async #question(asked: FarQuestion): Promise<JsonObject> {
    const { interview, voice } = this.#call;
    const question = relayedQuestion(asked, this.#peer.options.askedBy);
    if (!interview.asker) (voice.detach ?? voice.park)?.();
    const key = this.#ownKey(`question-${++this.#asked}`);
    const answers = await this.#ask(new Map([[key, question]]));
    return answers.get(key) as JsonObject;
  }

  async #ask(questions: ReadonlyMap<string, Question>): Promise<ReadonlyMap<string, unknown>> {
    const goOn = this.#how.onWait?.();
    try {
      return await this.#call.interview.relay(questions);
    } finally {
      goOn?.();
    }
  }

  #optionsOf({ caller, client, meta, voice, cancellation }: Call): SendOptions {
    const { report, log, logLevel, detach } = voice;
    // Only an older server has a stream that its client can come back to.
    const closeStream = this.#peer.server.era === 'legacy' ? voice.closeStream : undefined;
    const passed = relayedMeta(meta);
    const isAnswered = this.#peer.hasHandlers;
    return {
      signal: cancellation.signal,
      caller,
      ...(closeStream && { onStreamClosed: closeStream }),
      ...(report && { onProgress: report }),
      ...(log && logLevel && { logLevel, onLog: log }),
      ...(passed && { meta: passed }),
      ...(!isAnswered && {
        onQuestion: (asked) => this.#question(asked),
        capabilities: relayedCapabilities(client.capabilities, detach ? 'followed' : 'awaited'),
      }),
    };
  }
}

function pagesText(pages: ReadonlyMap<string, Question>): string {
  const lines = [...pages.values()].map((page) => (page.kind === 'url' ? `${page.message} ${page.url}` : ''));
  return `Open this first, and then try again: ${lines.join(' ')}`;
}

function readingRequest(call: Exclude<Call, { kind: 'tool' }>): {
  readonly method: string;
  readonly params: JsonObject;
} {
  switch (call.kind) {
    case 'resource':
      return { method: 'resources/read', params: { uri: call.uri } };
    case 'prompt':
      return { method: 'prompts/get', params: { name: call.prompt.name, arguments: call.arguments } };
    case 'completion': {
      const { target, argument, chosen } = call;
      const ref =
        'uriTemplate' in target
          ? { type: 'ref/resource', uri: target.uriTemplate }
          : { type: 'ref/prompt', name: target.name };
      const context = Object.keys(chosen).length > 0 ? { context: { arguments: chosen } } : {};
      return { method: 'completion/complete', params: { ref, argument, ...context } };
    }
  }
}
