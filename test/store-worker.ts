import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { borrowThread } from './borrowed-thread.ts';

const shipped = new URL('../dist/store-worker.js', import.meta.url);

/** The thread of a store as it is shipped: its source loads eight times slower, and hundreds of tests open a store. */
export function startBuiltWorker(): Worker {
  requireFreshStore();
  const worker = new Worker(shipped);
  // One that a test was not told to open must not keep the process alive.
  worker.unref();
  return worker;
}

/** The same in a thread that goes on to run the next store, for tests that need many. */
export function borrowBuiltWorker(): Worker {
  requireFreshStore();
  return borrowThread(shipped);
}

let isFresh = false;

// Sources do not change while tests run, so one look a process is enough.
function requireFreshStore(): void {
  isFresh ||= requireFreshBuild(join(import.meta.dirname, '..'));
}

/** Throws where a built thread or program is older than its sources, because tests would then run other code. */
export function requireFreshBuild(
  root: string,
  built = 'dist/store-worker.js',
  folders: readonly string[] = ['src/base', 'src/core', 'src/store'],
): true {
  const builtAt = statSync(join(root, built), { throwIfNoEntry: false })?.mtimeMs;
  if (builtAt === undefined) throw new Error(`There is no ${built}; run npm run build.`);
  const sources = folders.flatMap((folder) =>
    existsSync(join(root, folder))
      ? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
          (name) => `${folder}/${name}`,
        )
      : [],
  );
  const newer = sources
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .find((file) => statSync(join(root, file)).mtimeMs > builtAt);
  if (newer !== undefined) throw new Error(`${built} is older than ${newer}; run npm run build.`);
  return true;
}
