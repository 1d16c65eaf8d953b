import { hash } from 'node:crypto';

/** The head of a chain: its number of rows, and the hash that covers all of them. */
export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

/** One stored row: its number, the hash of all rows up to it, and its exact text. */
export interface ChainRow extends ChainHead {
  readonly chain: string;
  readonly body: string;
}

/** The head of an empty chain; its name is hashed, so that no chain can pass for another. */
export function genesis(chain: string): ChainHead {
  return { seq: 0, hash: hash('sha256', `toolcrib chain ${chain}`, 'base64url' as 'hex') };
}

/** The head after one more row. */
export function linkRow({ seq, hash: before }: ChainHead, body: string): ChainHead {
  const next = seq + 1;
  return { seq: next, hash: hash('sha256', `${before}\n${next}\n${body}`, 'base64url' as 'hex') };
}

/** A row as one line; the body is JSON text, so it has no tabs or newlines of its own. */
export function writeRow(chain: string, { seq, hash: own }: ChainHead, body: string): string {
  return `${chain}\t${seq}\t${own}\t${body}`;
}

/** Whether an entry is one line of one chain; anything else could pass for rows of others. */
export function isOneRow({ chain, body }: { readonly chain: string; readonly body: string }): boolean {
  return (
    chain !== '' &&
    !chain.includes('\t') &&
    !chain.includes('\n') &&
    !body.includes('\t') &&
    !body.includes('\n')
  );
}

/** Parses a line; `undefined` if it is not a row. */
export function parseRow(line: string): ChainRow | undefined {
  const parts = line.split('\t');
  const [chain, seq, own, body] = parts;
  if (parts.length !== 4 || !chain || !own || body === undefined || !/^[1-9]\d{0,15}$/.test(seq!))
    return undefined;
  return { chain, seq: Number(seq), hash: own, body };
}

/** The chain for the actions of operators and for changes of the record itself. */
export const OPERATOR_CHAIN = '@operator';
