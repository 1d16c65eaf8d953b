import { readFileSync } from 'node:fs';
import { bulkObject, bulkText, echoObject } from './catalog.ts';

/** A parsed `tools/call` request. */
export interface Call {
  readonly id: number;
  readonly params: { readonly name: string; readonly arguments: { readonly text: string } };
}

/** Answers of toolcrib to one call of each tool, parsed. */
export interface Answers {
  readonly echo: Answer;
  readonly echo_object: Answer;
  readonly bulk_text?: Answer;
  readonly bulk_object?: Answer;
}

interface Answer {
  readonly id: number;
  readonly result: Readonly<Record<string, unknown>> & {
    readonly content: readonly { readonly text: string }[];
  };
}

/** Reads toolcrib's answers and returns the function that builds the same for any call. */
export function bareAnswers(file: string | undefined): (call: Call) => string {
  if (file === undefined) throw new Error('A bare target needs the answers of toolcrib.');
  const answers = JSON.parse(readFileSync(file, 'utf8')) as Answers;
  // The object's text is laid out as toolcrib lays it out, which its answer shows.
  const indent = answers.echo_object.result.content[0]?.text.startsWith('{\n') ? 2 : 0;
  return (call) => JSON.stringify(answerTo(answers, call, indent));
}

function answerTo(answers: Answers, call: Call, indent: number): Answer {
  const { name, arguments: args } = call.params;
  if (name === 'echo') return text(answers.echo, call, args.text);
  if (name === 'bulk_text' && answers.bulk_text) return text(answers.bulk_text, call, bulkText);
  if (name === 'bulk_object' && answers.bulk_object)
    return object(answers.bulk_object, call, { structuredContent: bulkObject, indent });
  return object(answers.echo_object, call, { structuredContent: echoObject(args.text), indent });
}

// Spreading toolcrib's answer keeps its key order, so that the bytes stay equal whatever that order is.
function text(like: Answer, { id }: Call, said: string): Answer {
  return { ...like, id, result: { ...like.result, content: [textBlock(said)] } };
}

interface Structured {
  readonly structuredContent: object;
  readonly indent: number;
}

function object(like: Answer, { id }: Call, { structuredContent, indent }: Structured): Answer {
  const content = [textBlock(JSON.stringify(structuredContent, null, indent))];
  return { ...like, id, result: { ...like.result, content, structuredContent } };
}

function textBlock(said: string): { type: 'text'; text: string } {
  return { type: 'text', text: said };
}
