import { describeTool, type Tool } from '../core/tool.ts';
import type { JsonSchema } from '../core/schema.ts';
import { isObject } from './json-rpc.ts';
import type { Revision } from './revision.ts';
import { dataOf, writeToolResult } from './tool-result.ts';

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

  encodeToolResult: (result, tool, { jsonText }) =>
    writeToolResult(result, {
      lead: '',
      data: toObjectData(dataOf(result), tool),
      meta: result.meta && JSON.stringify(result.meta),
      jsonText,
    }),
};

// This revision knows only objects as structured output; other values travel as the one member of an object.
function toObjectRoot(schema: JsonSchema): JsonSchema {
  if (schema['type'] === 'object') return schema;
  const { $schema, ...inner } = schema;
  return {
    ...($schema !== undefined && { $schema }),
    type: 'object',
    properties: { result: moveReferences(inner) },
    required: ['result'],
  };
}

// A reference is a path from the root, and the schema it was written for now lies two steps below it.
function moveReferences(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(moveReferences);
  if (!isObject(node)) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) =>
      key === '$ref' && typeof value === 'string'
        ? [key, value.replace(/^#(?=\/|$)/, '#/properties/result')]
        : [key, moveReferences(value)],
    ),
  );
}

function toObjectData(data: unknown, tool: Tool): unknown {
  if (data === undefined) return undefined;
  if (tool.outputSchema && tool.outputSchema['type'] !== 'object') return { result: data };
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? data : undefined;
}
