import { isObject } from '../../base/json.ts';
import type { ContentBlock } from '../../core/content.ts';
import type { Done, Failed, RelayedJson } from '../../core/result.ts';
import type { Tool } from '../../core/tool.ts';
import type { Features } from '../revisions/revision.ts';
import { bytesAsBuffer } from '../wire/key-memory.ts';
import { readMembers, type Member } from '../wire/result-members.ts';
import { OWN_FIELDS, structuredOf, type ResultStyle } from './result.ts';

const LINE_FEED = 0x0a;
const RETURN = 0x0d;
// Up to here one text costs less than pieces.
const SHORT_BYTES = 2_048;

/**
 * A tool's result with the members another server wrote, byte by byte, in the frame of this revision; `undefined`
 * where it has to be written anew.
 */
export function writeRelayedResult(
  result: Done | Failed,
  tool: Tool,
  style: ResultStyle,
): string | Buffer | undefined {
  const json = result.relayed?.jsonOf?.(result);
  if (!json || !isShownAsItIs(result, tool, { json, features: style.revision.features })) return undefined;
  const bytes = bytesAsBuffer(json.message);
  if (hasLineBreak(bytes, json)) return undefined;
  const members = readMembers(json);
  const parts = members && partsOf(members, bytes, { result, style });
  if (!parts) return undefined;
  return json.isAscii && json.end - json.start <= SHORT_BYTES
    ? joinText(parts, bytes)
    : joinBytes(parts, bytes);
}

/** A member as it came, or text of our own. */
type Part = Member | string;

// Some transports end a message with its line.
function hasLineBreak(bytes: Buffer, { start, end }: RelayedJson): boolean {
  return [LINE_FEED, RETURN].some((mark) => {
    const at = bytes.indexOf(mark, start);
    return at >= 0 && at < end;
  });
}

// The frame is of one connection, so it is not passed on.
function partsOf(
  members: readonly Member[],
  bytes: Buffer,
  { result, style: { revision, info } }: { readonly result: Done | Failed; readonly style: ResultStyle },
): readonly Part[] | undefined {
  const parts: Part[] = revision.lead === '' ? [] : [revision.lead.slice(0, -1)];
  let meta: Member | undefined;
  for (const member of members) {
    const { name, start, end } = member;
    if (name === '_meta') meta = member;
    else if (name === 'isError' && !/: *(?:true|false)$/.test(bytes.toString('latin1', start, end)))
      return undefined;
    else if (!OWN_FIELDS.has(name)) parts.push(member);
  }
  if (
    meta &&
    result.meta &&
    revision.era === 'legacy' &&
    isWithoutServer(bytes.subarray(meta.start, meta.end))
  )
    parts.push(meta);
  else {
    if (hasLongMeta(result)) return undefined;
    const text = revision.writeMeta(result.meta, info);
    if (text !== undefined) parts.push(`"_meta":${text}`);
  }
  return parts;
}

function joinText(parts: readonly Part[], bytes: Buffer): string {
  let text = '{';
  for (const part of parts) {
    if (text.length > 1) text += ',';
    text += typeof part === 'string' ? part : bytes.toString('latin1', part.start, part.end);
  }
  return `${text}}`;
}

function joinBytes(parts: readonly Part[], bytes: Buffer): Buffer {
  const pieces = parts.flatMap((part, index) => [
    index > 0 ? BETWEEN : OPEN,
    typeof part === 'string' ? Buffer.from(part) : bytes.subarray(part.start, part.end),
  ]);
  return Buffer.concat(pieces.length > 0 ? [...pieces, CLOSE] : [OPEN, CLOSE]);
}

const OPEN = Buffer.from('{');
const BETWEEN = Buffer.from(',');
const CLOSE = Buffer.from('}');

// Another server may have made the result, but the client is connected to this one.
function isWithoutServer(meta: Buffer): boolean {
  return !meta.includes('serverInfo') && !meta.includes('\\');
}

function hasLongMeta({ relayed }: Done | Failed): boolean {
  return relayed?.longIntegers?.['_meta'] !== undefined;
}

function isShownAsItIs(
  result: Done | Failed,
  tool: Tool,
  { json, features }: { readonly json: RelayedJson; readonly features: Features },
): boolean {
  const content = json.blocks ?? result.content;
  if (!content?.every((block) => isBlockShown(block, features))) return false;
  return features.structured === 'any' || structuredOf(result, tool, features) === result.data;
}

function isBlockShown(block: ContentBlock, features: Features): boolean {
  if (block.type === 'text' && Object.keys(block).length === 2) return true;
  if (!features.titles || !features.icons || !features.audio || !features.resourceLinks) return false;
  const { resource } = block as { readonly resource?: unknown };
  return !isObject(resource) || !('title' in resource);
}
