import { accident, knownError, rowOf, ToolcribError } from '../base/errors.ts';
import { within } from '../base/within.ts';
import type { ServerRequest } from '../protocol/decode/message.ts';
import { encodeError, type JsonObject } from '../protocol/wire/json-rpc.ts';
import { Cancelled } from './errors.ts';
import type { PendingRequest } from './pending-request.ts';
import { answerQuestion, type QuestionHandlers } from './question-handlers.ts';

/** What questions are answered with. */
export interface QuestionParts {
  readonly handlers: QuestionHandlers;
  readonly server: () => string;
  readonly maxOpen: number;
  onWarning(text: string): void;
}

/** How many answers may wait to be taken by the server, beside the questions that are open. */
const MOST_UNSENT = 100;

type Post = (text: string) => Promise<void>;

/** Answers the requests of servers that speak a revision with a handshake. */
export class ServerQuestions {
  readonly #parts: QuestionParts;
  readonly #open = new Map<string | number, AbortController>();
  #underWay = 0;
  // How often all questions were taken back.
  #sessions = 0;

  constructor(parts: QuestionParts) {
    this.#parts = parts;
  }

  /** Whether somebody can be sent to a page. */
  get visitsPages(): boolean {
    return this.#parts.handlers.url !== undefined;
  }

  /** Answers a request; never throws. */
  take(request: ServerRequest, pending: PendingRequest | 'several' | undefined, post: Post): void {
    // An answer is kept until the server has taken it, so a server that only asks gets no more of them.
    if (this.#underWay >= this.#parts.maxOpen + MOST_UNSENT) return;
    this.#underWay++;
    const session = this.#sessions;
    void this.#answer(request, pending)
      // In a later session the same id is that of another question.
      .then((text) => (session === this.#sessions ? post(text) : undefined))
      .catch((error: unknown) => {
        this.#parts.onWarning(`An answer could not be sent: ${String(error)}`);
      })
      .finally(() => this.#underWay--);
  }

  /** Answers the questions that came with the end of a call, all at once. */
  async answerAll(
    asked: Readonly<Record<string, { readonly method: string; readonly params: JsonObject }>>,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const { maxOpen } = this.#parts;
    const questions = Object.entries(asked);
    if (questions.length > maxOpen)
      throw new ToolcribError(
        'cannot_ask',
        `The server asks ${questions.length} questions at once, and ${maxOpen} at most are answered.`,
      );
    const context = { server: this.#parts.server(), signal };
    const answers = questions.map(async ([key, question]) => {
      const answer = answerQuestion(question, this.#parts.handlers, context);
      if (!answer) throw cannotAnswer(question.method);
      return [key, await answer] as const;
    });
    return Object.fromEntries(await unlessStopped(signal, Promise.all(answers)));
  }

  /** Takes a question back. */
  withdraw(id: unknown): void {
    this.#open
      .get(id as string | number)
      ?.abort(new ToolcribError('cancelled', 'The server took its question back.'));
  }

  /** Takes every question back, because the session in which they were asked has ended. */
  withdrawAll(): void {
    this.#sessions++;
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const controller of open)
      controller.abort(new ToolcribError('cancelled', 'The connection has ended.'));
  }

  async #answer(request: ServerRequest, on: PendingRequest | 'several' | undefined): Promise<string> {
    const { id, method } = request;
    const idText = JSON.stringify(id);
    if (method === 'ping') return resultText(idText, {});
    if (this.#open.size >= this.#parts.maxOpen || this.#open.has(id))
      return encodeError(idText, new ToolcribError('busy', 'Too many questions are open.'), -32603);
    if (on === 'several') return encodeError(idText, unclearWhose(), -32603);
    const pending = on;
    const controller = new AbortController();
    this.#open.set(id, controller);
    // A person may take longer than a tool; the limit begins anew with the answer.
    pending?.pause();
    if (pending) pending.questions++;
    try {
      const context = { server: this.#parts.server(), signal: controller.signal };
      const answer = pending?.onQuestion
        ? pending.onQuestion(request)
        : answerQuestion(request, this.#parts.handlers, context);
      if (!answer) return encodeError(idText, cannotAnswer(method), -32601);
      return resultText(idText, await answer);
    } catch (error) {
      return encodeError(idText, this.#shown(error), -32603);
    } finally {
      if (this.#open.get(id) === controller) this.#open.delete(id);
      if (pending) pending.questions--;
      pending?.extend();
    }
  }

  // An error of a handler may contain anything, so the server learns only that it failed.
  #shown(error: unknown): ToolcribError {
    if (error instanceof ToolcribError && rowOf(error.code).reply !== 'developer') return error;
    this.#parts.onWarning(`A handler failed: ${String(error)}`);
    return knownError(accident('internal', 'The client could not answer', error));
  }
}

/** Settles as work does that need not look at the signal itself, or as cancelled as soon as that is aborted. */
export async function unlessStopped<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  try {
    return await within(Infinity, signal, work);
  } catch (error) {
    throw signal.aborted ? new Cancelled({ cause: signal.reason }) : error;
  }
}

// Otherwise a person would be asked about another caller's call.
function unclearWhose(): ToolcribError {
  return new ToolcribError(
    'cannot_ask',
    'Several calls are under way on this connection, so it is not clear which of them asks.',
  );
}

function cannotAnswer(method: string): ToolcribError {
  return new ToolcribError('unknown_method', `This client does not answer ${method}.`);
}

function resultText(idText: string, result: JsonObject): string {
  return `{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(result)}}`;
}
