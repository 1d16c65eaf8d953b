import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import type { ConfigInput } from '../../src/gateway/settings/config.ts';
import { Crib, type Serving } from './crib.ts';

const AT_ONCE = { timeout: 30_000 };

/** A deployment with a small disk, and what fills it. */
export interface SmallDisk {
  readonly crib: Crib;
  readonly serving: Serving;
  readonly filler: Filler;
}

/** Runs a deployment that keeps a copy of its checkpoints, and what the configuration says, on a disk of 48 MB. */
export async function onSmallDisk<T>(
  config: ConfigInput,
  use: (site: SmallDisk) => Promise<T>,
  { startsFull = false } = {},
): Promise<T> {
  const crib = new Crib();
  const disk = crib.path('disk');
  mkdirSync(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', disk], AT_ONCE);
  const filler = new Filler(crib.path('disk/filler'));
  try {
    const checkpoints = ['./disk/toolcrib.checkpoints', './toolcrib.checkpoints'];
    crib.configure({
      ...config,
      stages: { audit: { arguments: 'preview', checkpoints, checkpointSeconds: 1 } },
    });
    if (startsFull) filler.start();
    return await use({ crib, serving: await crib.start(), filler });
  } finally {
    filler.remove();
    // The server has to let go of the disk first; the folder goes last.
    await crib.stop();
    execFileSync('umount', [disk], AT_ONCE);
    await crib.close();
  }
}

/** Why small disks cannot be had here; `undefined` when they can. */
export function mountingObstacle(): string | undefined {
  const crib = new Crib();
  try {
    const disk = crib.path('disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk], { ...AT_ONCE, stdio: 'pipe' });
    execFileSync('umount', [disk], AT_ONCE);
    return undefined;
  } catch {
    return 'a small disk cannot be mounted here: it takes root and the mount command';
  } finally {
    void crib.close();
  }
}

/** Takes all space there is, and all that becomes free. */
class Filler {
  readonly #file: string;
  #timer: NodeJS.Timeout | undefined;
  #descriptor: number | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  start(): void {
    this.#descriptor = openSync(this.#file, 'a');
    this.#fill();
    this.#timer = setInterval(() => this.#fill(), 20);
  }

  remove(): void {
    clearInterval(this.#timer);
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
    rmSync(this.#file, { force: true });
  }

  #fill(): void {
    for (const filling of FILLINGS) {
      try {
        for (;;) writeSync(this.#descriptor!, filling);
      } catch {
        // Full, as far as pieces of this size go.
      }
    }
  }
}

const FILLINGS = [Buffer.alloc(1_048_576), Buffer.alloc(4_096)];
