import type { ContentBlock } from '../../core/content.ts';
import { withLongIntegers, writeExact } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import type { Done, Failed } from '../../core/result.ts';
import type { Tool } from '../../core/tool.ts';
import type { JsonObject } from '../wire/json-rpc.ts';
import { knownFields } from '../wire/known-fields.ts';
import type { Features, Implementation, JsonText, Revision } from '../revisions/revision.ts';

/** The settings that the text of a result depends on. */
export interface ResultStyle {
  readonly revision: Revision;
  readonly info: Implementation;
  readonly jsonText: JsonText;
}

/** Writes a tool's result as JSON text, piece by piece: stringifying it as one object costs twice as much. */
export function writeToolResult(
  result: Done | Failed,
  tool: Tool,
  { revision, info, jsonText }: ResultStyle,
): string {
  if (result.relayed?.longIntegers) return writeExactResult(result, tool, { revision, info, jsonText });
  const { features } = revision;
  const data = structuredOf(result, tool, features);
  const meta = revision.writeMeta(result.meta, info);
  let text = `{${revision.lead}"content":${writeBlocks(blocksOf(result, jsonText), features)}`;
  text += member('structuredContent', data);
  text += result.kind === 'failed' ? ',"isError":true' : ',"isError":false';
  if (meta !== undefined) text += `,"_meta":${meta}`;
  if (result.extra) text += writeExtra(result.extra);
  return `${text}}`;
}

// Slower, but every integer is written as the other server wrote it.
function writeExactResult(result: Done | Failed, tool: Tool, style: ResultStyle): string {
  const { revision, info } = style;
  const longs = result.relayed?.longIntegers ?? {};
  const data = withLongIntegers(result.data, longs['structuredContent']);
  const content: readonly ContentBlock[] = result.content ?? [
    { type: 'text', text: writeExact(data) ?? 'null' },
  ];
  const blocks = content.map((block) => encodeBlock(block, revision.features));
  const extra = Object.entries(result.extra ?? {}).filter(([key]) => !OWN_FIELDS.has(key));
  const rest = { content: blocks, _meta: result.meta, ...Object.fromEntries(extra) };
  const body: JsonObject = {
    ...(withLongIntegers(rest, longs) as JsonObject),
    structuredContent: structuredOf({ ...result, data }, tool, revision.features),
    isError: result.kind === 'failed',
  };
  return writeExact(revision.frame(body, info)) ?? '{}';
}

/** A content block for this revision: unknown kinds become text, so that nothing is lost on an old client. */
export function encodeBlock(block: ContentBlock, features: Features): ContentBlock {
  if (block.type === 'audio' && !features.audio) {
    return {
      type: 'text',
      text: `[audio, ${wordOf(block.mimeType)}: this client's protocol version cannot carry sound]`,
    };
  }
  if (block.type === 'resource_link' && !features.resourceLinks) {
    const { name, uri, description } = block;
    const about = typeof description === 'string' ? `: ${description}` : '';
    return { type: 'text', text: `[${wordOf(name)}](${wordOf(uri)})${about}` };
  }
  const shown = knownFields(block as unknown as JsonObject, features);
  const { resource } = shown;
  return (isObject(resource)
    ? { ...shown, resource: encodeContents(resource, features) }
    : shown) as unknown as ContentBlock;
}

// Another server may send anything, some of which has no text.
function wordOf(said: unknown): string {
  return typeof said === 'string' ? said : '(unclear)';
}

/** The contents of a resource for this revision; no revision has a title here, so it is left out. */
export function encodeContents(contents: JsonObject, features: Features): JsonObject {
  const { title: _title, ...shown } = contents;
  return knownFields(shown, features);
}

// Data without content blocks becomes JSON text, so that every client can read it.
function blocksOf({ content, data }: Done | Failed, jsonText: JsonText): readonly ContentBlock[] {
  if (content) return content;
  if (typeof data === 'string') return [{ type: 'text', text: data }];
  return [
    { type: 'text', text: JSON.stringify(data, null, jsonText === 'pretty' ? 2 : undefined) ?? 'null' },
  ];
}

function writeBlocks(blocks: readonly ContentBlock[], features: Features): string {
  const [first] = blocks;
  const isPlainText = blocks.length === 1 && first?.type === 'text' && Object.keys(first).length === 2;
  if (isPlainText && typeof first.text === 'string')
    return `[{"type":"text","text":${JSON.stringify(first.text)}}]`;
  return JSON.stringify(blocks.map((block) => encodeBlock(block, features)));
}

/** The structured data for a revision; a failure of our own has none, because clients hold it to the output schema. */
export function structuredOf(result: Done | Failed, tool: Tool, { structured }: Features): unknown {
  const { kind, data, relayed } = result;
  if ((kind === 'failed' && !relayed) || data === undefined || structured === 'none') return undefined;
  if (structured === 'any') return data;
  if (tool.outputSchema && tool.outputSchema['type'] !== 'object') return { result: data };
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? data : undefined;
}

/** Fields that only the protocol sets; handlers cannot. */
export const OWN_FIELDS: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope']);

function writeExtra(extra: NonNullable<Done['extra']>): string {
  return Object.entries(extra)
    .map(([key, value]) => (OWN_FIELDS.has(key) ? '' : member(key, value)))
    .join('');
}

// Values without a JSON form, such as functions, are left out, as JSON.stringify does in objects.
function member(key: string, value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? '' : `,${JSON.stringify(key)}:${text}`;
}
