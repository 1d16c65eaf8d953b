import { ToolcribError } from '../../base/errors.ts';
import { notedLongIntegers } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { checkFormSchema } from '../../core/interview.ts';
import type { Question } from '../../core/question.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { checkSchema } from '../../schema/check.ts';
import type { JsonSchema } from '../../schema/schema.ts';
import type { AskedQuestions } from '../calls/rounds.ts';
import { isPage } from '../question-handlers.ts';

/** One question of another server. */
export type FarQuestion = AskedQuestions[string];

/** The questions of another server, in the terms of a call; each tells who asks. */
export function relayedQuestions(
  asked: AskedQuestions,
  askedBy: string | undefined,
): ReadonlyMap<string, Question> {
  return new Map(Object.entries(asked).map(([key, question]) => [key, relayedQuestion(question, askedBy)]));
}

/** A question of another server, in the terms of a call. */
export function relayedQuestion(asked: FarQuestion, askedBy: string | undefined): Question {
  const question = toQuestion(asked, askedBy);
  const longIntegers = notedLongIntegers(asked.params);
  return longIntegers ? { ...question, longIntegers } : question;
}

function toQuestion({ method, params }: FarQuestion, askedBy: string | undefined): Question {
  switch (method) {
    case 'elicitation/create':
      return params['mode'] === 'url' ? toPage(params, askedBy) : toForm(params, askedBy);
    case 'sampling/createMessage':
      return { kind: 'sample', params: askedBy === undefined ? params : signed(params, askedBy) };
    case 'roots/list':
      return { kind: 'roots', ...(Object.keys(params).length > 0 && { extra: params }) };
    default:
      throw new ToolcribError('unknown_method', 'This is not answered here.');
  }
}

/** Pages that an older server wants visited before it is called again. */
export function relayedPages(
  pages: readonly JsonObject[],
  askedBy: string | undefined,
): ReadonlyMap<string, Question> {
  return new Map(pages.map((params, index) => [`page-${index + 1}`, toPage(params, askedBy)]));
}

function toForm({ mode: _mode, message, requestedSchema, ...extra }: JsonObject, askedBy?: string): Question {
  if (!isObject(requestedSchema)) throw new ToolcribError('invalid_params', 'The form has no schema.');
  const schema = requestedSchema as JsonSchema;
  // Looked at before it is compiled: a schema from elsewhere may try to be fetched, to never end or to fill memory.
  checkSchema(schema, 'input');
  checkFormSchema(schema);
  return { kind: 'form', message: told(message, askedBy), schema, ...unknown(extra) };
}

function toPage(params: JsonObject, askedBy?: string): Question {
  const { mode: _mode, message, url, elicitationId: _id, ...extra } = params;
  if (typeof url !== 'string' || !isPage(url))
    throw new ToolcribError('invalid_params', 'The page has to be an http or https address.');
  return { kind: 'url', message: told(message, askedBy), url, ...unknown(extra) };
}

function unknown(extra: JsonObject): { extra?: JsonObject } {
  return Object.keys(extra).length > 0 ? { extra } : {};
}

// Where a client finds which server a prompt for its model is from.
const ASKED_BY = 'dev.toolcrib/askedBy';

// A prompt has no line for people: its first words are seen by the person and by the model, the field by the program.
function signed(params: JsonObject, askedBy: string): JsonObject {
  const { systemPrompt, _meta: meta } = params;
  const from = `[This prompt is from the server ${askedBy}.]`;
  const isSaid = typeof systemPrompt === 'string' && systemPrompt !== '';
  return {
    ...params,
    systemPrompt: isSaid ? `${from}\n\n${systemPrompt}` : from,
    _meta: { ...(isObject(meta) && meta), [ASKED_BY]: askedBy },
  };
}

// A person has to see who asks.
function told(message: unknown, askedBy: string | undefined): string {
  const text = typeof message === 'string' ? message : '';
  return askedBy === undefined ? text : `${askedBy}: ${text}`;
}
