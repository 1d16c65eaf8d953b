import { describeTool } from '../core/tool.ts';
import type { JsonObject } from './json-rpc.ts';
import { metaKeys } from './meta.ts';
import type { Implementation, Revision } from './revision.ts';
import { blocksOf, dataOf } from './tool-result.ts';

// Lists depend on who asks, so nobody may share them; a change is not announced here, so they are fresh only briefly.
const CACHE = { ttlMs: 5_000, cacheScope: 'private' };

/** The stateless revision: every request says all there is to know about it. */
export const revision20260728: Revision = {
  version: '2026-07-28',
  era: 'modern',
  methods: new Set(['server/discover', 'tools/list', 'tools/call']),

  introduce: ({ info, instructions, listChanged, supportedVersions }) => ({
    resultType: 'complete',
    supportedVersions,
    capabilities: { tools: listChanged ? { listChanged } : {} },
    ...(instructions !== undefined && { instructions }),
    ...CACHE,
    _meta: serverMeta(info),
  }),

  encodeTool: (tool) => ({ ...describeTool(tool) }),

  encodeToolPage: ({ tools, nextCursor }, info) => ({
    resultType: 'complete',
    tools,
    ...(nextCursor !== undefined && { nextCursor }),
    ...CACHE,
    _meta: serverMeta(info),
  }),

  encodeToolResult(result, _tool, { info, jsonText }) {
    return {
      ...result.extra,
      resultType: 'complete',
      content: blocksOf(result, jsonText),
      structuredContent: dataOf(result),
      isError: result.kind === 'failed',
      _meta: result.meta ? { ...result.meta, ...serverMeta(info) } : serverMeta(info),
    };
  },
};

function serverMeta(info: Implementation): JsonObject {
  return { [metaKeys.serverInfo]: info };
}
