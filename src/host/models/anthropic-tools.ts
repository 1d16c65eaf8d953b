import { isObject } from '../../base/json.ts';
import type { ModelTool, Part, ToolRequest } from './model.ts';
import { toModelSchema } from './model-schema.ts';
import { nameBack, safeNames, type NamedTool } from './safe-names.ts';
import { textAt } from './wire-values.ts';

/** A tool as the Messages API takes it. */
export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: { type: 'object'; [keyword: string]: unknown };
  defer_loading?: true;
}

/** A block as the Messages API takes it in a user's message. */
export type AnthropicBlock = { type: 'text'; text: string } | AnthropicImage;

interface AnthropicImage {
  type: 'image';
  source: {
    type: 'base64';
    media_type: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';
    data: string;
  };
}

/** The outcome of a call, in the form of the Messages API. */
export interface AnthropicToolResult {
  type: 'tool_result';
  tool_use_id: string;
  content: AnthropicBlock[];
  is_error?: true;
}

/** Tools for `tools` of a message. */
export function toAnthropicTools(
  tools: readonly (NamedTool & Pick<ModelTool, 'isDeferred'>)[],
): AnthropicTool[] {
  const names = safeNames(tools);
  return tools.map(({ name, description, inputSchema, isDeferred }) => ({
    name: names.get(name)!,
    description,
    input_schema: { ...toModelSchema(inputSchema) },
    ...(isDeferred && { defer_loading: true }),
  }));
}

/**
 * The calls a model wants made, from the `content` of its message. The tools are those it was offered, so that calls
 * have their own names.
 */
export function fromAnthropicToolUses(
  content: readonly unknown[],
  tools: readonly NamedTool[],
): ToolRequest[] {
  const back = nameBack(tools);
  return content.flatMap((block): ToolRequest[] => {
    if (!isObject(block) || block['type'] !== 'tool_use') return [];
    const input = block['input'];
    return [
      {
        id: textAt(block, 'id'),
        name: back(textAt(block, 'name')),
        arguments: isObject(input) ? input : (JSON.stringify(input) ?? ''),
      },
    ];
  });
}

/** The block with the outcome of a call. */
export function toAnthropicToolResult(
  { id }: Pick<ToolRequest, 'id'>,
  { content, isError }: { readonly content: readonly Part[]; readonly isError: boolean },
): AnthropicToolResult {
  return {
    type: 'tool_result',
    tool_use_id: id,
    content: toAnthropicBlocks(content),
    ...(isError && { is_error: true }),
  };
}

/** Parts as blocks; empty text is left out, because the API refuses it. */
export function toAnthropicBlocks(parts: readonly Part[]): AnthropicBlock[] {
  return parts.flatMap((part): AnthropicBlock[] => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }];
    const mediaType = part.mimeType as AnthropicImage['source']['media_type'];
    return [{ type: 'image', source: { type: 'base64', media_type: mediaType, data: part.data } }];
  });
}
