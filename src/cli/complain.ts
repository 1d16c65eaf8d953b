import { concealValues } from '../config/conceal-values.ts';
import { printableLines } from './table.ts';

let concealed: readonly string[] = [];

/** Keeps what a configuration took from outside out of every complaint from now on. */
export function concealInComplaints({ secrets }: { readonly secrets: readonly string[] }): void {
  concealed = [...concealed, ...secrets];
}

/** Says on standard error why a command cannot do what it was asked to. */
export function complain(message: string): void {
  process.stderr.write(`toolcrib: ${printableLines(concealValues(message, concealed))}\n`);
}
