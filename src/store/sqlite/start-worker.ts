import { Worker } from 'node:worker_threads';

/** Starts the thread that will own a database; it loads its modules and waits for its options. */
export function startStoreWorker(): Worker {
  const isSource = import.meta.url.endsWith('.ts');
  // Shared chunks of the bundle are one folder below its entries.
  const entry = new URL(isSource ? './worker.ts' : '../store-worker.js', import.meta.url);
  const worker = new Worker(entry, { ...(isSource && { execArgv: ['--import', 'jiti/register'] }) });
  // It may fail before anyone waits for it.
  worker.on('error', (error) => failures.set(worker, error));
  // An idle thread must not keep the process alive.
  worker.unref();
  return worker;
}

/** Why a thread has failed, if it has. */
export function workerFailure(worker: Worker): Error | undefined {
  return failures.get(worker);
}

const failures = new WeakMap<Worker, Error>();
