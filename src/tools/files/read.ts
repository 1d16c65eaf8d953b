import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { content as blocks } from '../../core/content.ts';
import { withEntry, type HeldEntry } from './jail.ts';
import { extensionOf, parsePath } from './jail-path.ts';
import { JailRefusal } from './jail-refusal.ts';
import { typeNotAllowed } from './failure.ts';
import { mediaTypeOf } from './media.ts';
import { isAllowedType, jailPlaceOf, type FileOperation, type FileOutcome } from './site.ts';

/** Returns a file, or the requested part of it: text as text, other bytes as a resource. */
export const read: FileOperation = (args, site) => {
  const { settings, signal } = site;
  const { maxBytes } = settings;
  const isPart = args.offset !== undefined || args.length !== undefined;
  return withEntry(jailPlaceOf(args.path, site), async (file): Promise<FileOutcome> => {
    if (!file.stats.isFile()) throw new JailRefusal('missing');
    if (!isAllowedType(file.name, settings)) return typeNotAllowed(settings);
    if (!isPart && file.stats.size > maxBytes) return tooLarge(file.stats.size, maxBytes);
    const start = Math.min(args.offset ?? 0, file.stats.size);
    const wanted = isPart ? Math.min(args.length ?? maxBytes, maxBytes) : maxBytes + 1;
    const bytes = await readBytes(file, { start, wanted }, signal);
    // The file grew since it was checked.
    if (!isPart && bytes.length > maxBytes) return tooLarge(bytes.length, maxBytes);
    const isLast = bytes.length < wanted;
    const text = toText(bytes, { isFirst: start === 0, isLast });
    const facts = {
      path: file.name,
      size: isPart ? file.stats.size : bytes.length,
      mime_type: mediaTypeOf(extensionOf(file.name), { isText: text !== undefined }),
    };
    const first = start + (text?.skipped ?? 0);
    const end = text ? first + Buffer.byteLength(text.content) : start + bytes.length;
    const part = isPart && { offset: first, next_offset: isLast || end >= file.stats.size ? null : end };
    if (text) return { ...facts, content: text.content, ...part };
    const resource = { uri: uriOf(parsePath(args.path, settings)), mimeType: facts.mime_type, blob: bytes };
    return { content: [blocks.resource(resource)], structuredContent: { ...facts, ...part } };
  });
};

const CHUNK = 256 * 1024;

async function readBytes(
  file: HeldEntry,
  { start, wanted }: { readonly start: number; readonly wanted: number },
  signal: AbortSignal,
): Promise<Buffer> {
  // It is a regular file; non-blocking, in case the file system makes it wait.
  const handle = await open(file.path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    while (length < wanted) {
      signal.throwIfAborted();
      const room = Buffer.allocUnsafe(Math.min(CHUNK, wanted - length));
      const { bytesRead } = await handle.read(room, 0, room.length, start + length);
      if (bytesRead === 0) break;
      chunks.push(room.subarray(0, bytesRead));
      length += bytesRead;
    }
    return Buffer.concat(chunks);
  } finally {
    await handle.close();
  }
}

interface Text {
  readonly content: string;
  /** Bytes at the start that complete a character of the previous part. */
  readonly skipped: number;
}

// A part may start and end within a character; the bytes cut off at its end start the next part.
function toText(
  bytes: Buffer,
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
): Text | undefined {
  let skipped = 0;
  const longest = isFirst ? 0 : 3;
  while (skipped < longest && isContinuation(bytes[skipped])) skipped++;
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return { content: decoder.decode(bytes.subarray(skipped), { stream: !isLast }), skipped };
  } catch {
    return undefined;
  }
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}

function tooLarge(size: number, maxBytes: number): FileOutcome {
  return {
    error: 'File too large',
    message: `The file has ${size} bytes; one call returns at most ${maxBytes}. Read it in parts with offset and length.`,
  };
}

// Does not reveal where the root is.
function uriOf(names: readonly string[]): string {
  return `files:///${names.map(encodeURIComponent).join('/')}`;
}
