// A thread that runs the built store again and again, each time as if it had the thread to itself.
import { syncBuiltinESMExports } from 'node:module';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import threads from 'node:worker_threads';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
setFlagsFromString('--no-expose-gc');

const { parentPort, workerData: built } = threads;
const timers = new Set();
let runs = 0;

for (const name of ['setTimeout', 'setInterval']) {
  const begin = globalThis[name];
  globalThis[name] = (...args) => {
    const timer = begin(...args);
    timers.add(timer);
    return timer;
  };
}

parentPort.on('message', (port) => {
  threads.parentPort = port;
  syncBuiltinESMExports();
  port.once('close', () => void cleanUp());
  runs += 1;
  // Another address is another module to Node.js, but what it imports is loaded already.
  void import(`${built}?run=${runs}`);
});

// What a store leaves behind would end with a thread of its own.
async function cleanUp() {
  for (const timer of timers) clearTimeout(timer);
  timers.clear();
  // SQLite lets go of its files when the last statement is collected, and what follows may look at them.
  collect();
  await turn();
  await turn();
  parentPort.postMessage('free');
}
