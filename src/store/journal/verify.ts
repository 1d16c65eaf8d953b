import type { KeyObject } from 'node:crypto';
import { ToolcribError } from '../../base/errors.ts';
import { parseJson } from '../../base/parse-json.ts';
import { genesis, linkRow, parseRow, type ChainHead, type ChainRow, OPERATOR_CHAIN } from './chain.ts';
import {
  foldGroup,
  headsAfter,
  readCheckpoints,
  type Checkpoint,
  type CheckpointCopy,
} from './checkpoint.ts';
import { damageIn } from './damage.ts';
import type { SqliteDatabase } from '../sqlite/database.ts';
import { decodeText, textBytes, type StoredBytes } from './stored-text.ts';
import {
  collectCheckpoints,
  compareHeads,
  compareIntents,
  ProblemFound,
  type NamedCopy,
  type Problem,
} from './verify-checkpoints.ts';

const DAY_MS = 24 * 3_600_000;

/** The result of verifying the record. */
export interface JournalVerdict {
  readonly problem: Problem | undefined;
  readonly rows: number;
  readonly chains: number;
  readonly checkpoints: number;
  /**
   * Rows newer than the last checkpoint: their chain is intact, but nothing outside the database proves that none was
   * removed after them.
   */
  readonly unproven: number;
  /** The checkpoint up to which retention removed old rows, if it did. */
  readonly cut: { readonly checkpoint: number; readonly at: string } | undefined;
  /** Copies of the checkpoints that do not exist: not made yet, or removed. */
  readonly missingCopies: readonly string[];
}

/** What the record is verified against; all of it is kept outside the database. */
export interface VerifyOptions {
  readonly checkpointFiles: readonly string[];
  readonly key: KeyObject;
}

/** Verifies every row against its chain, and every chain against the checkpoints; names the first bad row. */
export function verifyJournal(db: SqliteDatabase, options: VerifyOptions): JournalVerdict {
  // Read before the database: a checkpoint is in the database before it is in a copy.
  const copies = options.checkpointFiles.map((file) => ({ file, ...readCopy(file) }));
  const walk = new Walk(db, copies);
  let part = 'checkpoints';
  try {
    // A snapshot of the record, even while a server writes to it.
    db.run('begin');
    const { checkpoints, inside } = collectCheckpoints(db, copies, options.key);
    part = 'rows';
    walk.go(checkpoints);
    part = 'heads of the chains';
    compareHeads(db, checkpoints.slice(0, inside));
    part = 'open intents';
    compareIntents(db, checkpoints[inside - 1]);
    if (inside < checkpoints.length)
      throw new ProblemFound({
        what: `The database ends at checkpoint ${inside}, a copy at ${checkpoints.length}.`,
      });
    return walk.verdict(undefined);
  } catch (error) {
    if (error instanceof ProblemFound) return walk.verdict(error.problem);
    const damage = damageIn(error);
    if (damage === undefined) throw error;
    return walk.verdict({ what: `The ${part} in the database cannot be read. ${damage}` });
  } finally {
    leave(db);
  }
}

// A copy that exists but cannot be read proves nothing either way.
function readCopy(file: string): CheckpointCopy {
  try {
    return readCheckpoints(file);
  } catch (cause) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    const text = `${file}, a copy of the checkpoints, cannot be read (${code}), so the record cannot be verified; fix that first.`;
    throw new ToolcribError('invalid_setup', text, { cause });
  }
}

// A damaged database may already have ended the transaction.
function leave(db: SqliteDatabase): void {
  try {
    db.run('rollback');
  } catch {
    // The problem found before is what matters.
  }
}

/** One pass over the rows. */
class Walk {
  readonly #db: SqliteDatabase;
  readonly #missingCopies: readonly string[];
  readonly #heads = new Map<string, ChainHead>();
  // How far checkpoints prove each chain.
  readonly #proven = new Map<string, number>();
  // Chains that grew since the last checkpoint.
  readonly #grown = new Set<string>();
  #rows = 0;
  #unproven = 0;
  #checkpoints = 0;
  #cut: Checkpoint | undefined;
  #isCutOnRecord = false;
  #group = 0;
  // A hash of the order of the rows since the last checkpoint.
  #order = '';
  #missingGroup: number | undefined;

  constructor(db: SqliteDatabase, copies: readonly NamedCopy[]) {
    this.#db = db;
    this.#missingCopies = copies.flatMap(({ file, isThere }) => (isThere ? [] : file));
  }

