import type { Awaitable } from '../../base/awaitable.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { Call } from '../../core/call.ts';
import type { Question } from '../../core/question.ts';
import { canDo } from '../../core/requirement.ts';
import { failed, type NeedsInput, type Result } from '../../core/result.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { checkVisits, requiredPages } from '../calls/required-pages.ts';
import { pause, readAsked, type AskedQuestions } from '../calls/rounds.ts';
import type { ToolCalls } from '../calls/tool-calls.ts';
import { TaskHandle, taskOf } from '../calls/task-handle.ts';
import type { SendOptions } from '../connection.ts';
import { RemoteError } from '../errors.ts';
import type { Received } from '../../protocol/decode/received.ts';
import type { Peer } from '../peer.ts';
import { relayedCapabilities } from './capabilities.ts';
import { relayedError } from './error.ts';
import { relayedMeta } from './meta.ts';
import { relayedQuestion, relayedPages, relayedQuestions, type FarQuestion } from './questions.ts';
import { relayedResult } from './result.ts';
import { refuseSecretFields } from './secret-fields.ts';

const OTHER_HEADERS = -32020;
const NOTHING: JsonObject = Object.freeze({});
// As long as a task of our own may run.
const LONGEST_TASK_MS = 60 * 60_000;

/** How a call is passed on. */
export interface RelayOptions {
  /** How long to wait for the first message about it, if less than a call may take. */
  readonly withinMs?: number;
  /** Whether people may be asked for secrets in forms. */
  readonly mayAskSecrets?: boolean;
  /** Called when the call waits for a person or for a task; the returned function is called when it goes on. */
  readonly onWait?: () => () => void;
}

/** One call on its way to another server, with the questions that come back before its answer. */
export class RelayedCall {
  readonly #call: Call;
  readonly #peer: Peer;
  readonly #tools: ToolCalls;
  // Changed in place from round to round: a copy would be made for every call.
  readonly #options: Writable<SendOptions>;
  readonly #how: RelayOptions;
  readonly #keys = new Set<string>();
  #asked = 0;
  #hasReloaded = false;

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

  /** Sends the call, round after round where the server asks. Few promises: every call comes through here. */
  async run(): Promise<Result> {
    const { limits } = this.#peer;
    try {
      const sent = this.#untilSent();
      this.#options.withinMs = sent instanceof Promise ? await sent : sent;
      let extra = this.#resumption();
      for (let round = 1; round <= limits.rounds + 1; round++) {
        let next: Next | undefined;
        let received: Received | undefined;
        try {
          received = await this.#send(extra);
        } catch (error) {
          next = await this.#afterFailure(error, extra);
        }
        if (received && headOf(received)['resultType'] === 'input_required')
          next = await this.#afterQuestions(received, round);
        if (!next) {
          const ending = this.#ending(received!);
          return ending instanceof Promise ? await ending : ending;
        }
        if ('kind' in next) return next;
        extra = next.extra;
        this.#options.withinMs = undefined;
      }
      throw new ToolcribError('cannot_ask', `The server asked in more than ${limits.rounds} rounds.`);
    } catch (error) {
      throw relayedError(error, this.#call, this.#asker);
    }
  }

  // Setting the log level comes first, and counts towards the time limit.
  #untilSent(): Awaitable<number | undefined> {
    const { clock, timeouts } = this.#peer;
    const { withinMs } = this.#how;
    const asked = this.#peer.wantLogs(this.#options.logLevel, withinMs);
    if (!asked) return withinMs;
    const start = clock.ticks();
    return asked.then(() => Math.max(0, (withinMs ?? timeouts.callMs) - (clock.ticks() - start)));
  }

