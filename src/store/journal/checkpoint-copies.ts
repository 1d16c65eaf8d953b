import { keepCheckpoints, readCheckpoints, type CheckpointCopy } from './checkpoint.ts';
import type { SqliteDatabase } from '../sqlite/database.ts';

/**
 * The copies of the checkpoints outside the database. A copy that cannot be written catches up later; one that has
 * other checkpoints is left unchanged.
 */
export class CheckpointCopies {
  readonly #db: SqliteDatabase;
  readonly #files: readonly string[];
  readonly #behind: Set<string>;

  constructor(db: SqliteDatabase, files: readonly string[]) {
    this.#db = db;
    this.#files = files;
    this.#behind = new Set(files);
  }

  /** Adds a checkpoint to every copy. */
  add(line: string): void {
    for (const file of this.#files) {
      if (this.#behind.has(file)) continue;
      try {
        keepCheckpoints(file, [line]);
      } catch {
        // `catchUp` tries again, and reports the failure.
        this.#behind.add(file);
      }
    }
    this.catchUp();
  }

  /** Adds the checkpoints that a crash or a full disk kept out of a copy. */
  catchUp(): void {
    let failure: unknown;
    for (const file of this.#behind) {
      try {
        this.#complete(file);
        this.#behind.delete(file);
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure as Error;
  }

  #complete(file: string): void {
    // Read before the database: a checkpoint is in the database before it is in a copy.
    const { lines, problem } = readCheckpoints(file);
    // Probably another file altogether: even a damaged copy still has some checkpoints.
    if (problem !== undefined && lines.size === 0)
      throw new Error(
        `${file} contains something other than checkpoints; name another file for their copies.`,
      );
    const kept = this.#db.all<KeptLine>('select n, line from checkpoints order by n');
    refuseOthers(file, lines, kept);
    const missing = kept.flatMap(({ n, line }) => (lines.has(n) ? [] : line));
    if (missing.length > 0) keepCheckpoints(file, missing);
  }
}

interface KeptLine {
  readonly n: number;
  readonly line: string;
}

// Adding to this copy would make it unusable as evidence of the checkpoints it has.
function refuseOthers(file: string, lines: CheckpointCopy['lines'], kept: readonly KeptLine[]): void {
  const own = new Map(kept.map(({ n, line }) => [n, line]));
  const others = Array.from(lines, ([n, line]) => (own.get(n) === line ? Infinity : n));
  const first = others.reduce((least, n) => Math.min(least, n), Infinity);
  if (first === Infinity) return;
  const found = own.has(first)
    ? `${file} holds another checkpoint ${first} than the database.`
    : `${file} holds checkpoint ${first}, which is not in the database (it ends at ${kept.at(-1)?.n ?? 0}): rows are gone, or an older database was put back.`;
  throw new Error(
    `${found} To see what is missing, run: toolcrib audit verify. To go on from this database, put the copies of the checkpoints elsewhere first.`,
  );
}
