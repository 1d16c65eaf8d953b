import { autocannonGenerator } from './autocannon.ts';
import type { LoadGenerator } from './load.ts';
import { findWrk } from './wrk.ts';

/** The load generator of this run: wrk where it is installed, autocannon elsewhere. */
export function findLoadGenerator(): LoadGenerator {
  return findWrk() ?? autocannonGenerator;
}
