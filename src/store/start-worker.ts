import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { ToolcribError } from '../core/errors.ts';

/** Starts the thread that will own a database; it loads what it needs while others do, and waits to be told which. */
export function startStoreWorker(): Worker {
  const entry = workerEntry();
  const worker = new Worker(entry, {
    ...(entry.pathname.endsWith('.ts') && { execArgv: ['--import', 'jiti/register'] }),
  });
  // A thread that only waits must not keep the process alive.
  worker.unref();
  return worker;
}

// Beside this module while it is source; beside or above it once it is part of a bundle.
function workerEntry(): URL {
  const candidates = ['./sqlite-worker.ts', './store-worker.js', '../store-worker.js'];
  const entry = candidates.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
  if (!entry)
    throw new ToolcribError('invalid_setup', 'The package is incomplete: store-worker.js is missing.');
  return entry;
}
