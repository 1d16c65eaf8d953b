import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { formatJson, printable } from '../table.ts';
import { readable } from './readable.ts';
import { renderMarkdown, type Look } from './render-markdown.ts';

/** How content of a server is shown. */
export interface ShowOptions {
  /** Where pictures and other files are saved. */
  readonly folder: string;
  /** The name of saved files; a number is appended. */
  readonly name: string;
  /** How Markdown is laid out. */
  readonly look: Look;
}

/** Content blocks as text; other blocks are saved to files, and the names of these are shown. */
export async function showContent(blocks: readonly unknown[], options: ShowOptions): Promise<string> {
  const parts: string[] = [];
  for (const block of blocks) parts.push(await showBlock(isObject(block) ? block : {}, options));
  return parts.map((part) => (part.endsWith('\n') ? part : `${part}\n`)).join('');
}

async function showBlock(block: Readonly<Record<string, unknown>>, options: ShowOptions): Promise<string> {
  const { type, text, data, mimeType, resource } = block;
  if (type === 'text' && typeof text === 'string') return showText(text, options);
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return save(type, { data, mimeType }, options);
  if (type === 'resource' && isObject(resource)) return showResource(resource, options);
  if (type === 'resource_link')
    return `${wordOf(block['name'], 'resource')}: ${wordOf(block['uri'], 'without an address')}`;
  return formatJson(block);
}

/** The contents of a resource as text; other contents are saved to files. */
export async function showResource(
  resource: Readonly<Record<string, unknown>>,
  options: ShowOptions,
): Promise<string> {
  const { text, blob, mimeType } = resource;
  if (typeof text === 'string') return showText(text, options);
  if (typeof blob === 'string') return save('resource', { data: blob, mimeType }, options);
  return wordOf(resource['uri'], 'without an address');
}

function showText(text: string, { look }: ShowOptions): string {
  return look === 'raw' ? readable(text) : renderMarkdown(readable(text), look);
}

function wordOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? printable(value) : otherwise;
}

const ENDINGS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'application/pdf': 'pdf',
  'application/json': 'json',
  'text/plain': 'txt',
};
const MOST_TRIES = 10_000;

async function save(
  kind: string,
  { data, mimeType }: { readonly data: string; readonly mimeType: unknown },
  { folder, name }: ShowOptions,
): Promise<string> {
  const bytes = Buffer.from(data, 'base64');
  const ending = ENDINGS[typeOf(mimeType)] ?? 'bin';
  // The server chooses neither the folder nor the ending, and no file is overwritten.
  const base = name.replaceAll(/[^\w-]+/g, '_').slice(0, 60) || kind;
  for (let number = 1; number <= MOST_TRIES; number++) {
    const file = join(folder, `${base}-${number}.${ending}`);
    try {
      await writeFile(file, bytes, { flag: 'wx' });
      return `${kind} saved: ${file} (${wordOf(mimeType, 'of unknown type')}, ${bytes.length} bytes)`;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw unsaved(folder, cause);
    }
  }
  throw unsaved(folder, undefined);
}

function typeOf(mimeType: unknown): string {
  return typeof mimeType === 'string' ? mimeType.split(';', 1)[0]!.trim().toLowerCase() : '';
}

function unsaved(folder: string, cause: unknown): ToolcribError {
  return new ToolcribError(
    'invalid_setup',
    `No file can be saved in ${folder}; make that folder, or name another with --save.`,
    {
      cause,
    },
  );
}
