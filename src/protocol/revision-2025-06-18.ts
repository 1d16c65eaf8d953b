import { describeTool, type Tool } from '../core/tool.ts';
import type { JsonSchema } from '../core/schema.ts';
import type { Revision } from './revision.ts';
import { blocksOf, dataOf } from './tool-result.ts';

/** The first revision with structured output: a handshake first, then requests that rely on it. */
export const revision20250618: Revision = {
  version: '2025-06-18',
  era: 'legacy',
  methods: new Set(['initialize', 'ping', 'tools/list', 'tools/call']),

  introduce: ({ info, instructions, listChanged }) => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: listChanged ? { listChanged } : {} },
    serverInfo: info,
    ...(instructions !== undefined && { instructions }),
  }),

  encodeTool(tool) {
    const { icons: _icons, outputSchema, ...described } = describeTool(tool);
    return { ...described, ...(outputSchema && { outputSchema: toObjectRoot(outputSchema) }) };
  },

  encodeToolPage: ({ tools, nextCursor }) => ({ tools, ...(nextCursor !== undefined && { nextCursor }) }),

  encodeToolResult(result, tool, { jsonText }) {
    return {
      ...result.extra,
      content: blocksOf(result, jsonText),
      structuredContent: toObjectData(dataOf(result), tool),
      isError: result.kind === 'failed',
      _meta: result.meta,
    };
  },
};

// This revision knows only objects as structured output; other values travel as the one member of an object.
function toObjectRoot(schema: JsonSchema): JsonSchema {
  if (schema['type'] === 'object') return schema;
  const { $defs, ...inner } = schema;
  return {
    type: 'object',
    properties: { result: inner },
    required: ['result'],
    ...($defs !== undefined && { $defs }),
  };
}

function toObjectData(data: unknown, tool: Tool): unknown {
  if (data === undefined) return undefined;
  if (tool.outputSchema && tool.outputSchema['type'] !== 'object') return { result: data };
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? data : undefined;
}
