import { isObject } from '../../base/json.ts';
import type { FormAsked, QuestionContext, QuestionHandlers } from '../../client/question-handlers.ts';
import type { ElicitAnswer } from '../../core/question.ts';
import { printable } from '../table.ts';
import { ask, canAsk, isYes } from './ask.ts';
import { hasBrowser, openBrowser } from './browser.ts';
import { readable } from './readable.ts';
import { typedArguments } from './typed-arguments.ts';

/** How a person is asked. */
export interface Asking {
  ask(question: string, signal: AbortSignal): Promise<string | undefined>;
  write(text: string): unknown;
  open?(url: string): Promise<void>;
}

/** Asks the person at the terminal what a server asks; without one, every question is declined. */
export function questionHandlers(): QuestionHandlers {
  const write = (text: string): unknown => process.stderr.write(text);
  if (canAsk()) return askingHandlers({ ask, write, ...(hasBrowser() && { open: openBrowser }) });
  const decline = ({ message }: { readonly message: string }): { action: 'decline' } => {
    write(`toolcrib: declined, because nobody is at a terminal: ${printable(message)}\n`);
    return { action: 'decline' };
  };
  return { form: decline, url: decline };
}

/** Asks in words, one line a field; the end of the input cancels. */
export function askingHandlers(asking: Asking): QuestionHandlers {
  return {
    form: (question, context) => fillIn(question, context, asking),
    url: async ({ message, url }, { server, signal }) => {
      asking.write(
        `\n${printable(server)} asks you to open a page: ${readable(message)}\n  ${printable(url)}\n`,
      );
      const answer = await asking.ask('Open it? [y/N] ', signal);
      if (answer === undefined) return { action: 'cancel' };
      if (!isYes(answer)) return { action: 'decline' };
      // Without a browser here, the person opens it elsewhere.
      await asking.open?.(url).catch(() => {});
      return { action: 'accept' };
    },
  };
}

async function fillIn(
  { message, requestedSchema }: FormAsked,
  { server, signal }: QuestionContext,
  asking: Asking,
): Promise<ElicitAnswer> {
  asking.write(`\n${printable(server)} asks: ${readable(message)}\n`);
  const { properties, required } = requestedSchema as Record<string, unknown>;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const content: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(isObject(properties) ? properties : {})) {
    const field: Field = { name, schema: isObject(schema) ? schema : {}, isNeeded: needed.includes(name) };
    const value = await askField(field, asking, signal);
    if (value === 'cancelled') return { action: 'cancel' };
    if (value) content[name] = value.value;
  }
  const answer = await asking.ask('Send this? [Y/n] ', signal);
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
  asking: Asking,
  signal: AbortSignal,
): Promise<Given> {
  const choices = choicesOf(schema);
  for (;;) {
    const answer = await asking.ask(questionOf({ name, schema, isNeeded }), signal);
    if (answer === undefined) return 'cancelled';
    const text = answer.trim();
    if (text === '' && (!isNeeded || 'default' in schema)) return undefined;
    const problem = text === '' ? 'An answer is needed.' : problemOf(text, choices);
    if (problem === undefined) {
      const read = readField(name, text, schema);
      if (typeof read !== 'string') return read;
      // It names the types of the server's schema.
      asking.write(`  ${printable(read)}\n`);
    } else asking.write(`  ${problem}\n`);
  }
}

function questionOf({ name, schema, isNeeded }: Field): string {
  const { title, description, type } = schema;
  const choices = choicesOf(schema);
  const kind = choices.length > 0 ? choices.join(' | ') : typeof type === 'string' ? type : 'text';
  const fallback = 'default' in schema ? `, ${JSON.stringify(schema['default'])} unless set` : '';
  const label = typeof title === 'string' ? title : name;
  const about = typeof description === 'string' ? ` - ${description}` : '';
  return printable(`${label} (${kind}${isNeeded ? '' : ', optional'}${fallback})${about}: `);
}

function choicesOf(schema: Field['schema']): readonly string[] {
  const titled = Array.isArray(schema['oneOf']) ? (schema['oneOf'] as unknown[]) : [];
  const values = Array.isArray(schema['enum'])
    ? (schema['enum'] as unknown[])
    : titled.map((one) => (isObject(one) ? one['const'] : undefined));
  return values.filter((value) => typeof value === 'string');
}

function problemOf(text: string, choices: readonly string[]): string | undefined {
  return choices.length === 0 || choices.includes(text)
    ? undefined
    : `Write one of: ${choices.map(printable).join(', ')}.`;
}

// Typed like an argument of a call; `yes` and `no` are understood, too.
function readField(
  name: string,
  text: string,
  schema: Field['schema'],
): { readonly value: unknown } | string {
  const word =
    schema['type'] === 'boolean' ? text.replace(/^y(es)?$/i, 'true').replace(/^no?$/i, 'false') : text;
  try {
    return { value: typedArguments([`field=${word}`], { properties: { field: schema } })['field'] };
  } catch (error) {
    return (error as Error).message.replace(/^field\b/, () => printable(name));
  }
}
