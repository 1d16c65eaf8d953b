import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { Part, ToolRequest } from './model.ts';

type Values = Readonly<Record<string, unknown>>;

/** A text of an object that came from elsewhere; empty where it is none. */
export function textAt(object: Values, key: string): string {
  const value = object[key];
  return typeof value === 'string' ? value : '';
}

/** An object within an object that came from elsewhere; empty where it is none. */
export function objectAt(object: Values, key: string): Values {
  const value = object[key];
  return isObject(value) ? value : {};
}

/** A count of an object that came from elsewhere. */
export function countAt(object: Values, key: string): number | undefined {
  const value = object[key];
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** The arguments a model wrote; text that is no JSON object stays text. */
export function readArguments(text: string): ToolRequest['arguments'] {
  if (text.trim() === '') return {};
  try {
    const value = parseJson(text);
    return isObject(value) ? value : text;
  } catch {
    return text;
  }
}

/** Arguments as the text that a model wrote, or would have written. */
export function writeArguments(args: ToolRequest['arguments']): string {
  return typeof args === 'string' ? args : JSON.stringify(args);
}

/** The texts of some parts, one below the other. */
export function textOfParts(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** A picture as an address that holds it. */
export function dataUrl({ mimeType, data }: Extract<Part, { type: 'image' }>): string {
  return `data:${mimeType};base64,${data}`;
}

/** What is put before the text of a failed result where the API has no field for it. */
export const FAILED_MARK = 'The tool failed. ';
