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

/** What is signed from time to time: where every chain stood. Kept outside the database, it shows what was there. */
export interface Checkpoint {
  readonly n: number;
  readonly at: string;
  /** The last group of rows it covers. */
  readonly upTo: number;
  /** The heads of the chains that grew since the checkpoint before. */
  readonly heads: Readonly<Record<string, readonly [seq: number, hash: string]>>;
  /** What stands for the order of all rows since the checkpoint before; older versions did not sign it. */
  readonly order?: string;
  /** What stands for the open intents that are kept with it; older versions did not sign it. */
  readonly intents?: string;
  /** The fingerprint of the checkpoint before, so that none can be left out. */
  readonly before: string;
}

/** A checkpoint as a line of text with its signature. */
export function signCheckpoint(checkpoint: Checkpoint, key: KeyObject): string {
  const text = JSON.stringify(checkpoint);
  return `${sign(null, Buffer.from(text), key).toString('base64url')} ${text}`;
}

/** Reads a line and checks its signature; `undefined` when either is wrong. */
export function openCheckpoint(line: string, key: KeyObject): Checkpoint | undefined {
  const space = line.indexOf(' ');
  const text = line.slice(space + 1);
  const written = line.slice(0, Math.max(space, 0));
  const signature = Buffer.from(written, 'base64url');
  // Reading base64 forgives much; a signature is good in one spelling only.
  if (signature.toString('base64url') !== written) return undefined;
  if (!verify(null, Buffer.from(text), key, signature)) return undefined;
  return parseJson(text) as Checkpoint;
}

/** The fingerprint a checkpoint is known by in the next one. */
export function fingerprint(line: string): string {
  return createHash('sha256').update(line).digest('base64url');
}

/** What stands for the order of rows, chains and groups among each other, after one more group; it begins as an empty text. */
export function foldGroup(order: string, id: number, hashes: readonly string[]): string {
  return fingerprint(`${order}\n${id}\n${hashes.join('\n')}`);
}

/** What stands for a list of open intents, however it is ordered. */
export function intentsDigest(intents: readonly (readonly [call: string, intent: Entry])[]): string {
  const sorted = intents.map(([call, { chain, body }]) => [call, chain, body]);
  return fingerprint(JSON.stringify(sorted.toSorted(([one], [other]) => (one! < other! ? -1 : 1))));
}

/** The keys for signing and for checking, from the secret kept in a file. */
export function checkpointKeys(secretPem: string): {
  readonly signing: KeyObject;
  readonly checking: KeyObject;
} {
  const signing = createPrivateKey(secretPem);
  return { signing, checking: createPublicKey(signing) };
}

/** Adds lines to a file of checkpoints and waits until they are on the disk. */
export function keepCheckpoints(file: string, lines: readonly string[]): void {
  const descriptor = openSync(file, 'a+', 0o600);
  try {
    // After a line that was cut short, a new one is begun: the file is only ever added to.
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

/** What a file of checkpoints holds. */
export interface CheckpointCopy {
  /** By number: two processes may have added theirs in either order, and one of them twice. */
  readonly lines: ReadonlyMap<number, string>;
  /** What is in it that is no checkpoint, or another one of the same number. */
  readonly problem: string | undefined;
  /** Whether there is such a file. */
  readonly isThere: boolean;
}

/** Reads a file of checkpoints; no file is an empty one. A line that was cut short by a crash is passed over. */
export function readCheckpoints(file: string): CheckpointCopy {
  const lines = new Map<number, string>();
  const rest: { readonly line: string; readonly at: number }[] = [];
  let problem: string | undefined;
  const all = readLines(file);
  if (!all) return { lines, problem, isThere: false };
  for (const [index, line] of all.entries()) {
    const n = numberOf(line);
    const known = lines.get(n);
    // The last line may still be on its way.
    if (n === 0) {
      if (index < all.length - 1) rest.push({ line, at: index + 1 });
    } else if (known === undefined) lines.set(n, line);
    else if (known !== line) problem ??= `${file} holds two different checkpoints ${n}.`;
  }
  // A line that was cut short was written again, whole.
  const stray = rest.find(({ line }) => ![...lines.values()].some((whole) => whole.startsWith(line)));
  if (stray) problem ??= `Line ${stray.at} of ${file} is not a checkpoint.`;
  return { lines, problem, isThere: true };
}

// A line that was cut short ends otherwise: what comes last is always the fingerprint.
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

/** Where every chain stood after the given checkpoints. */
export function headsAfter(checkpoints: readonly Checkpoint[]): Map<string, ChainHead> {
  const heads = new Map<string, ChainHead>();
  for (const { heads: grown } of checkpoints)
    for (const [chain, [seq, hash]] of Object.entries(grown)) heads.set(chain, { seq, hash });
  return heads;
}
