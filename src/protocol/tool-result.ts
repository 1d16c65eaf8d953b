import type { ContentBlock } from '../core/content.ts';
import type { Result } from '../core/result.ts';
import type { JsonText } from './revision.ts';

/** What a revision puts around a result's content. */
export interface Surroundings {
  /** Members that come first, each with its comma. */
  readonly lead: string;
  /** The structured value as this revision can carry it; `undefined` for none. */
  readonly data: unknown;
  /** The text of `_meta`; `undefined` for none. */
  readonly meta: string | undefined;
  readonly jsonText: JsonText;
}

/** The JSON text of a tool's result, written in pieces: stringifying it as one object costs twice as much. */
export function writeToolResult(result: Result, { lead, data, meta, jsonText }: Surroundings): string {
  let text = `{${lead}"content":${writeBlocks(blocksOf(result, jsonText))}`;
  text += member('structuredContent', data);
  text += result.kind === 'failed' ? ',"isError":true' : ',"isError":false';
  if (meta !== undefined) text += `,"_meta":${meta}`;
  if (result.extra) text += writeExtra(result.extra);
  return `${text}}`;
}

/** Structured data of a success; a failure carries none, because clients hold it against the output schema. */
export function dataOf(result: Result): unknown {
  return result.kind === 'done' ? result.data : undefined;
}

// Data without blocks of its own becomes its JSON text, so that every client can read it.
function blocksOf({ content, data }: Result, jsonText: JsonText): readonly ContentBlock[] {
  if (content) return content;
  if (typeof data === 'string') return [{ type: 'text', text: data }];
  return [
    { type: 'text', text: JSON.stringify(data, null, jsonText === 'pretty' ? 2 : undefined) ?? 'null' },
  ];
}

function writeBlocks(blocks: readonly ContentBlock[]): string {
  const [first] = blocks;
  const isPlainText = blocks.length === 1 && first?.type === 'text' && Object.keys(first).length === 2;
  return isPlainText && typeof first.text === 'string'
    ? `[{"type":"text","text":${JSON.stringify(first.text)}}]`
    : JSON.stringify(blocks);
}

// Fields the protocol itself writes are not the handler's to set.
const OWN_FIELDS = new Set(['resultType', 'ttlMs', 'cacheScope']);

function writeExtra(extra: NonNullable<Result['extra']>): string {
  return Object.entries(extra)
    .map(([key, value]) => (OWN_FIELDS.has(key) ? '' : member(key, value)))
    .join('');
}

// Functions and the like have no JSON and are left out, as JSON.stringify leaves them out of objects.
function member(key: string, value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? '' : `,${JSON.stringify(key)}:${text}`;
}
