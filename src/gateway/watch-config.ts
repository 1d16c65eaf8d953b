import { createHash } from 'node:crypto';
import { watch, type FSWatcher } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { systemClock, type Clock } from '../core/clock.ts';
import type { ToolcribError } from '../core/errors.ts';
import type { Log } from '../observe/log.ts';
import { complaintError } from './complaint.ts';
import { readConfig, type LoadedConfig, type LoadOptions } from './load-config.ts';

/** Who is told what. */
export interface WatchConfigOptions extends LoadOptions {
  /** Told of every good configuration; the next one waits until it is done. */
  readonly onChange: (loaded: LoadedConfig) => void | Promise<void>;
  /** Told what is wrong; the configuration in use is still the last good one. */
  readonly onProblem: (problem: ToolcribError) => void;
  readonly log: Log;
  readonly clock?: Clock;
}

/** A configuration file that is kept an eye on. */
export interface ConfigWatch {
  /** Reads the file again even if nothing in it changed, as on SIGHUP. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

/** Reads a configuration file again whenever it, or a secret file it names, changes. */
export async function watchConfig(file: string, options: WatchConfigOptions): Promise<ConfigWatch> {
  const watching = new Watching(file, options);
  await watching.start();
  return watching;
}

const QUIET_MS = 100;

class Watching implements ConfigWatch {
  readonly #file: string;
  readonly #options: WatchConfigOptions;
  readonly #clock: Clock;
  /** By folder: editors and secret mounts put a new file in the place of the old one, which a watch on the file would not notice. */
  readonly #folders = new Map<string, FSWatcher>();
  #files: ReadonlySet<string>;
  #digest = '';
  #cancel: (() => void) | undefined;
  #work: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(file: string, options: WatchConfigOptions) {
    this.#file = file;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#files = new Set([resolve(file)]);
  }

  async start(): Promise<void> {
    const { secretFiles } = await readConfig(this.#file, this.#options);
    this.#follow(secretFiles);
    this.#digest = await digestOf(this.#files);
  }

  reload(): Promise<void> {
    return this.#inTurn(() => this.#read());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    for (const watcher of this.#folders.values()) watcher.close();
    this.#folders.clear();
    await this.#work;
  }

  #follow(secretFiles: readonly string[]): void {
    if (this.#isClosed) return;
    this.#files = new Set([resolve(this.#file), ...secretFiles]);
    const wanted = new Set([...this.#files].map((path) => dirname(path)));
    for (const [folder, watcher] of this.#folders) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.#folders.delete(folder);
    }
    for (const folder of wanted) if (!this.#folders.has(folder)) this.#watch(folder);
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => this.#note(name));
      watcher.on('error', (error) => this.#blind(folder, error));
      this.#folders.set(folder, watcher);
    } catch (error) {
      this.#blind(folder, error);
    }
  }

  #blind(folder: string, error: unknown): void {
    this.#options.log('warn', 'Changes of the configuration are not noticed; send SIGHUP after a change.', {
      folder,
      error,
    });
  }

  #note(name: string | null): void {
    // Mounted secrets change by exchanging a hidden folder that their names lead into.
    const isOurs =
      name === null || name.startsWith('..') || [...this.#files].some((path) => basename(path) === name);
    if (!isOurs) return;
    this.#cancel?.();
    this.#cancel = this.#clock.after(QUIET_MS, () => void this.#inTurn(() => this.#readIfChanged()));
  }

  async #readIfChanged(): Promise<void> {
    if ((await digestOf(this.#files)) !== this.#digest) await this.#read();
  }

  async #read(): Promise<void> {
    if (this.#isClosed) return;
    // Taken first: what is saved while it is being read is noticed as another change.
    const digest = await digestOf(this.#files);
    const before = this.#files;
    const { loaded, complaints, secretFiles } = await readConfig(this.#file, this.#options);
    this.#follow(secretFiles);
    this.#digest = isSameSet(before, this.#files) ? digest : '';
    if (loaded) await this.#options.onChange(loaded);
    else this.#options.onProblem(complaintError(complaints.filter(({ severity }) => severity === 'error')));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const next = this.#work.then(work);
    this.#work = next.catch((error: unknown) => {
      this.#options.log('error', 'The new configuration could not be put to use.', { error });
    });
    return this.#work;
  }
}

function isSameSet(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return some.size === others.size && [...some].every((item) => others.has(item));
}

async function digestOf(files: ReadonlySet<string>): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) {
    const content = await readFile(file).catch(() => undefined);
    hash.update(`${file}\0${content ? content.length : 'absent'}\0`);
    if (content) hash.update(content);
  }
  return hash.digest('hex');
}
