import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { concealValues } from '../config/expand.ts';
import { printableLines } from './table.ts';

let concealed: readonly string[] = [];

/** Redacts values from outside in all later error messages. */
export function concealInComplaints({ secrets }: { readonly secrets: readonly string[] }): void {
  concealed = [...concealed, ...secrets];
}

/** A text without the values that were given to `concealInComplaints`. */
export function withoutConcealed(text: string): string {
  return concealValues(text, concealed);
}

/** The same for a value that becomes JSON, in whose text a value such as "true" is not only between quotes. */
export function valuesWithoutConcealed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(valuesWithoutConcealed);
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [withoutConcealed(name), valuesWithoutConcealed(part)]),
    );
  if (!['string', 'number', 'bigint'].includes(typeof value)) return value;
  const text = String(value);
  const safe = withoutConcealed(text);
  return safe === text ? value : safe;
}

/** What is read from a file; one that cannot be read is complained about, and has nothing. */
export async function readOrComplain<T>(reading: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    complain(error.message);
    return [];
  }
}

/** Writes to standard error why a command failed. */
export function complain(message: string): void {
  process.stderr.write(`toolcrib: ${printableLines(withoutConcealed(message))}\n`);
}
