import { isUtf8 } from 'node:buffer';

/** SQL that reads a column of text as bytes, or as null where somebody put something else: the driver ends the process over text that is not valid. */
export function textBytes(column: string): string {
  return `case when typeof(${column}) = 'text' then cast(${column} as blob) end as ${column}`;
}

/** SQL that reads a column of whole numbers, or null where somebody put something else. */
export function wholeNumber(column: string): string {
  return `case when typeof(${column}) = 'integer' then ${column} end as ${column}`;
}

/** Bytes as the driver reads them from several rows. */
export type StoredBytes = ArrayBuffer | null;

/** The text that was read as bytes; `undefined` when it is none. */
export function decodeText(bytes: StoredBytes): string | undefined {
  return bytes !== null && isUtf8(bytes) ? Buffer.from(bytes).toString() : undefined;
}
