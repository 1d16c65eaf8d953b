import { content, defineTool, type Tool } from 'toolcrib';
import {
  bulkObject,
  bulkOutput,
  bulkText,
  echoInput,
  echoObject,
  echoOutput,
  fillerTools,
} from './catalog.ts';

/** Which tools a toolcrib target has. */
export interface ToolsWanted {
  /** How many, the two echo tools included. */
  readonly tools: number;
  /** Whether there are two more whose results take 32 kB. */
  readonly bulk?: boolean;
  /** Whether they say that they only read; what says nothing counts as having effects. */
  readonly readOnly?: boolean;
}

/** Makes the tools of a toolcrib target. */
export function benchTools({ tools, bulk = false, readOnly = false }: ToolsWanted): Tool[] {
  const hints = readOnly ? { annotations: { readOnlyHint: true } } : {};
  const fillers = fillerTools(tools).map(({ name, description, inputSchema }) =>
    defineTool({ name, description, input: inputSchema, ...hints }, () => content.text('')),
  );
  return [...echoTools(hints), ...(bulk ? bulkTools(hints) : []), ...fillers] as Tool[];
}

interface Hints {
  readonly annotations?: { readonly readOnlyHint: boolean };
}

function echoTools(hints: Hints): unknown[] {
  return [
    defineTool({ name: 'echo', description: 'Echoes the text.', input: echoInput, ...hints }, ({ text }) =>
      content.text(text),
    ),
    defineTool(
      {
        name: 'echo_object',
        description: 'Echoes the text as an object.',
        input: echoInput,
        output: echoOutput,
        ...hints,
      },
      ({ text }) => echoObject(text),
    ),
  ];
}

function bulkTools(hints: Hints): unknown[] {
  return [
    defineTool(
      { name: 'bulk_text', description: 'Answers with much text.', input: echoInput, ...hints },
      () => content.text(bulkText),
    ),
    defineTool(
      {
        name: 'bulk_object',
        description: 'Answers with a large object.',
        input: echoInput,
        output: bulkOutput,
        ...hints,
      },
      () => bulkObject,
    ),
  ];
}
