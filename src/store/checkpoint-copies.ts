import { keepCheckpoints, readCheckpoints } from './checkpoint.ts';
import type { SqliteDatabase } from './sqlite-database.ts';

/** The copies of the checkpoints outside the database; one that cannot be written catches up later. */
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
        // Tried once more below, where it is told.
        this.#behind.add(file);
      }
    }
    this.catchUp();
  }

  /** Adds to the copies what a crash or a full disk kept from them. */
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
    const { lines } = readCheckpoints(file);
    const missing = this.#db
      .all<{ n: number; line: string }>('select n, line from checkpoints order by n')
      .flatMap(({ n, line }) => (lines.has(n) ? [] : line));
    if (missing.length > 0) keepCheckpoints(file, missing);
  }
}
