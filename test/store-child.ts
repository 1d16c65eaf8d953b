import { openSqliteStore } from '../src/store/sqlite/store.ts';
import { processName } from '../src/core/record.ts';
import { startBuiltWorker } from './store-worker.ts';

// A process with a task and a call under way, which runs until it is killed.
const [file, signingKey] = process.argv.slice(2) as [string, string];
const store = await openSqliteStore({ file, signingKey, checkpointFiles: [], worker: startBuiltWorker() });
const now = Date.now();
await store.memory.tasks.put({
  id: 'theirs',
  owner: '4:acme/ada',
  status: 'working',
  createdAt: now,
  updatedAt: now,
  ttlMs: 3_600_000,
});
const body = JSON.stringify({ kind: 'intent', call: `${processName}-1`, tool: 'pay' });
await store.journal.commit({ chain: 'acme', body }, undefined);
process.stdout.write(`working as ${process.pid}.\n`);
setInterval(() => {}, 60_000);
