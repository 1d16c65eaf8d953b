import { isObject } from '../../base/json.ts';
import type { ContentBlock } from '../../core/content.ts';
import type { Done, Failed, RelayedJson } from '../../core/result.ts';
import type { Tool } from '../../core/tool.ts';
import type { Features } from '../revisions/revision.ts';
import { bytesAsBuffer } from '../wire/key-memory.ts';
import { OWN_FIELDS, structuredOf, type ResultStyle } from './result.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const OPEN = Buffer.from('{');
const BETWEEN = Buffer.from(',');
const CLOSE = Buffer.from('}');

/**
 * A tool's result with the members another server wrote, byte by byte, in the frame of this revision; `undefined`
 * where it has to be written anew.
 */
export function writeRelayedResult(
  result: Done | Failed,
  tool: Tool,
  style: ResultStyle,
): Buffer | undefined {
  const json = result.relayed?.jsonOf?.(result);
  if (!json || !isShownAsItIs(result, tool, style.revision.features)) return undefined;
  const bytes = bytesAsBuffer(json.message);
  if (hasLineBreak(bytes, json)) return undefined;
  const members = readMembers(bytes, json);
  return members && framed(members, result, style);
}

interface Member {
  readonly name: string;
  readonly bytes: Buffer;
}

// Some transports end a message with its line.
function hasLineBreak(bytes: Buffer, { start, end }: RelayedJson): boolean {
  return [LINE_FEED, RETURN].some((mark) => {
    const at = bytes.indexOf(mark, start);
    return at >= 0 && at < end;
  });
}

function readMembers(bytes: Buffer, { members, end }: RelayedJson): readonly Member[] | undefined {
  const read: Member[] = [];
  for (const [index, start] of members.entries()) {
    const name = bytes.toString('latin1', start + 1, bytes.indexOf(QUOTE, start + 1));
    // A name with an escape is read by the parser only.
    if (name.includes('\\')) return undefined;
    const next = members[index + 1] ?? end - 1;
    read.push({ name, bytes: bytes.subarray(start, endOfMember(bytes, next)) });
  }
  return read;
}

// Before the next member there are a comma and spaces.
function endOfMember(bytes: Buffer, next: number): number {
  let end = next;
  while (bytes[end - 1]! <= 0x20) end--;
  if (bytes[end - 1] !== COMMA) return end;
  end--;
  while (bytes[end - 1]! <= 0x20) end--;
  return end;
}

// The frame is of one connection, so it is not passed on.
function framed(members: readonly Member[], result: Done | Failed, style: ResultStyle): Buffer | undefined {
  const { revision, info } = style;
  const pieces: Buffer[] = revision.lead === '' ? [] : [Buffer.from(revision.lead.slice(0, -1))];
  let meta: Buffer | undefined;
  for (const { name, bytes } of members) {
    if (name === '_meta') meta = bytes;
    else if (name === 'isError' && !/: *(?:true|false)$/.test(bytes.toString('latin1'))) return undefined;
    else if (!OWN_FIELDS.has(name)) pieces.push(bytes);
  }
  if (meta && result.meta && revision.era === 'legacy' && isWithoutServer(meta)) pieces.push(meta);
  else {
    if (hasLongMeta(result)) return undefined;
    const text = revision.writeMeta(result.meta, info);
    if (text !== undefined) pieces.push(Buffer.from(`"_meta":${text}`));
  }
  return Buffer.concat([
    OPEN,
    ...pieces.flatMap((piece, index) => (index > 0 ? [BETWEEN, piece] : [piece])),
    CLOSE,
  ]);
}

// Whoever made the result, the client is connected to this server.
function isWithoutServer(meta: Buffer): boolean {
  return !meta.includes('serverInfo') && !meta.includes('\\');
}

function hasLongMeta({ relayed }: Done | Failed): boolean {
  return Object.keys(relayed?.longIntegers ?? {}).some((place) => place.startsWith('/_meta/'));
}

function isShownAsItIs(result: Done | Failed, tool: Tool, features: Features): boolean {
  const { content, data } = result;
  if (!content || structuredOf(result, tool, features) !== data) return false;
  return content.every((block) => isBlockShown(block, features));
}

function isBlockShown(block: ContentBlock, features: Features): boolean {
  if (block.type === 'text' && Object.keys(block).length === 2) return true;
  if (!features.titles || !features.icons || !features.audio || !features.resourceLinks) return false;
  const { resource } = block as { readonly resource?: unknown };
  return !isObject(resource) || !('title' in resource);
}
