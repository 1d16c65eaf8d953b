import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import { childrenOf, commandOf } from './process-counts.ts';

/** What this process holds of the machine. */
export interface Holdings {
  readonly children: number;
  readonly zombies: number;
  readonly descriptors: number;
  readonly heapMb: number;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What is held after everything that is not needed was collected. */
export function holdings(): Holdings {
  collect();
  const { alive, zombies } = childrenOf(process.pid);
  return {
    // The one that ends programs after a crash stays.
    children: alive.filter((pid) => commandOf(pid)[0] !== '/bin/sh').length,
    zombies,
    descriptors: readdirSync('/proc/self/fd').length,
    heapMb: process.memoryUsage().heapUsed / 1_048_576,
  };
}

/** Waits until every program that is idle has ended, but for those of the test itself. */
export async function settle(own = 0): Promise<void> {
  const left = (): number => holdings().children + holdings().zombies;
  await expect.poll(left, { timeout: 30_000, interval: 200 }).toBe(own);
}
