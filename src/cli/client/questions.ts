import { withoutBigints } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { checkValue } from '../../client/calls/known-tools.ts';
import type {
  FormAsked,
  PageAsked,
  QuestionContext,
  QuestionHandlers,
} from '../../client/question-handlers.ts';
import type { ElicitAnswer } from '../../core/question.ts';
import { describeIssues } from '../../schema/validator.ts';
import { printable } from '../table.ts';
import { ask, canAsk, dropTyped, isYes } from './ask.ts';
import { hasBrowser, openBrowser } from './browser.ts';
import { readable } from './readable.ts';
import { typedArguments } from './typed-arguments.ts';

/** How a person is asked. */
export interface PersonDialog {
  ask(question: string, signal: AbortSignal): Promise<string | undefined>;
  write(text: string): unknown;
  open?(url: string): Promise<void>;
  /** Drops input that was typed before a question was shown. */
  begin?(): Promise<void>;
}

/** Puts the questions of a server to the person at the terminal; without one, every question is declined. */
export function questionHandlers(): QuestionHandlers {
  const write = (text: string): unknown => process.stderr.write(text);
  const begin = dropTyped;
  if (canAsk()) return dialogHandlers({ ask, begin, write, ...(hasBrowser() && { open: openBrowser }) });
  const decline = ({ message }: { readonly message: string }): { action: 'decline' } => {
    write(`toolcrib: declined, because nobody is at a terminal: ${printable(message)}\n`);
    return { action: 'decline' };
  };
  return { form: decline, url: decline };
}

/** Asks in words, one line a field, one question after the other; the end of the input cancels. */
export function dialogHandlers(dialog: PersonDialog): QuestionHandlers {
  const inTurn = oneAtATime(dialog);
  return {
    form: (question, context) => inTurn(context, () => fillIn(question, context, dialog)),
    url: (question, context) => inTurn(context, () => visit(question, context, dialog)),
  };
}

// Two questions at a terminal at once would both take the same line for their answer.
function oneAtATime(
  dialog: PersonDialog,
): <Answer>(
  context: QuestionContext,
  askOne: () => Promise<Answer>,
) => Promise<Answer | { readonly action: 'cancel' }> {
  let last: Promise<unknown> = Promise.resolve();
  return ({ signal }, askOne) => {
    const turn = last.then(async () => {
      await dialog.begin?.();
      return signal.aborted ? { action: 'cancel' as const } : askOne();
    });
    last = turn.catch(() => {});
    return turn;
  };
}

async function visit(
  { message, url }: PageAsked,
  { server, signal }: QuestionContext,
  dialog: PersonDialog,
): Promise<Pick<ElicitAnswer, 'action'>> {
  dialog.write(`\n${printable(server)} asks you to open a page: ${readable(message)}\n  ${printable(url)}\n`);
  const answer = await dialog.ask('Open it? [y/N] ', signal);
  if (answer === undefined) return { action: 'cancel' };
  if (!isYes(answer)) return { action: 'decline' };
  // Without a browser here, the person opens it elsewhere.
  await dialog.open?.(url).catch(() => {});
  return { action: 'accept' };
}

async function fillIn(
  { message, requestedSchema }: FormAsked,
  { server, signal }: QuestionContext,
  dialog: PersonDialog,
): Promise<ElicitAnswer> {
  dialog.write(`\n${printable(server)} asks: ${readable(message)}\n`);
  const { properties, required } = requestedSchema as Record<string, unknown>;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const content: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(isObject(properties) ? properties : {})) {
    const field: Field = { name, schema: isObject(schema) ? schema : {}, isNeeded: needed.includes(name) };
    const value = await askField(field, dialog, signal);
    if (value === 'cancelled') return { action: 'cancel' };
    if (value) content[name] = value.value;
  }
  const answer = await dialog.ask('Send this? [Y/n] ', signal);
  if (answer === undefined) return { action: 'cancel' };
  return answer.trim() === '' || isYes(answer) ? { action: 'accept', content } : { action: 'decline' };
}

interface Field {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly isNeeded: boolean;
}

type Given = { readonly value: unknown } | undefined | 'cancelled';

async function askField(
  { name, schema, isNeeded }: Field,
  dialog: PersonDialog,
  signal: AbortSignal,
): Promise<Given> {
  for (;;) {
    const answer = await dialog.ask(questionOf({ name, schema, isNeeded }), signal);
    if (answer === undefined) return 'cancelled';
    const text = answer.trim();
    if (text === '' && (!isNeeded || 'default' in schema)) return undefined;
    const read = text === '' ? 'An answer is needed.' : readField(name, text, schema);
    if (typeof read !== 'string') return read;
    // The message names the field and the rule of the server's schema.
    dialog.write(`  ${printable(read)}\n`);
  }
}

function questionOf({ name, schema, isNeeded }: Field): string {
  const { title, description, type } = schema;
  const choices = choicesOf(schema);
  const several = type === 'array' ? ', several with commas' : '';
  const kind =
    choices.length > 0 ? `${choices.join(' | ')}${several}` : typeof type === 'string' ? type : 'text';
  const fallback = 'default' in schema ? `, ${JSON.stringify(schema['default'])} unless set` : '';
  const label = typeof title === 'string' ? title : name;
  const about = typeof description === 'string' ? ` - ${description}` : '';
  return printable(`${label} (${kind}${isNeeded ? '' : ', optional'}${fallback})${about}: `);
}

// Of a list, those of its items.
function choicesOf(field: Field['schema']): readonly string[] {
  const { type, items } = field;
  const schema = type === 'array' && isObject(items) ? items : field;
  const titled = [schema['oneOf'], schema['anyOf']].find(Array.isArray) ?? [];
  const values = Array.isArray(schema['enum'])
    ? (schema['enum'] as unknown[])
    : titled.map((one: unknown) => (isObject(one) ? one['const'] : undefined));
  return values.filter((value) => typeof value === 'string');
}

// Typed like an argument of a call; `yes` and `no` are understood, too, and several choices with commas between.
function readField(
  name: string,
  text: string,
  schema: Field['schema'],
): { readonly value: unknown } | string {
  const choices = choicesOf(schema);
  const isList = schema['type'] === 'array' && choices.length > 0 && !text.startsWith('[');
  const words = isList ? text.split(',').map((word) => word.trim()) : [text];
  if (
    choices.length > 0 &&
    (isList || schema['type'] !== 'array') &&
    !words.every((word) => choices.includes(word))
  )
    return `Write one of: ${choices.join(', ')}.`;
  return isList ? checked(name, words, schema) : typed(name, text, schema);
}

function typed(name: string, text: string, schema: Field['schema']): ReturnType<typeof readField> {
  const word =
    schema['type'] === 'boolean' ? text.replace(/^y(es)?$/i, 'true').replace(/^no?$/i, 'false') : text;
  try {
    const { field } = typedArguments([`field=${word}`], { properties: { field: schema } });
    return checked(name, withoutBigints(field), schema);
  } catch (error) {
    return (error as Error).message.replace(/^field\b/, () => printable(name));
  }
}

// Otherwise the person would learn of it after the last field, when the whole form is refused.
function checked(name: string, value: unknown, schema: Field['schema']): ReturnType<typeof readField> {
  const outcome = checkValue({ type: 'object', properties: { [name]: schema } }, { [name]: value });
  return 'issues' in outcome ? `${describeIssues(outcome.issues)}.` : { value };
}
