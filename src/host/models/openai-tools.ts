import { isObject } from '../../base/json.ts';
import type { ModelTool, Part, ToolRequest } from './model.ts';
import { toModelSchema } from './model-schema.ts';
import { nameBack, safeNames, type NamedTool } from './safe-names.ts';
import { dataUrl, FAILED_MARK, objectAt, readArguments, textAt, textOfParts } from './wire-values.ts';

/** A tool as the chat completions API takes it. */
export interface OpenAiTool {
  type: 'function';
  function: { name: string; description: string; parameters: Record<string, unknown> };
}

/** A tool as the Responses API takes it. */
export interface OpenAiResponsesTool {
  type: 'function';
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  strict: false;
  defer_loading?: true;
}

/** Tools for `tools` of a chat completion. */
export function toOpenAiTools(tools: readonly NamedTool[]): OpenAiTool[] {
  const names = safeNames(tools);
  return tools.map(({ name, description, inputSchema }) => ({
    type: 'function',
    function: { name: names.get(name)!, description, parameters: { ...toModelSchema(inputSchema) } },
  }));
}

/** Tools for `tools` of a response. */
export function toOpenAiResponsesTools(
  tools: readonly (NamedTool & Pick<ModelTool, 'isDeferred'>)[],
): OpenAiResponsesTool[] {
  const names = safeNames(tools);
  return tools.map(({ name, description, inputSchema, isDeferred }) => ({
    type: 'function',
    name: names.get(name)!,
    description,
    parameters: { ...toModelSchema(inputSchema) },
    strict: false,
    ...(isDeferred && { defer_loading: true }),
  }));
}

/**
 * The calls a model wants made: `message.tool_calls` of a chat completion, or `response.output` of a response. The
 * tools are those it was offered, so that calls have their own names.
 */
export function fromOpenAiToolCalls(
  calls: readonly unknown[] | null | undefined,
  tools: readonly NamedTool[],
): ToolRequest[] {
  const back = nameBack(tools);
  return (calls ?? []).flatMap((call): ToolRequest[] => {
    if (!isObject(call)) return [];
    const type = call['type'];
    if (type !== 'function' && type !== 'function_call') return [];
    const called = type === 'function' ? objectAt(call, 'function') : call;
    return [
      {
        id: type === 'function' ? textAt(call, 'id') : textAt(call, 'call_id'),
        name: back(textAt(called, 'name')),
        arguments: readArguments(textAt(called, 'arguments')),
      },
    ];
  });
}

/** The message with the outcome of a call, for chat completions; it cannot hold pictures. */
export function toOpenAiToolMessage(
  { id }: Pick<ToolRequest, 'id'>,
  result: { readonly content: readonly Part[]; readonly isError: boolean },
): { role: 'tool'; tool_call_id: string; content: string } {
  const text = textOfParts(result.content);
  return { role: 'tool', tool_call_id: id, content: result.isError ? FAILED_MARK + text : text };
}

/** The input item with the outcome of a call, for responses. */
export function toOpenAiCallOutput(
  { id }: Pick<ToolRequest, 'id'>,
  { content, isError }: { readonly content: readonly Part[]; readonly isError: boolean },
): { type: 'function_call_output'; call_id: string; output: string | OutputPart[] } {
  const marked: readonly Part[] = isError
    ? [{ type: 'text', text: FAILED_MARK.trim() }, ...content]
    : content;
  const isText = content.every(({ type }) => type === 'text');
  return {
    type: 'function_call_output',
    call_id: id,
    output: isText ? (isError ? FAILED_MARK : '') + textOfParts(content) : marked.map(toInputPart),
  };
}

/** A part of a message as the Responses API takes it. */
export type OutputPart =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url: string; detail: 'auto' };

/** Turns a part into one of the Responses API. */
export function toInputPart(part: Part): OutputPart {
  return part.type === 'text'
    ? { type: 'input_text', text: part.text }
    : { type: 'input_image', image_url: dataUrl(part), detail: 'auto' };
}
