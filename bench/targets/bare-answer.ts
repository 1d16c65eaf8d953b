import { readFileSync } from 'node:fs';
import { echoObject } from './catalog.ts';

/** A parsed `tools/call` request. */
export interface Call {
  readonly id: number;
  readonly params: { readonly name: string; readonly arguments: { readonly text: string } };
}

/** Answers of toolcrib to one call of each echo tool, parsed. */
export interface Answers {
  readonly echo: Answer;
  readonly echo_object: Answer;
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
  return (call) =>
    JSON.stringify(
      call.params.name === 'echo' ? echo(answers.echo, call) : object(answers.echo_object, call, indent),
    );
}

// Spreading toolcrib's answer keeps its key order, so that the bytes stay equal whatever that order is.
function echo(like: Answer, { id, params }: Call): Answer {
  return { ...like, id, result: { ...like.result, content: [textBlock(params.arguments.text)] } };
}

function object(like: Answer, { id, params }: Call, indent: number): Answer {
  const structuredContent = echoObject(params.arguments.text);
  const content = [textBlock(JSON.stringify(structuredContent, null, indent))];
  return { ...like, id, result: { ...like.result, content, structuredContent } };
}

function textBlock(text: string): { type: 'text'; text: string } {
  return { type: 'text', text };
}
