import { createHash } from 'node:crypto';
import { watch, type FSWatcher } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { systemClock, type Clock } from '../base/clock.ts';
import type { ToolcribError } from '../base/errors.ts';
import type { Log } from '../observe/log.ts';
import { complaintError } from '../config/complaint.ts';
import { readConfig, type LoadedConfig, type LoadOptions, type Sources } from './settings/load-config.ts';

/** Callbacks and parts of a configuration watch. */
export interface WatchConfigOptions extends LoadOptions {
  /** Called with every valid configuration; the next one waits until it is done. */
  readonly onChange: (loaded: LoadedConfig) => void | Promise<void>;
  /** Called with the problem; the last valid configuration stays in use. */
  readonly onProblem: (problem: ToolcribError) => void;
  /** What the configuration in use was made from. */
  readonly sources: Sources;
  readonly log: Log;
  readonly clock?: Clock;
}

/** A watched configuration file. */
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
  /** By folder: editors and secret mounts replace the file, which a watch on the file would miss. */
  readonly #folders = new Map<string, FSWatcher>();
  #files: ReadonlySet<string>;
  /** The names of the files, and of their link targets, in their folders. */
  #names: ReadonlySet<string> = new Set();
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
    const { sources } = this.#options;
    await this.#follow(sources);
    this.#digest = digestOf(sources);
    // Catches changes made between the first reading and now.
    await this.#inTurn(() => this.#readIfChanged());
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

  async #follow(sources: Sources): Promise<void> {
    const files = [...sources.keys()];
    const targets = await Promise.all(files.map((file) => realpath(file).catch(() => file)));
    if (this.#isClosed) return;
    const paths = [...files, ...targets];
    this.#files = new Set(files);
    this.#names = new Set(paths.map((path) => basename(path)));
    const wanted = new Set(paths.map((path) => dirname(path)));
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
    // Mounted secrets are updated by replacing a hidden folder that their names link into.
    const isOurs = name === null || name.startsWith('..') || this.#names.has(name);
    if (!isOurs) return;
    this.#cancel?.();
    this.#cancel = this.#clock.after(QUIET_MS, () => void this.#inTurn(() => this.#readIfChanged()));
  }

  async #readIfChanged(): Promise<void> {
    const sources = await readAll(this.#files);
    if (digestOf(sources) !== this.#digest) return this.#read();
    // A link may have a new target with the same content.
    await this.#follow(sources);
  }

  async #read(): Promise<void> {
    if (this.#isClosed) return;
    const { loaded, complaints, sources } = await readConfig(this.#file, this.#options);
    await this.#follow(sources);
    this.#digest = digestOf(sources);
    if (loaded) await this.#options.onChange(loaded);
    else this.#options.onProblem(complaintError(complaints.filter(({ severity }) => severity === 'error')));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const next = this.#work.then(work);
    this.#work = next.catch((error: unknown) => {
      this.#options.log('error', 'The new configuration could not be applied.', { error });
    });
    return this.#work;
  }
}

async function readAll(files: ReadonlySet<string>): Promise<Sources> {
  const contents = new Map<string, Buffer | undefined>();
  for (const file of files) contents.set(file, await readFile(file).catch(() => undefined));
  return contents;
}

function digestOf(sources: Sources): string {
  const hash = createHash('sha256');
  for (const [file, content] of sources) {
    hash.update(`${file}\0${content ? content.length : 'absent'}\0`);
    if (content) hash.update(content);
  }
  return hash.digest('hex');
}
