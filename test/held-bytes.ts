import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What this process holds in objects and buffers. */
export function heldBytes(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Holds what is held now to what was held before; what was collected is counted until it has been swept. */
export async function expectHeld(before: number, most: number): Promise<void> {
  // What was sent to this process may not have been read yet.
  for (let turn = 0; turn < 500; turn++) await turnOfLoop();
  await expect.poll(() => heldBytes() - before, { timeout: 5_000 }).toBeLessThan(most);
}
