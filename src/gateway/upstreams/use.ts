import type { UpstreamEntry } from '../../config/servers.ts';
import { createAccounts, type Account, type Accounts } from './accounts.ts';
import type { Catalog } from './catalog.ts';
import type { Followed } from './followed.ts';
import { CallPlaces } from './call-places.ts';
import type { PooledConnection } from './pool.ts';
import { UpstreamLog } from './log.ts';
import type { UpstreamMeter } from './metrics.ts';
import type { UpstreamParts } from './upstream.ts';

/** The parts of an upstream that are made at its first use: of a thousand upstreams most are never used. */
export interface UpstreamUse {
  readonly accounts: Accounts;
  readonly catalogs: Map<string, Catalog>;
  readonly connections: Map<string, PooledConnection>;
  /** The keys of connections that the callers of an account share. */
  readonly sharedKeys: WeakMap<Account, string>;
  readonly followed: Map<string, Followed>;
  readonly places: CallPlaces;
  readonly log: UpstreamLog;
  readonly meter: UpstreamMeter;
}

/** Makes these parts; called once for an upstream. */
export function createUse(name: string, entry: UpstreamEntry, parts: UpstreamParts): UpstreamUse {
  const { clock, log, live, meters } = parts;
  return {
    accounts: createAccounts(name, entry),
    catalogs: new Map(),
    connections: new Map(),
    sharedKeys: new WeakMap(),
    followed: new Map(),
    places: new CallPlaces(entry.parallel, name),
    log: new UpstreamLog({ name, log, live, clock }),
    meter: meters.of(name),
  };
}
