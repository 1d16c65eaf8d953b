import { accident, knownError, rowOf, ToolcribError } from '../base/errors.ts';
import type { ServerRequest } from '../protocol/decode/message.ts';
import { encodeError, type JsonObject } from '../protocol/wire/json-rpc.ts';
import type { Exchange } from './pending-request.ts';
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

  constructor(parts: QuestionParts) {
    this.#parts = parts;
  }

  /** Answers a request; never throws. */
  take(request: ServerRequest, exchange: Exchange | 'several' | undefined, post: Post): void {
    // An answer is kept until the server has taken it, so a server that only asks gets no more of them.
    if (this.#underWay >= this.#parts.maxOpen + MOST_UNSENT) return;
    this.#underWay++;
    void this.#answer(request, exchange)
      .then(post)
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
    const context = { server: this.#parts.server(), signal };
    const answers = Object.entries(asked).map(async ([key, question]) => {
      const answer = answerQuestion(question, this.#parts.handlers, context);
      if (!answer) throw cannotAnswer(question.method);
      return [key, await answer] as const;
    });
    return Object.fromEntries(await Promise.all(answers));
  }

  /** Takes a question back. */
  withdraw(id: unknown): void {
    this.#open
      .get(id as string | number)
      ?.abort(new ToolcribError('cancelled', 'The server took its question back.'));
  }

  /** Takes every question back. */
  close(): void {
    for (const controller of this.#open.values())
      controller.abort(new ToolcribError('cancelled', 'The connection is closed.'));
  }

  async #answer(request: ServerRequest, on: Exchange | 'several' | undefined): Promise<string> {
    const { id, method } = request;
    const idText = JSON.stringify(id);
    if (method === 'ping') return resultText(idText, {});
    if (this.#open.size >= this.#parts.maxOpen || this.#open.has(id))
      return encodeError(idText, new ToolcribError('busy', 'Too many questions are open.'), -32603);
    if (on === 'several') return encodeError(idText, unclearWhose(), -32603);
    const exchange = on;
    const controller = new AbortController();
    this.#open.set(id, controller);
    // A person may take longer than a tool; the limit begins anew with the answer.
    exchange?.pause();
    if (exchange) exchange.questions++;
    try {
      const context = { server: this.#parts.server(), signal: controller.signal };
      const answer = exchange?.onQuestion
        ? exchange.onQuestion(request)
        : answerQuestion(request, this.#parts.handlers, context);
      if (!answer) return encodeError(idText, cannotAnswer(method), -32601);
      return resultText(idText, await answer);
    } catch (error) {
      return encodeError(idText, this.#shown(error), -32603);
    } finally {
      this.#open.delete(id);
      if (exchange) exchange.questions--;
      exchange?.extend();
    }
  }

  // What a handler throws may hold anything; the server is told only that it failed.
  #shown(error: unknown): ToolcribError {
    if (error instanceof ToolcribError && rowOf(error.code).reply !== 'developer') return error;
    this.#parts.onWarning(`A handler failed: ${String(error)}`);
    return knownError(accident('internal', 'The client could not answer', error));
  }
}

// A person would be asked for the call of somebody else.
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
