import { open, type FileHandle } from 'node:fs/promises';
import { recordUnavailable, type Committed, type Entry, type Journal } from '../store.ts';

/** A record that is a file of JSON lines, to be closed by the code that opened it. */
export interface FileJournal extends Journal {
  /** Waits for the last rows and closes the file. */
  close(): Promise<void>;
}

/**
 * Opens a file that rows are appended to, one JSON text a line; only its owner can read it. A row is on the disk when
 * `append` resolves. There are no keys and no stored approvals: what needs those needs a store.
 */
export async function openFileJournal(file: string): Promise<FileJournal> {
  return new LinesOfFile(await open(file, 'a', 0o600));
}

interface Waiting {
  readonly line: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

class LinesOfFile implements FileJournal {
  readonly #handle: FileHandle;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #isReady = true;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  append({ body }: Entry): Promise<void> {
    if (!this.#isReady) return Promise.reject(recordUnavailable());
    const written = new Promise<void>((resolve, reject) => {
      this.#waiting.push({ line: `${body}\n`, resolve, reject });
    });
    this.#writing ??= this.#write();
    return written;
  }

  async commit(...[entry, reservation, approval]: Parameters<Journal['commit']>): Promise<Committed> {
    if (reservation !== undefined || approval !== undefined)
      throw recordUnavailable('A file of lines keeps no keys and no approvals.');
    await this.append(entry);
    return 'committed';
  }

  async close(): Promise<void> {
    this.#isReady = false;
    await this.#writing;
    await this.#handle.close();
  }

  // Rows that come while the disk is busy are written together.
  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        await this.#handle.appendFile(group.map(({ line }) => line).join(''));
        await this.#handle.datasync();
        for (const { resolve } of group) resolve();
      } catch (error) {
        // The content of the file is unknown now, so no more calls may run.
        this.#isReady = false;
        for (const { reject } of group) reject(recordUnavailable(String(error)));
      }
    }
    this.#writing = undefined;
  }
}
