import { systemClock, type Clock } from '../base/clock.ts';
import { Deadlines } from '../base/deadlines.ts';
import type { Log } from '../observe/log.ts';
import { Metrics } from '../observe/metrics.ts';
import type { Secrets } from '../observe/secrets.ts';
import { CallCounts } from '../stages/limits/call-counts.ts';
import { Grants } from '../stages/approve/grants.ts';
import { UntrustedReads } from '../stages/approve/untrusted-reads.ts';
import { Breakers } from '../stages/limits/breakers.ts';
import { Buckets } from '../stages/limits/buckets.ts';
import { RunningKeys } from '../stages/idempotency.ts';
import { ResultCache } from '../stages/cache/result-cache.ts';
import { PinBook } from '../stages/pin/pin-book.ts';
import { Slots } from '../stages/limits/slots.ts';
import type { OpenedStore } from './open-store.ts';
import { RunsUnderWay } from './agents/runs-under-way.ts';
import { TokenAllowance } from './agents/token-allowance.ts';
import type { Upstreams } from './upstreams/upstreams.ts';

/** State that survives a reload: counts, limits, grants and cached results. */
export interface Lasting extends OpenedStore {
  readonly clock: Clock;
  readonly log: Log;
  /** Every secret of this process, for redaction. */
  readonly live: Secrets;
  readonly metrics: Metrics;
  readonly deadlines: Deadlines;
  readonly buckets: Buckets;
  readonly slots: Slots;
  readonly breakers: Breakers;
  readonly results: ResultCache;
  readonly running: RunningKeys;
  /** The grants of a person at hand. */
  readonly grants: Grants;
  /** The callers who lately read texts of others. */
  readonly untrustedReads: UntrustedReads;
  /** The other servers, once there are any. */
  upstreams(): Promise<Upstreams>;
  /** Closes all of it. */
  close(): Promise<void>;
  readonly pins: PinBook;
  /** How much callers have used of agents. */
  readonly allowance: TokenAllowance;
  /** The calls that agents are answering. */
  readonly runs: RunsUnderWay;
}

/** Makes the state that survives reloads. */
export function createLasting(opened: OpenedStore, log: Log, live: Secrets): Lasting {
  const callCounts = new CallCounts();
  const metrics = new Metrics();
  let upstreams: Promise<Upstreams> | undefined;
  const loadUpstreams = async (): Promise<Upstreams> => {
    const { Upstreams: Kept } = await import('./upstreams/upstreams.ts');
    return new Kept({ clock: systemClock, log, live, metrics, database: opened.database });
  };
  return {
    ...opened,
    clock: systemClock,
    log,
    live,
    metrics,
    deadlines: new Deadlines(systemClock),
    buckets: new Buckets(callCounts),
    slots: new Slots(callCounts),
    breakers: new Breakers(),
    results: new ResultCache(),
    running: new RunningKeys(),
    grants: new Grants(systemClock),
    untrustedReads: new UntrustedReads(systemClock),
    upstreams: () => (upstreams ??= loadUpstreams()),
    close: async () => (await upstreams)?.close(),
    pins: new PinBook({ pins: opened.store.pins, log }),
    allowance: new TokenAllowance(systemClock),
    runs: new RunsUnderWay(),
  };
}
