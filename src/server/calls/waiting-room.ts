import type { Cancellation } from '../../base/cancellation.ts';
import { readAnswer, type Asker } from '../../core/interview.ts';
import type { Question } from '../../core/question.ts';
import type { Result } from '../../core/result.ts';
import type { QuestionRound } from './rounds.ts';

/** What a waiting room needs of its call. */
export interface WaitingParts {
  readonly cancellation: Cancellation;
  /** The answers so far, which are sealed with the questions. */
  readonly answers: () => ReadonlyMap<string, unknown>;
  /** Refuses questions that could not be put. */
  check(questions: ReadonlyMap<string, Question>): void;
  /** Keeps the call, and returns the name it is found by. */
  park(): string;
  forget(id: string): void;
}

interface Open {
  readonly question: Question;
  readonly resolve: (answer: unknown) => void;
}

/** The questions of a call that keeps waiting until its client sends the answers with a further request. */
export class WaitingRoom implements Asker {
  readonly #parts: WaitingParts;
  readonly #open = new Map<string, Open>();
  #tell: ((round: QuestionRound) => void) | undefined;
  #id: string | undefined;

  /** `tell` answers the request that is open when the call begins to wait. */
  constructor(parts: WaitingParts, tell: ((round: QuestionRound) => void) | undefined) {
    this.#parts = parts;
    this.#tell = tell;
  }

  /** Settles when the call ends, or earlier, with its next questions. */
  next(ended: Promise<Result>): Promise<Result | QuestionRound> {
    if (this.#open.size > 0) return this.#askAgain();
    return Promise.race([ended, new Promise<QuestionRound>((resolve) => (this.#tell = resolve))]);
  }

  async ask(questions: ReadonlyMap<string, Question>): Promise<ReadonlyMap<string, unknown>> {
    this.#parts.check(questions);
    const answers = [...questions].map(async ([key, question]) => {
      const answer = new Promise<unknown>((resolve) => this.#open.set(key, { question, resolve }));
      return [key, await answer] as const;
    });
    const tell = this.#tell;
    this.#tell = undefined;
    try {
      // Without a request to answer, they go out with the next one.
      tell?.(this.#round());
      return new Map(await this.#parts.cancellation.race(Promise.all(answers)));
    } finally {
      for (const key of questions.keys()) this.#open.delete(key);
      if (this.#open.size === 0) this.#leave();
    }
  }

  /** Gives the call the answers of a further request; questions without a fitting answer are asked again. */
  take(answers: ReadonlyMap<string, unknown>): void {
    this.#id = undefined;
    for (const [key, { question, resolve }] of this.#open) {
      const answer = answers.get(key);
      if (answer === undefined || readAnswer(question, answer) === undefined) continue;
      this.#open.delete(key);
      resolve(answer);
    }
  }

  // A call that may not ask again would wait without end.
  async #askAgain(): Promise<QuestionRound> {
    try {
      this.#parts.check(this.#questions());
      return this.#round();
    } catch (error) {
      this.#parts.cancellation.abort(error as Error);
      throw error;
    }
  }

  #questions(): ReadonlyMap<string, Question> {
    return new Map([...this.#open].map(([key, { question }]) => [key, question]));
  }

  #round(): QuestionRound {
    const parked = (this.#id = this.#parts.park());
    const questions = this.#questions();
    return { kind: 'needs_input', questions, answers: this.#parts.answers(), parked };
  }

  #leave(): void {
    if (this.#id !== undefined) this.#parts.forget(this.#id);
    this.#id = undefined;
  }
}
