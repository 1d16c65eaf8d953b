import { Worker } from 'node:worker_threads';

/** The thread of a store as it is shipped: loading its source takes eight times as long, and hundreds of tests open a store. */
export function startBuiltWorker(): Worker {
  const worker = new Worker(new URL('../dist/store-worker.js', import.meta.url));
  // One that a test was not told to open must not keep the process alive.
  worker.unref();
  return worker;
}
