import { readdirSync } from 'node:fs';
import { queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import { Session } from '../../src/server/sessions/session.ts';
import type { Crib } from '../gateway.ts';
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

/** The programs of this process, whatever started them. */
export function programs(): readonly number[] {
  // The one that ends programs after a crash stays.
  return childrenOf(process.pid).alive.filter((pid) => commandOf(pid)[0] !== '/bin/sh');
}

/** What is held after everything that is not needed was collected, beside programs of earlier tests. */
export function holdings(earlier: readonly number[] = []): Holdings {
  collect();
  return {
    children: programs().filter((pid) => !earlier.includes(pid)).length,
    zombies: childrenOf(process.pid).zombies,
    descriptors: readdirSync('/proc/self/fd').length,
    heapMb: process.memoryUsage().heapUsed / 1_048_576,
  };
}

/** Waits until every program that is idle has ended, but for so many of the test itself, and those of earlier tests. */
export async function settle(own = 0, earlier: readonly number[] = []): Promise<void> {
  const left = (): number => programs().filter((pid) => !earlier.includes(pid)).length;
  const ended = (): number => left() + childrenOf(process.pid).zombies;
  await expect.poll(ended, { timeout: 30_000, interval: 200 }).toBe(own);
}

/** How many sessions this process keeps, of the gateway and of servers that the test runs beside it. */
export function sessions(): number {
  return queryObjects(Session, { format: 'count' });
}

/** How many connections to its servers a gateway has. */
export async function connectionsOf({ keys, port }: Crib): Promise<number> {
  const headers = { authorization: `Bearer ${keys.watcher}` };
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text();
  const counts = [...text.matchAll(/^toolcrib_upstream_connected\{.*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
