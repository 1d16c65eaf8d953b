import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { watch, type ChokidarOptions, type FSWatcher } from 'chokidar';
import { isSource } from './files.ts';

/** Who hears what. */
export interface SourceListener {
  /** Told of every source file that appears, changes or goes. */
  readonly onChange: (path: string) => void;
  /** Told of a folder that went, came back or was replaced: a file that was in it may have gone without a word. */
  readonly onFolder: (folder: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Watches files, or a folder with all below it, for as long as they are what they were. */
export function followTree(
  paths: string | string[],
  options: ChokidarOptions,
  { onChange, onError }: SourceListener,
): FSWatcher {
  const tree = watch(paths, { ...options, ignoreInitial: true });
  tree.on('all', (_event, path) => (isSource(path) ? onChange(path) : undefined));
  return tree.on('error', onError);
}

/** A folder that is watched with all below it, and is found again after it was away or another was put in its place. */
export class WatchedFolder {
  readonly #folder: string;
  readonly #options: ChokidarOptions;
  readonly #listener: SourceListener;
  #identity: string | undefined;
  #tree: FSWatcher | undefined;
  #looking: Promise<void> | undefined;
  #isClosed = false;

  constructor(folder: string, options: ChokidarOptions, listener: SourceListener) {
    this.#folder = folder;
    this.#options = options;
    this.#listener = listener;
  }

  /** Whether the folder was not there when it was last looked for. */
  get isAway(): boolean {
    return this.#identity === undefined;
  }

  /** Begins to watch what is there. */
  async start(): Promise<void> {
    this.#identity = await identityOf(this.#folder);
    await this.#open();
  }

  /** Looks whether it is still the same folder; if not, tells what is in it now. */
  look(): Promise<void> {
    this.#looking ??= this.#compare().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#looking;
    await this.#tree?.close();
  }

  async #compare(): Promise<void> {
    const identity = await identityOf(this.#folder);
    if (identity === this.#identity || this.#isClosed) return;
    // A watcher clings to the folder it was given, whatever has its name by now.
    await this.#tree?.close();
    this.#identity = identity;
    await this.#open();
    if (this.#isClosed) return;
    this.#listener.onFolder(this.#folder);
    for (const [folder, names] of Object.entries(this.#tree?.getWatched() ?? {}))
      for (const name of names) if (isSource(name)) this.#listener.onChange(join(folder, name));
  }

  async #open(): Promise<void> {
    this.#tree = undefined;
    // Of a folder that is away, the watcher would read the one around it with everything that happens there.
    if (this.isAway || this.#isClosed) return;
    const tree = followTree(this.#folder, this.#options, this.#listener);
    this.#tree = tree;
    await new Promise<void>((resolve) => tree.once('ready', resolve));
  }
}

// The number of a folder that is gone may be given to the next one.
async function identityOf(folder: string): Promise<string | undefined> {
  try {
    const { dev, ino, birthtimeNs } = await stat(folder, { bigint: true });
    return `${dev} ${ino} ${birthtimeNs}`;
  } catch {
    return undefined;
  }
}
