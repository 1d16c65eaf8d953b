import { ToolcribError } from '../../base/errors.ts';
import { escapeUnseen } from '../../base/escape-unseen.ts';
import { isObject } from '../../base/json.ts';
import type { ToolCall } from '../../core/call.ts';
import type { Asker } from '../../core/interview.ts';
import type { Question } from '../../core/question.ts';
import { canDo } from '../../core/requirement.ts';
import { governedName, type Tool } from '../../core/tool.ts';

// Nobody can agree to a text that is too long to read.
const MAX_SHOWN = 4_000;

/** Called when a question is asked; the returned function is called when it was answered. */
export type OnQuestion = (kind: Question['kind'], message: string) => () => void;

/** The person behind the call of an agent, asked through the client of that call. */
export class PersonBehind implements Asker {
  readonly #call: ToolCall;
  readonly #agent: string;
  readonly #onQuestion: OnQuestion;
  #asked = 0;

  constructor(call: ToolCall, agent: string, onQuestion: OnQuestion) {
    this.#call = call;
    this.#agent = agent;
    this.#onQuestion = onQuestion;
  }

  /** Puts the questions of a call within this one; they keep its client, and wait like its own. */
  async ask(questions: ReadonlyMap<string, Question>): Promise<ReadonlyMap<string, unknown>> {
    const { interview, voice } = this.#call;
    if (!interview.asker) (voice.detach ?? voice.park)?.();
    // Calls side by side may ask under the same keys.
    const keys = new Map(Array.from(questions.keys(), (key) => [key, `${this.#agent}-${++this.#asked}`]));
    const own = new Map(Array.from(questions, ([key, question]) => [keys.get(key)!, question]));
    const ends = Array.from(questions.values(), (question) =>
      this.#onQuestion(question.kind, 'message' in question ? question.message : ''),
    );
    try {
      const answers = await interview.relay(own);
      return new Map(Array.from(keys, ([key, ownKey]) => [key, answers.get(ownKey)]));
    } finally {
      for (const end of ends) end();
    }
  }

  /** Whether the person approves a call; `undefined` where no person can be asked. */
  async allows(tool: Tool, args: Readonly<Record<string, unknown>>): Promise<boolean | undefined> {
    const shown = escapeUnseen(JSON.stringify(args));
    if (shown.length > MAX_SHOWN || !canDo(this.#call.client.capabilities, 'elicitation')) return undefined;
    const message = `The agent ${this.#agent} wants to call ${governedName(tool)} with ${shown}. May it?`;
    try {
      const answers = await this.ask(new Map([['agree', { kind: 'form', message, schema: AGREEMENT }]]));
      return isYes(answers.get('agree'));
    } catch (error) {
      if (
        error instanceof ToolcribError &&
        (error.code === 'cannot_ask' || error.code === 'missing_capability')
      )
        return undefined;
      throw error;
    }
  }
}

// Without a default, so that an empty form says nothing.
const AGREEMENT = {
  type: 'object',
  properties: { agree: { type: 'boolean', title: 'Let it make this call' } },
  required: ['agree'],
} as const;

function isYes(answer: unknown): boolean {
  return (
    isObject(answer) &&
    answer['action'] === 'accept' &&
    isObject(answer['content']) &&
    answer['content']['agree'] === true
  );
}
