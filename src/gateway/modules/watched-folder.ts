import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { watch, type ChokidarOptions, type FSWatcher } from 'chokidar';

/** Callbacks of a watcher. */
export interface SourceListener {
  /** Called for every watched file that appears, changes or disappears. */
  readonly onChange: (path: string) => void;
  /** Called for a folder that was removed, restored or replaced: files in it may have disappeared without an event. */
  readonly onFolder: (folder: string) => void;
  readonly onError: (error: unknown) => void;
  /** Which files are reported. */
  readonly isWatched: (path: string) => boolean;
}

/** Watches files, or a folder with everything below it, while they are not replaced. */
export function followTree(
  paths: string | string[],
  options: ChokidarOptions,
  { onChange, onError, isWatched }: SourceListener,
): FSWatcher {
  const tree = watch(paths, { ...options, ignoreInitial: true });
  tree.on('all', (_event, path) => (isWatched(path) ? onChange(path) : undefined));
  return tree.on('error', onError);
}

/** Watches a folder with everything below it, also after the folder was removed or replaced. */
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

  /** Whether the folder was missing at the last check. */
  get isAway(): boolean {
    return this.#identity === undefined;
  }

  /** Starts to watch the folder. */
  async start(): Promise<void> {
    this.#identity = await identityOf(this.#folder);
    await this.#open();
  }

  /** Checks whether it is still the same folder; if not, reports what is in it now. */
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
    // A watcher stays with the old folder, even if another has its name now.
    await this.#tree?.close();
    this.#identity = identity;
    await this.#open();
    if (this.#isClosed) return;
    this.#listener.onFolder(this.#folder);
    for (const [folder, names] of Object.entries(this.#tree?.getWatched() ?? {}))
      for (const name of names)
        if (this.#listener.isWatched(name)) this.#listener.onChange(join(folder, name));
  }

  async #open(): Promise<void> {
    this.#tree = undefined;
    // For a missing folder, the watcher would read its parent on every event there.
    if (this.isAway || this.#isClosed) return;
    const tree = followTree(this.#folder, this.#options, this.#listener);
    this.#tree = tree;
    await new Promise<void>((resolve) => tree.once('ready', resolve));
  }
}

// With the birth time, because the inode number of a removed folder may be reused.
async function identityOf(folder: string): Promise<string | undefined> {
  try {
    const { dev, ino, birthtimeNs } = await stat(folder, { bigint: true });
    return `${dev} ${ino} ${birthtimeNs}`;
  } catch {
    return undefined;
  }
}
