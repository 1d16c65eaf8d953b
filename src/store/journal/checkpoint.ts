import { createHash, createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto';
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
} from 'node:fs';
import { parseJson } from '../../base/parse-json.ts';
import type { ChainHead } from './chain.ts';
import type { Entry } from '../store.ts';

/** A signed list of the heads of all chains. A copy outside the database proves which rows the database had. */
export interface Checkpoint {
  readonly n: number;
  readonly at: string;
  /** The last group of rows it covers. */
  readonly upTo: number;
  /** The heads of the chains that grew since the previous checkpoint. */
  readonly heads: Readonly<Record<string, readonly [seq: number, hash: string]>>;
  /** A hash of the order of all rows since the previous checkpoint; older versions did not sign it. */
  readonly order?: string;
  /** A hash of the open intents stored with it; older versions did not sign it. */
  readonly intents?: string;
  /** The hash of the previous checkpoint, so that none can be left out. */
  readonly before: string;
}

/** A checkpoint as one line of text with its signature. */
export function signCheckpoint(checkpoint: Checkpoint, key: KeyObject): string {
  const text = JSON.stringify(checkpoint);
  return `${sign(null, Buffer.from(text), key).toString('base64url')} ${text}`;
}

/** Parses a line and checks its signature; `undefined` if either is wrong. */
export function openCheckpoint(line: string, key: KeyObject): Checkpoint | undefined {
  const space = line.indexOf(' ');
  const text = line.slice(space + 1);
  const written = line.slice(0, Math.max(space, 0));
  const signature = Buffer.from(written, 'base64url');
  // Base64 decoding is lenient; only the canonical spelling of a signature is accepted.
  if (signature.toString('base64url') !== written) return undefined;
  if (!verify(null, Buffer.from(text), key, signature)) return undefined;
  return parseJson(text) as Checkpoint;
}

/** The hash by which the next checkpoint names this one. */
export function fingerprint(line: string): string {
  return createHash('sha256').update(line).digest('base64url');
}

/** Adds a group of rows to the hash of their order, which starts as an empty text. */
export function foldGroup(order: string, id: number, hashes: readonly string[]): string {
  return fingerprint(`${order}\n${id}\n${hashes.join('\n')}`);
}

/** A hash of the open intents, whatever their order. */
export function intentsDigest(intents: readonly (readonly [call: string, intent: Entry])[]): string {
  const sorted = intents.map(([call, { chain, body }]) => [call, chain, body]);
  return fingerprint(JSON.stringify(sorted.toSorted(([one], [other]) => (one! < other! ? -1 : 1))));
}

/** The keys for signing and verifying, from the PEM secret. */
export function checkpointKeys(secretPem: string): {
  readonly signing: KeyObject;
  readonly checking: KeyObject;
} {
  const signing = createPrivateKey(secretPem);
  return { signing, checking: createPublicKey(signing) };
}

/** Appends lines to a file of checkpoints and syncs it to disk. */
export function keepCheckpoints(file: string, lines: readonly string[]): void {
  const descriptor = openSync(file, 'a+', 0o600);
  try {
    // A crash may have cut the last line; the file is only appended to, so a new line is started.
    const start = endsInsideLine(descriptor) ? '\n' : '';
    writeFileSync(descriptor, `${start}${lines.join('\n')}\n`);
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function endsInsideLine(descriptor: number): boolean {
  const { size } = fstatSync(descriptor);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(descriptor, last, 0, 1, size - 1);
  return last[0] !== NEWLINE;
}

const NEWLINE = 0x0a;

/** The contents of a file of checkpoints. */
export interface CheckpointCopy {
  /** By number: two processes may have written in any order, and may have written the same one twice. */
  readonly lines: ReadonlyMap<number, string>;
  /** A line that is no checkpoint, or a second one of the same number. */
  readonly problem: string | undefined;
  /** Whether the file exists. */
  readonly isThere: boolean;
}

/** Reads a file of checkpoints; a missing file is empty. A line that a crash cut off is skipped. */
export function readCheckpoints(file: string): CheckpointCopy {
  const lines = new Map<number, string>();
  const rest: { readonly line: string; readonly at: number }[] = [];
  let problem: string | undefined;
  const all = readLines(file);
  if (!all) return { lines, problem, isThere: false };
  for (const [index, line] of all.entries()) {
    const n = numberOf(line);
    const known = lines.get(n);
    // The last line may still be being written.
    if (n === 0) {
      if (index < all.length - 1) rest.push({ line, at: index + 1 });
    } else if (known === undefined) lines.set(n, line);
    else if (known !== line) problem ??= `${file} holds two different checkpoints ${n}.`;
  }
  // A line that was cut off was later written again in full.
  const stray = rest.find(({ line }) => ![...lines.values()].some((whole) => whole.startsWith(line)));
  if (stray) problem ??= `Line ${stray.at} of ${file} is not a checkpoint.`;
  return { lines, problem, isThere: true };
}

// A line that was cut off does not end with the hash, which always comes last.
function numberOf(line: string): number {
  const start = /^[\w-]{1,200} \{"n":([1-9]\d{0,14}),/.exec(line);
  return start && /"before":"[\w-]{0,60}"\}$/.test(line.slice(-80)) ? Number(start[1]) : 0;
}

function readLines(file: string): string[] | undefined {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The head of every chain after the given checkpoints. */
export function headsAfter(checkpoints: readonly Checkpoint[]): Map<string, ChainHead> {
  const heads = new Map<string, ChainHead>();
  for (const { heads: grown } of checkpoints)
    for (const [chain, [seq, hash]] of Object.entries(grown)) heads.set(chain, { seq, hash });
  return heads;
}
