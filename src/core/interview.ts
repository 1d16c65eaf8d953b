import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { Question } from './question.ts';
import { validatorOf } from '../schema/validator.ts';

/** Carries questions to the client and brings the raw answers back, while the call waits. */
export interface Asker {
  ask(questions: ReadonlyMap<string, Question>): Promise<ReadonlyMap<string, unknown>>;
}

/** Refuses, by throwing, questions that could not be put to the client. */
export interface QuestionCheck {
  check(questions: ReadonlyMap<string, Question>): void;
}

/** Cleans questions before they are put to a client. */
export type CleanQuestions = (questions: ReadonlyMap<string, Question>) => ReadonlyMap<string, Question>;

/** Ends a handler's run because the client must answer first; the handler is run again with the answer in hand. */
export class InputRequired extends Error {
  override readonly name = 'InputRequired';

  constructor() {
    super('The client has to answer first; this call ends here and runs again with the answer.');
  }
}

/**
 * The questions of one call. Those asked in one turn go out together. Where the client can be reached while the call
 * runs, they wait for the answer; where it cannot, they end the run, and the next run finds the answers here.
 */
export class Interview {
  readonly #given: ReadonlyMap<string, unknown>;
  #accepted: Map<string, unknown> | undefined;
  #asked = 0;
  #keys: Set<string> | undefined;
  #pending: Map<string, Pending> | undefined;
  #raised: Map<string, Question> | undefined;
  #waiting = 0;
  #isUnlimited = false;
  #startTime: (() => () => void) | undefined;
  #stopTime: (() => void) | undefined;
  #asker: Asker | undefined;
  #clean: CleanQuestions | undefined;
  /** The state of the server behind the gateway that asked in an earlier round; it goes back with the answers. */
  farState: string | undefined;
  /** Checks the questions that end a run before the stages see the result. */
  readonly checker: QuestionCheck | undefined;

  /**
   * `given` are the answers of earlier rounds; `asker` is there where the client can be reached while the call runs.
   */
  constructor(given: ReadonlyMap<string, unknown> = NONE, asker?: Asker, checker?: QuestionCheck) {
    this.#given = given;
    this.#asker = asker;
    this.checker = checker;
  }

  /** Who brings questions to the client now; `undefined` while it cannot be reached. */
  get asker(): Asker | undefined {
    return this.#asker;
  }

  /** Puts questions through another asker from now on. */
  askThrough(asker: Asker | undefined): void {
    this.#asker = asker;
  }

  /** Cleans questions from now on, before they are put. */
  cleanWith(clean: CleanQuestions): void {
    this.#clean = clean;
  }

