import { isUtf8 } from 'node:buffer';

/** SQL that reads a text column as bytes, or null for other types: the driver ends the process on invalid text. */
export function textBytes(column: string): string {
  return `case when typeof(${column}) = 'text' then cast(${column} as blob) end as ${column}`;
}

/** SQL that reads an integer column, or null for other types. */
export function wholeNumber(column: string): string {
  return `case when typeof(${column}) = 'integer' then ${column} end as ${column}`;
}

/** Bytes as the driver returns them from several rows. */
export type StoredBytes = ArrayBuffer | null;

/** The text that was read as bytes; `undefined` if it is not valid text. */
export function decodeText(bytes: StoredBytes): string | undefined {
  return bytes !== null && isUtf8(bytes) ? Buffer.from(bytes).toString() : undefined;
}
