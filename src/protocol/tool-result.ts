import type { ContentBlock } from '../core/content.ts';
import type { Result } from '../core/result.ts';
import type { JsonText } from './revision.ts';

/** A result's blocks; data without blocks of its own becomes its JSON text, so that every client can read it. */
export function blocksOf(result: Result, jsonText: JsonText): readonly ContentBlock[] {
  if (result.content) return result.content;
  if (typeof result.data === 'string') return [{ type: 'text', text: result.data }];
  return [
    {
      type: 'text',
      text: JSON.stringify(result.data, null, jsonText === 'pretty' ? 2 : undefined) ?? 'null',
    },
  ];
}

/** Structured data of a success; a failure carries none, because clients hold it against the output schema. */
export function dataOf(result: Result): unknown {
  return result.kind === 'done' ? result.data : undefined;
}
