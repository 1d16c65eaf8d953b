import { Worker } from 'node:worker_threads';

/** Starts the thread that will own a database; it loads what it needs while others do, and waits to be told which. */
export function startStoreWorker(): Worker {
  const isSource = import.meta.url.endsWith('.ts');
  // Parts of the bundle are one folder below its entries.
  const entry = new URL(isSource ? './worker.ts' : '../store-worker.js', import.meta.url);
  const worker = new Worker(entry, { ...(isSource && { execArgv: ['--import', 'jiti/register'] }) });
  // It may fail before anybody waits for it.
  worker.on('error', (error) => failures.set(worker, error));
  // A thread that only waits must not keep the process alive.
  worker.unref();
  return worker;
}

/** Why a thread has ended by itself, if it has. */
export function failureOf(worker: Worker): Error | undefined {
  return failures.get(worker);
}

const failures = new WeakMap<Worker, Error>();