  /** The questions that ended the run, even if the handler swallowed the exception. */
  get raised(): ReadonlyMap<string, Question> | undefined {
    if (!this.#pending || this.#asker) return this.#raised;
    return new Map([...(this.#raised ?? []), ...questionsOf(this.#pending)]);
  }

  /** Whether answers came with the call. */
  get hasAnswers(): boolean {
    return this.#given.size > 0;
  }

  /** The answers that came with the call and were not asked for. */
  get unused(): ReadonlyMap<string, unknown> {
    return new Map([...this.#given].filter(([key]) => !this.#keys?.has(key)));
  }

  /** How many questions the handler has put. */
  get asked(): number {
    return this.#asked;
  }

  /** The answers used so far, for the next run. */
  get accepted(): ReadonlyMap<string, unknown> {
    return this.#accepted ?? NONE;
  }

  /** Starts the time limit now, and again after every question; `start` returns what stops it. `undefined` ends it. */
  limit(start: (() => () => void) | undefined): void {
    this.#stopTime?.();
    this.#startTime = this.#isUnlimited ? undefined : start;
    this.#stopTime = this.#waiting === 0 ? this.#startTime?.() : undefined;
  }

  /** Removes the time limit for good: the call goes on as a task, which has a lifetime of its own. */
  liftLimit(): void {
    this.#isUnlimited = true;
    this.limit(undefined);
  }

  /** Puts a question; the key names it across runs, and is its place in the order unless given. */
  put(question: Question, key = `question-${this.#asked + 1}`): Promise<unknown> {
    this.#asked++;
    // Answers are found by key: with a second question under one key, a yes to the first would answer both.
    if (this.#keys?.has(key))
      throw new ToolcribError('tool_failed', `Two questions are called "${key}"; give each its own key.`);
    (this.#keys ??= new Set()).add(key);
    const given = this.#given.get(key);
    const answer = given === undefined ? undefined : readAnswer(question, given);
    if (answer !== undefined) {
      (this.#accepted ??= new Map<string, unknown>()).set(key, given);
      return Promise.resolve(answer);
    }
    if (!this.#pending) {
      this.#pending = new Map();
      queueMicrotask(() => void this.#flush());
    }
    const pending = this.#pending;
    const waiting = new Promise((resolve, reject) => pending.set(key, { question, resolve, reject }));
    // Avoids an unhandled rejection: a handler that awaits one question may not await another that fails too.
    waiting.catch(() => {});
    return waiting;
  }

  /** Puts questions of a call that runs elsewhere; the answers come back as the client gave them. */
  async relay(questions: ReadonlyMap<string, Question>): Promise<ReadonlyMap<string, unknown>> {
    if (!this.#asker)
      throw new ToolcribError('cannot_ask', 'This needs to ask the client something, which it cannot be.');
    this.#asked += questions.size;
    const answers = await this.#ask(questions, this.#asker);
    for (const [key, question] of questions)
      if (readAnswer(question, answers.get(key)) === undefined) throw notAnswered();
    return answers;
  }

  async #flush(): Promise<void> {
    const pending = this.#pending!;
    this.#pending = undefined;
    const questions = questionsOf(pending);
    if (!this.#asker) {
      this.#raised = new Map([...(this.#raised ?? []), ...questions]);
      for (const { reject } of pending.values()) reject(new InputRequired());
      return;
    }
    try {
      const answers = await this.#ask(questions, this.#asker);
      for (const [key, { question, resolve, reject }] of pending) {
        const answer = readAnswer(question, answers.get(key));
        if (answer !== undefined) resolve(answer);
        else reject(notAnswered());
      }
    } catch (error) {
      for (const { reject } of pending.values()) reject(error);
    }
  }

  // The time limit stops while a person is asked. Questions may overlap: it starts again with the last answer.
  async #ask(questions: ReadonlyMap<string, Question>, asker: Asker): Promise<ReadonlyMap<string, unknown>> {
    if (this.#waiting++ === 0) this.#stopTime?.();
    try {
      return await asker.ask(this.#clean ? this.#clean(questions) : questions);
    } finally {
      if (--this.#waiting === 0) this.#stopTime = this.#startTime?.();
    }
  }
}

function notAnswered(): ToolcribError {
  return new ToolcribError(
    'cannot_ask',
    'The client answered a question with something else than was asked for.',
  );
}

const NONE: ReadonlyMap<string, unknown> = new Map();

interface Pending {
  readonly question: Question;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

function questionsOf(pending: ReadonlyMap<string, Pending>): Map<string, Question> {
  return new Map([...pending].map(([key, { question }]) => [key, question]));
}

/** The answer in the form the handler gets it; `undefined` if it does not fit the question, which is asked again. */
export function readAnswer(question: Question, raw: unknown): unknown {
  if (!isObject(raw)) return undefined;
  switch (question.kind) {
    case 'form':
      return readFormAnswer(question.schema, raw);
    case 'url':
      return isAction(raw['action']) ? { action: raw['action'] } : undefined;
    case 'sample':
      return isSample(raw) ? raw : undefined;
    case 'roots':
      return Array.isArray(raw['roots']) &&
        raw['roots'].every((root) => isObject(root) && typeof root['uri'] === 'string')
        ? raw['roots']
        : undefined;
  }
}

function readFormAnswer(
  schema: Readonly<Record<string, unknown>>,
  raw: Readonly<Record<string, unknown>>,
): unknown {
  const { action, content } = raw;
  if (!isAction(action)) return undefined;
  if (action !== 'accept') return { action };
  const outcome = validatorOf(schema)(content ?? {});
  return 'value' in outcome ? { action, content: outcome.value } : undefined;
}

const FORM_TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean']);

/** Refuses a form schema that clients could not show: forms are flat. */
export function checkFormSchema(schema: Readonly<Record<string, unknown>>): void {
  const properties = schema['properties'];
  if (schema['type'] !== 'object' || !isObject(properties)) {
    throw new ToolcribError('tool_failed', 'A form needs a schema of type "object" with "properties".');
  }
  for (const [name, property] of Object.entries(properties)) {
    if (!isObject(property) || !isField(property)) {
      throw new ToolcribError(
        'tool_failed',
        `The form field "${name}" must be text, a number, a choice or yes and no; forms are flat.`,
      );
    }
  }
}

function isField(property: Readonly<Record<string, unknown>>): boolean {
  const { type, items } = property;
  // The only lists in forms are multiple choices.
  if (type === 'array') return isObject(items) && ('enum' in items || 'anyOf' in items);
  return FORM_TYPES.has(type) || 'enum' in property || 'oneOf' in property;
}

function isSample({ role, content, model }: Readonly<Record<string, unknown>>): boolean {
  const isSaid = isObject(content) || Array.isArray(content);
  return isSaid && (role === 'user' || role === 'assistant') && typeof model === 'string';
}

function isAction(action: unknown): action is 'accept' | 'decline' | 'cancel' {
  return action === 'accept' || action === 'decline' || action === 'cancel';
}
