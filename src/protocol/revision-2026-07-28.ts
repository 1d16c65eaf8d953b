import { describeTool } from '../core/tool.ts';
import type { JsonObject } from './json-rpc.ts';
import { metaKeys } from './meta.ts';
import type { Implementation, Revision } from './revision.ts';
import { dataOf, writeToolResult } from './tool-result.ts';

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

  encodeToolResult: (result, _tool, { info, jsonText }) =>
    writeToolResult(result, {
      lead: '"resultType":"complete",',
      data: dataOf(result),
      meta: result.meta ? JSON.stringify({ ...result.meta, ...serverMeta(info) }) : serverMetaText(info),
      jsonText,
    }),
};

function serverMetaText(info: Implementation): string {
  let text = serverMetaTexts.get(info);
  if (text === undefined) serverMetaTexts.set(info, (text = JSON.stringify(serverMeta(info))));
  return text;
}

const serverMetaTexts = new WeakMap<Implementation, string>();

function serverMeta(info: Implementation): JsonObject {
  return { [metaKeys.serverInfo]: info };
}