  #ending(received: Received): Awaitable<Result> {
    const { kind } = this.#call;
    const task = kind === 'tool' ? taskOf(headOf(received)) : undefined;
    return task ? this.#follow(task).then((end) => relayedResult(end, kind)) : relayedResult(received, kind);
  }

  async #afterQuestions(received: Received, round: number): Promise<Next> {
    const asked = readAsked(received);
    const { requestState } = received.result;
    const state = typeof requestState === 'string' ? { requestState } : {};
    if (asked && !this.#canAsk) return this.#needInput(this.#read(asked), state.requestState);
    if (asked) return { extra: { inputResponses: await this.#answers(asked), ...state } };
    await pause(this.#peer.clock, Math.min(1_000, 50 * 2 ** round), this.#call.cancellation.signal);
    return { extra: state };
  }

  async #afterFailure(error: unknown, extra: JsonObject): Promise<Next> {
    if (!(error instanceof RemoteError)) throw error;
    // The server wants other headers than the definition we know asked for; it has not run the tool.
    if (error.number === OTHER_HEADERS && this.#call.kind === 'tool' && !this.#hasReloaded) {
      this.#hasReloaded = true;
      await this.#tools.reload();
      return { extra };
    }
    const pages = requiredPages(error);
    if (!pages) throw error;
    return (await this.#visit(relayedPages(pages, this.#peer.options.askedBy))) ?? { extra: NOTHING };
  }

  get #canAsk(): boolean {
    return this.#call.interview.asker !== undefined || this.#peer.hasHandlers;
  }

  // From earlier rounds: the answers that no stage here asked for, and the state of the server.
  #resumption(): JsonObject {
    const { interview } = this.#call;
    if (!interview.hasAnswers && interview.farState === undefined) return NOTHING;
    if (this.#peer.server.era === 'legacy') {
      checkVisits(interview.unused.values());
      return NOTHING;
    }
    const answers = interview.hasAnswers ? [...interview.unused] : [];
    return {
      ...(answers.length > 0 && { inputResponses: Object.fromEntries(answers) }),
      ...(interview.farState !== undefined && { requestState: interview.farState }),
    };
  }

  #send(extra: JsonObject): Promise<Received> {
    const call = this.#call;
    if (call.kind === 'tool') return this.#tools.sendOnce(call, extra, this.#options);
    const { method, params } = readingRequest(call);
    return this.#peer.connection.request(method, { ...params, ...extra }, this.#options);
  }

  // A client that follows tasks gets a task of ours that mirrors this one. For other clients its end is awaited.
  async #follow(task: JsonObject): Promise<Received> {
    const { voice, cancellation } = this.#call;
    const { connection, clock, timeouts } = this.#peer;
    voice.detach?.();
    const { onProgress: _progress, cancellation: _cancellation, withinMs: _first, ...send } = this.#options;
    const handle = new TaskHandle(task, {
      connection,
      questions: { answerAll: (asked) => this.#answers(asked) },
      clock,
      signal: cancellation.signal,
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

  async #answers(asked: AskedQuestions): Promise<JsonObject> {
    const { interview, voice, cancellation } = this.#call;
    if (!this.#canAsk) voice.park?.();
    if (!interview.asker && this.#peer.hasHandlers)
      return this.#peer.questions.answerAll(asked, cancellation.signal);
    // The server may use a key again in a later round; here each key names one question.
    const questions = this.#read(asked);
    const keys = new Map([...questions.keys()].map((key) => [this.#ownKey(key), key]));
    const own = new Map([...keys].map(([key, theirs]) => [key, questions.get(theirs)!]));
    const answers = await this.#ask(own);
    return Object.fromEntries([...keys].map(([key, theirs]) => [theirs, answers.get(key)]));
  }

  #ownKey(key: string): string {
    let own = key;
    for (let count = 2; this.#keys.has(own); count++) own = `${key}-${count}`;
    this.#keys.add(own);
    return own;
  }

  #read(asked: AskedQuestions): ReadonlyMap<string, Question> {
    const questions = relayedQuestions(asked, this.#peer.options.askedBy);
    this.#refuseSecrets(questions.values());
    return questions;
  }

  #refuseSecrets(questions: Iterable<Question>): void {
    if (!this.#how.mayAskSecrets) refuseSecretFields(questions, this.#asker);
  }

  get #asker(): string {
    return this.#peer.options.askedBy ?? 'The server behind this one';
  }

  // The server has not run the tool: the user must visit pages first, and then it must be called again.
  async #visit(pages: ReadonlyMap<string, Question>): Promise<Result | undefined> {
    const { interview, client } = this.#call;
    if (!canDo(client.capabilities, 'elicitation.url')) return failed(pagesText(pages));
    if (!interview.asker) return this.#needInput(pages, undefined);
    const own = new Map([...pages].map(([key, page]) => [this.#ownKey(key), page]));
    checkVisits((await this.#ask(own)).values());
    return undefined;
  }

  // Asked in the middle of the call by a server that waits for the answer.
  async #question(asked: FarQuestion): Promise<JsonObject> {
    const { interview, voice } = this.#call;
    const question = relayedQuestion(asked, this.#peer.options.askedBy);
    this.#refuseSecrets([question]);
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

  #optionsOf({ caller, client, meta, voice, cancellation }: Call): Writable<SendOptions> {
    const options: Writable<SendOptions> = { cancellation, caller, withinMs: undefined };
    const { report, logLevel } = voice;
    const passed = relayedMeta(meta);
    if (report) options.onProgress = report;
    if (passed) options.meta = passed;
    if (logLevel && voice.log) {
      options.logLevel = logLevel;
      options.onLog = voice.log;
    }
    // Only an older server has a stream that its client can come back to.
    if (this.#peer.server.era === 'legacy' && voice.closeStream) options.onStreamClosed = voice.closeStream;
    if (!this.#peer.hasHandlers) {
      options.onQuestion = (asked) => this.#question(asked);
      options.capabilities = relayedCapabilities(client.capabilities, voice.detach ? 'followed' : 'awaited');
    }
    return options;
  }
}

// The members that tell how to go on are always parsed; only long texts are left for later.
function headOf(received: Received): JsonObject {
  return received.outline ?? received.result;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** The result, or the members to add to the next request. */
type Next = Result | { readonly extra: JsonObject };

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
