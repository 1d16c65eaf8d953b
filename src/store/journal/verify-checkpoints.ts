import type { KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  fingerprint,
  headsAfter,
  intentsDigest,
  openCheckpoint,
  type Checkpoint,
  type CheckpointCopy,
} from './checkpoint.ts';
import type { SqliteDatabase } from '../sqlite/database.ts';
import { decodeText, textBytes, wholeNumber, type StoredBytes } from './stored-text.ts';

/** The first problem found. */
export interface Problem {
  readonly chain?: string;
  /** The first bad row of its chain. */
  readonly seq?: number;
  /** The group in which the problem was found. */
  readonly group?: number;
  readonly what: string;
}

/** Thrown to end the check with a problem. */
export class ProblemFound extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.what);
    this.problem = problem;
  }
}

/** A copy of the checkpoints, and where it is. */
export interface NamedCopy extends CheckpointCopy {
  readonly file: string;
}

interface Collected {
  /** All checkpoints, including those that only a copy has. */
  readonly checkpoints: Checkpoint[];
  /** How many of them are in the database. */
  readonly inside: number;
}

/**
 * Merges the checkpoints of the database and its copies, and checks that each is signed and follows the previous one.
 */
export function collectCheckpoints(
  db: SqliteDatabase,
  copies: readonly NamedCopy[],
  key: KeyObject,
): Collected {
  const kept = db.all<{ n: number; up_to: number | null; at: number | null; line: StoredBytes }>(
    `select n, ${wholeNumber('up_to')}, ${wholeNumber('at')}, ${textBytes('line')} from checkpoints order by n`,
  );
  const lines = kept.map(({ n, line }, index) => {
    if (n !== index + 1) throw new ProblemFound({ what: `The database lacks checkpoint ${index + 1}.` });
    const text = decodeText(line);
    if (text === undefined) throw new ProblemFound({ what: `Checkpoint ${n} in the database is not text.` });
    return text;
  });
  for (const copy of comparable(copies, kept.length)) addCopy(lines, copy, kept.length);
  const checkpoints = lines.map((line, index) => openNext(line, lines[index - 1], { n: index + 1, key }));
  const moved = kept.find(({ up_to: upTo }, index) => checkpoints[index]!.upTo !== upTo);
  if (moved)
    throw new ProblemFound({ what: `The place of checkpoint ${moved.n} in the database was changed.` });
  const shifted = kept.find(({ at }, index) => Date.parse(checkpoints[index]!.at) !== at);
  if (shifted)
    throw new ProblemFound({ what: `The time of checkpoint ${shifted.n} in the database was changed.` });
  return { checkpoints, inside: kept.length };
}

// A copy may not exist yet: because it was just configured, or because of a crash after the first checkpoint.
// Otherwise, without any copy nothing outside the database proves what it held.
function comparable(copies: readonly NamedCopy[], inside: number): readonly NamedCopy[] {
  const present = copies.filter(({ isThere }) => isThere);
  // The first copy may have been created since it was read.
  const isLost = present.length === 0 && !copies.some(({ file }) => existsSync(file));
  if (isLost && copies.length > 0 && inside > 1) {
    const files = copies.map(({ file }) => file).join(', ');
    throw new ProblemFound({
      what: `No copy of the checkpoints is left; the database holds ${inside}: ${files}`,
    });
  }
  return present;
}

function addCopy(lines: string[], { file, lines: copied, problem }: NamedCopy, inside: number): void {
  if (problem !== undefined) throw new ProblemFound({ what: problem });
  let last = 0;
  for (const [n, line] of copied) {
    last = Math.max(last, n);
    if (lines[n - 1] !== undefined && lines[n - 1] !== line)
      throw new ProblemFound({ what: `Checkpoint ${n} in ${file} is not the one in the database.` });
  }
  // A crash can happen between writing the last checkpoint and its copy; the next start adds what is missing.
  for (let n = 1; n <= Math.max(inside - 1, last); n++) {
    const line = copied.get(n);
    if (line === undefined)
      throw new ProblemFound({ what: `${file} lacks checkpoint ${n}; there are ${Math.max(inside, last)}.` });
    lines[n - 1] ??= line;
  }
}

function openNext(
  line: string,
  previous: string | undefined,
  { n, key }: { readonly n: number; readonly key: KeyObject },
): Checkpoint {
  const checkpoint = openCheckpoint(line, key);
  if (!checkpoint)
    throw new ProblemFound({ what: `Checkpoint ${n} was not signed with this key, or was changed.` });
  const before = previous === undefined ? '' : fingerprint(previous);
  if (checkpoint.n !== n || checkpoint.before !== before)
    throw new ProblemFound({ what: `Checkpoint ${n} does not follow the one before it.` });
  return checkpoint;
}

interface KeptIntent {
  readonly call: StoredBytes;
  readonly chain: StoredBytes;
  readonly body: StoredBytes;
}

/** A start ends the stored open intents, so they must be those that were last signed. */
export function compareIntents(db: SqliteDatabase, last: Checkpoint | undefined): void {
  // Not signed, or signed by an older version: nothing proves what they were.
  if (last && last.intents === undefined) return;
  const kept = db.all<KeptIntent>(
    `select ${textBytes('call')}, ${textBytes('chain')}, ${textBytes('body')} from intents`,
  );
  const intents = kept.map(({ call, chain, body }) => {
    const entry = { chain: decodeText(chain) ?? '', body: decodeText(body) ?? '' };
    return [decodeText(call) ?? '', entry] as const;
  });
  if (intentsDigest(intents) !== (last?.intents ?? intentsDigest([])))
    throw new ProblemFound({ what: 'The open intents kept in the database are not those that were signed.' });
}

interface KeptHead {
  readonly chain: StoredBytes;
  readonly seq: number | null;
  readonly hash: StoredBytes;
}

/** A server continues from the stored heads, so they must be those that were signed. */
export function compareHeads(db: SqliteDatabase, checkpoints: readonly Checkpoint[]): void {
  const signed = headsAfter(checkpoints);
  for (const kept of db.all<KeptHead>(
    `select ${textBytes('chain')}, ${wholeNumber('seq')}, ${textBytes('hash')} from heads`,
  )) {
    const chain = decodeText(kept.chain) ?? '';
    const head = signed.get(chain);
    if (head?.seq !== kept.seq || head?.hash !== decodeText(kept.hash))
      throw new ProblemFound({
        chain,
        what: 'The head kept in the database is not the one that was signed.',
      });
    signed.delete(chain);
  }
  const [missing] = signed.keys();
  if (missing !== undefined)
    throw new ProblemFound({ chain: missing, what: 'The head that was signed is not kept in the database.' });
}