  go(checkpoints: readonly Checkpoint[]): void {
    const oldest = this.#db.get<{ id: number | null }>('select min(id) as id from journal')?.id;
    const rest = this.#startAt(oldest ?? undefined, checkpoints);
    let at = 0;
    this.#group = this.#cut?.upTo ?? 0;
    for (const { id, rows } of this.#db.iterate<{ id: number; rows: StoredBytes }>(
      `select id, ${textBytes('rows')} from journal order by id`,
    )) {
      while (rest[at] && rest[at]!.upTo < id) this.#compare(rest[at++]!);
      if (id !== this.#group + 1) this.#missingGroup ??= this.#group + 1;
      this.#group = id;
      const text = decodeText(rows);
      if (text === undefined) throw this.#found({ what: `Group ${id} of the record is not text.` });
      const hashes = text.split('\n').map((line) => this.#takeRow(line));
      this.#order = foldGroup(this.#order, id, hashes);
    }
    for (; at < rest.length; at++) this.#compare(rest[at]!);
    if (this.#missingGroup !== undefined) throw this.#found({ what: 'Rows are missing.' });
    if (this.#cut && !this.#isCutOnRecord)
      throw this.#found({
        chain: OPERATOR_CHAIN,
        what: 'Old rows were removed, and nothing on record says so.',
      });
  }

  verdict(problem: Problem | undefined): JournalVerdict {
    return {
      problem,
      rows: this.#rows,
      chains: this.#heads.size,
      checkpoints: this.#checkpoints,
      unproven: this.#unproven,
      cut: this.#cut && { checkpoint: this.#cut.n, at: this.#cut.at },
      missingCopies: this.#missingCopies,
    };
  }

  // Retention removes rows up to a checkpoint, whose heads replace them.
  #startAt(oldest: number | undefined, checkpoints: readonly Checkpoint[]): readonly Checkpoint[] {
    if (oldest === undefined || oldest === 1) return checkpoints;
    const cut = checkpoints.findLast(({ upTo }) => upTo < oldest);
    if (cut?.upTo !== oldest - 1)
      throw new ProblemFound({
        group: oldest,
        what: `The record begins with group ${oldest}, and no checkpoint ends before it.`,
      });
    for (const [chain, head] of headsAfter(checkpoints.slice(0, cut.n))) {
      this.#heads.set(chain, head);
      this.#proven.set(chain, head.seq);
    }
    this.#cut = cut;
    this.#checkpoints = cut.n;
    return checkpoints.slice(cut.n);
  }

  // Returns the hash of the row.
  #takeRow(line: string): string {
    const row = parseRow(line);
    if (!row) throw this.#found({ what: `Row ${this.#rows + 1} of the record is not a row.` });
    const { chain, seq, hash, body } = row;
    const right = linkRow(this.#heads.get(chain) ?? genesis(chain), body);
    if (seq !== right.seq) {
      const what = `Row ${seq} stands where row ${right.seq} should be: one is missing, repeated or moved.`;
      throw this.#found({ chain, seq: Math.min(seq, right.seq), what });
    }
    if (hash !== right.hash) throw this.#found({ chain, seq, what: 'The row was changed.' });
    this.#heads.set(chain, right);
    this.#grown.add(chain);
    this.#rows++;
    this.#unproven++;
    if (this.#cut && chain === OPERATOR_CHAIN) this.#lookForCut(row, this.#cut);
    return hash;
  }

  #lookForCut({ chain, seq, body }: ChainRow, cut: Checkpoint): void {
    const note = cutIn(body);
    if (note?.upTo !== cut.upTo) return;
    this.#isCutOnRecord = true;
    if (note.dueBefore <= Date.parse(cut.at))
      throw this.#found({ chain, seq, what: 'Rows were cut off that were younger than the row says.' });
  }

  #compare({ n, upTo, heads, order }: Checkpoint): void {
    for (const [chain, [seq, hash]] of Object.entries(heads)) {
      this.#grown.delete(chain);
      const head = this.#heads.get(chain) ?? genesis(chain);
      if (head.seq < seq) {
        const what = `The row is missing: checkpoint ${n} saw ${seq} rows.`;
        throw this.#found({ chain, seq: head.seq + 1, group: upTo, what });
      }
      if (head.seq !== seq || head.hash !== hash) throw this.#found(this.#notSeen(chain, head, n));
      this.#proven.set(chain, seq);
    }
    const [unseen] = this.#grown;
    if (unseen !== undefined) throw this.#found(this.#notSeen(unseen, this.#heads.get(unseen)!, n));
    // Checked after the chains, which can name the row at fault.
    if (order !== undefined && order !== this.#order && this.#missingGroup === undefined)
      throw this.#found({ group: upTo, what: `Rows are not in the order that checkpoint ${n} saw.` });
    this.#order = '';
    this.#checkpoints = n;
    this.#unproven = 0;
  }

  #notSeen(chain: string, { seq: last }: ChainHead, n: number): Problem {
    const seq = (this.#proven.get(chain) ?? 0) + 1;
    const which = seq === last ? `Row ${seq} is` : `Rows ${seq} to ${last} are`;
    return { chain, seq, what: `${which} not what checkpoint ${n} saw: rows were changed or put in.` };
  }

  #found(problem: Problem): ProblemFound {
    const { what } = problem;
    const missing = this.#missingGroup;
    return new ProblemFound({
      ...problem,
      group: missing ?? problem.group ?? this.#group,
      what: missing === undefined ? what : `${what} Group ${missing} of the record is missing.`,
    });
  }
}

interface CutNote {
  readonly upTo: unknown;
  /** Younger rows had to be kept; NaN if the row does not say. */
  readonly dueBefore: number;
}

function cutIn(body: string): CutNote | undefined {
  try {
    const facts = parseJson(body) as Readonly<Record<string, unknown>> | null;
    if (facts?.['kind'] !== 'cut') return undefined;
    const dueBefore = Date.parse(String(facts['at'])) - Number(facts['days']) * DAY_MS;
    return { upTo: facts['upTo'], dueBefore };
  } catch {
    return undefined;
  }
}
