import type { Awaitable } from '../base/awaitable.ts';
import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { ElicitAnswer, Root, SampleAnswer } from '../core/question.ts';
import { checkSchema } from '../schema/check.ts';
import { describeIssues, validatorOf } from '../schema/validator.ts';
import type { JsonSchema } from '../schema/schema.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';

/** Where a question comes from, and how it is taken back. */
export interface QuestionContext {
  /** The server that asks: show it to the person. */
  readonly server: string;
  /** Aborted when the answer is no longer wanted. */
  readonly signal: AbortSignal;
}

/** A form a server wants filled in; members this version does not know are kept. */
export interface FormAsked {
  readonly message: string;
  readonly requestedSchema: JsonSchema;
  readonly [field: string]: unknown;
}

/** A page a server wants visited. */
export interface PageAsked {
  readonly message: string;
  readonly url: string;
  readonly [field: string]: unknown;
}

/** Answers what a server asks. Each is declared to the server only where it is there. */
export interface QuestionHandlers {
  /** Fills in a form; defaults of the schema are added to what is accepted. */
  readonly form?: (question: FormAsked, context: QuestionContext) => Awaitable<ElicitAnswer>;
  /** Opens a page, with the person's consent. */
  readonly url?: (question: PageAsked, context: QuestionContext) => Awaitable<Pick<ElicitAnswer, 'action'>>;
  /** Asks a model. */
  readonly sample?: (params: JsonObject, context: QuestionContext) => Awaitable<SampleAnswer>;
  /** The folders the client works in. */
  readonly roots?: (context: QuestionContext) => Awaitable<readonly Root[]>;
}

/** What the handlers make possible, in the form the protocol declares it. */
export function capabilitiesOf({ form, url, sample, roots }: QuestionHandlers): JsonObject {
  return {
    ...((form || url) && { elicitation: { ...(form && { form: {} }), ...(url && { url: {} }) } }),
    ...(sample && { sampling: {} }),
    ...(roots && { roots: {} }),
  };
}

/** The same with what a program declares besides: `{ sampling: { tools: {} } }` says more of its handler. */
export function declaredCapabilities(declared: JsonObject = {}, handlers: QuestionHandlers = {}): JsonObject {
  const own = Object.entries(capabilitiesOf(handlers)).map(([name, part]) => {
    const more = declared[name];
    return [name, { ...(isObject(more) && more), ...(part as JsonObject) }];
  });
  return { ...declared, ...(Object.fromEntries(own) as JsonObject) };
}

/** Answers one question; `undefined` where there is no handler for it. */
export function answerQuestion(
  { method, params }: { readonly method: string; readonly params: JsonObject },
  handlers: QuestionHandlers,
  context: QuestionContext,
): Promise<JsonObject> | undefined {
  switch (method) {
    case 'elicitation/create':
      return params['mode'] === 'url'
        ? handlers.url && answerPage(params, handlers.url, context)
        : handlers.form && answerForm(params, handlers.form, context);
    case 'sampling/createMessage':
      return handlers.sample && answerSample(params, handlers.sample, context);
    case 'roots/list':
      return handlers.roots && answerRoots(handlers.roots, context);
    default:
      return undefined;
  }
}

async function answerForm(
  params: JsonObject,
  handle: NonNullable<QuestionHandlers['form']>,
  context: QuestionContext,
): Promise<JsonObject> {
  const { requestedSchema: schema } = params;
  if (!isObject(schema)) throw new ToolcribError('invalid_params', 'The form has no schema.');
  const check = formCheck(schema);
  const answer = await handle(
    { ...params, message: textOf(params['message']), requestedSchema: schema },
    context,
  );
  if (answer.action !== 'accept') return { action: answer.action };
  const outcome = check(answer.content ?? {});
  if ('value' in outcome) return { action: 'accept', content: outcome.value };
  throw new ToolcribError(
    'invalid_arguments',
    `The answer does not fit the form: ${describeIssues(outcome.issues)}.`,
  );
}

function formCheck(schema: JsonSchema): ReturnType<typeof validatorOf> {
  checkSchema(schema, 'input');
  return validatorOf(schema);
}

async function answerPage(
  params: JsonObject,
  handle: NonNullable<QuestionHandlers['url']>,
  context: QuestionContext,
): Promise<JsonObject> {
  const { url } = params;
  if (typeof url !== 'string' || !isPage(url))
    throw new ToolcribError('invalid_params', 'The page has to be an http or https address.');
  const { action } = await handle({ ...params, message: textOf(params['message']), url }, context);
  return { action };
}

async function answerSample(
  params: JsonObject,
  handle: NonNullable<QuestionHandlers['sample']>,
  context: QuestionContext,
): Promise<JsonObject> {
  return { ...(await handle(params, context)) };
}

async function answerRoots(
  handle: NonNullable<QuestionHandlers['roots']>,
  context: QuestionContext,
): Promise<JsonObject> {
  return { roots: await handle(context) };
}

/** Whether an address is a page: anything else could start a program or read a file when it is opened. */
export function isPage(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function textOf(message: unknown): string {
  return typeof message === 'string' ? message : '';
}
