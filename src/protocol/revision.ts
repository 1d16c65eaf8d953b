import type { Result } from '../core/result.ts';
import type { Tool } from '../core/tool.ts';
import type { Era } from './era.ts';
import type { JsonObject } from './json-rpc.ts';

/** How a server names itself to clients. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

/** What a server says when a client first asks. */
export interface Introduction {
  readonly info: Implementation;
  readonly instructions: string | undefined;
  /** Whether list changes reach this client unasked. */
  readonly listChanged: boolean;
  readonly supportedVersions: readonly string[];
}

/** One page of a list, already encoded tool by tool. */
export interface ToolPage {
  readonly tools: readonly JsonObject[];
  readonly nextCursor: string | undefined;
}

/** How structured data is put into text: indented for reading, or as short as possible. */
export type JsonText = 'pretty' | 'compact';

/** One revision of the protocol: which methods it has, and how our model looks on its wire. */
export interface Revision {
  readonly version: string;
  readonly era: Era;
  /** A method that is not here does not exist in this revision. */
  readonly methods: ReadonlySet<string>;
  introduce(introduction: Introduction): JsonObject;
  encodeTool(tool: Tool): JsonObject;
  encodeToolPage(page: ToolPage, info: Implementation): JsonObject;
  /** The result as JSON text. */
  encodeToolResult(result: Result, tool: Tool, style: ResultStyle): string;
}

/** What shapes the encoding of a result besides the result. */
export interface ResultStyle {
  readonly info: Implementation;
  readonly jsonText: JsonText;
}
