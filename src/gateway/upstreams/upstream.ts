import type { Client } from '../../client/client.ts';
import { knownCapabilities, RELAYABLE, relayedCapabilities } from '../../client/relay/capabilities.ts';
import { nothing, type Awaitable } from '../../base/awaitable.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { UpstreamEntry } from '../../config/servers.ts';
import { unknownTool } from '../../core/absent-tool.ts';
import type { Call } from '../../core/call.ts';
import { ownerOf, type Caller } from '../../core/caller.ts';
import type { Result } from '../../core/result.ts';
import type { Change } from '../../core/source.ts';
import type { Log } from '../../observe/log.ts';
import type { Secrets } from '../../observe/secrets.ts';
import { cleanReadable, createDefinitionCleaner } from '../../stages/cleaning/clean-definitions.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { UpstreamSettings } from '../settings/upstreams.ts';
import { createAccounts, type Account, type Accounts } from './accounts.ts';
import { Catalog } from './catalog.ts';
import { Followed } from './followed.ts';
import { Gate, Place } from './call-places.ts';
import type { Opened, Pool, PooledConnection } from './pool.ts';
import { upstreamFailure } from './failure.ts';
import { UpstreamLog } from './log.ts';
import { upstreamMeter, type UpstreamMeter } from './metrics.ts';
import { reasonOf, upstreamState, type UpstreamState } from './state.ts';

/** What an upstream is made with. */
export interface UpstreamParts {
  readonly name: string;
  readonly entry: UpstreamEntry;
  readonly pool: Pool;
  readonly clock: Clock;
  readonly log: Log;
  readonly live: Secrets;
  readonly version: string;
  readonly metrics: Metrics;
  readonly settings: () => UpstreamSettings;
  /** Told when it may stand differently from before. */
  readonly onState: () => void;
}

/** A connection that is one caller's alone, and what its client declared. */
interface OwnConnection {
  readonly caller: Caller;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

// How long a program that let a call time out has to say anything at all.
const ALIVE_MS = 5_000;

/** One server behind the gateway: its connections, what it offers, how it stands. Nothing happens before its use. */
export class Upstream {
  readonly name: string;
  readonly entry: UpstreamEntry;
  readonly #parts: UpstreamParts;
  readonly #accounts: Accounts;
  readonly #catalogs = new Map<string, Catalog>();
  readonly #connections = new Map<string, PooledConnection>();
  /** What connections that callers of an account share are kept under. */
  readonly #sharedKeys = new WeakMap<Account, string>();
  readonly #followed = new Map<string, Followed>();
  readonly #gate: Gate;
  readonly #log: UpstreamLog;
  readonly #meter: UpstreamMeter;
  readonly #listeners = new Set<(change: Change) => void>();
  #revision: string | undefined;
  #isClosed = false;

  constructor(parts: UpstreamParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.entry = parts.entry;
    this.#accounts = createAccounts(parts.name, parts.entry);
    this.#gate = new Gate(parts.entry.parallel, parts.name);
    this.#log = new UpstreamLog(parts);
    this.#meter = upstreamMeter(parts.metrics, parts.name);
  }

  /** What it offers to the tenant of a caller; `undefined` where that tenant has no account. */
  catalogOf({ tenant }: Caller): Catalog | undefined {
    const account = this.#accounts(tenant.id);
    return account && this.#catalog(account);
  }

  /** The tenant whose own account a caller uses; `undefined` where all callers share one. */
  accountOf({ tenant }: Caller): string | undefined {
    return this.#accounts(tenant.id)?.key || undefined;
  }

  /** Passes a call on, in the words of the upstream, over a connection that is the caller's to use. */
  call(call: Call): Awaitable<Result> {
    const account = this.#accounts(call.caller.tenant.id);
    if (!account) throw unknownTool(call.kind === 'tool' ? call.tool.name : '');
    call.record.account = account.name;
    const timeoutMs = this.entry.timeoutSeconds * 1000;
    // Waiting for a place, connecting and the answer share the time that a call may take.
    const until = this.#parts.clock.ticks() + timeoutMs;
    const entered = this.#gate.enter(call.cancellation, timeoutMs);
    return entered instanceof Promise
      ? entered.then(() => this.#run(call, account, until))
      : this.#run(call, account, until);
  }

  /** Tells of changes of what it offers, to any account, until the returned function is called. */
  watch(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Has it tell of new content of a resource, once for all callers of an account. */
  follow(uri: string, { tenant }: Caller): () => void {
    const account = this.#accounts(tenant.id);
    if (!account || this.#isClosed) return nothing;
    let followed = this.#followed.get(account.key);
    if (!followed) {
      const parts = {
        connection: () => this.#connection(account, undefined),
        clock: this.#parts.clock,
        onWarning: (text: string) => this.#warn(text),
      };
      this.#followed.set(account.key, (followed = new Followed(parts)));
    }
    return followed.follow(uri);
  }

  /** How it stands. */
  get state(): UpstreamState {
    return upstreamState(this.name, this.entry, {
      catalogs: [...this.#catalogs.values()],
      connections: [...this.#connections.values()],
      revision: this.#revision,
    });
  }

  /** Fetches lists that are due, and forgets connections that ended. */
  sweep(): void {
    for (const [key, connection] of this.#connections) if (connection.isOver) this.#connections.delete(key);
    for (const catalog of this.#catalogs.values()) catalog.sweep();
  }

  /** Connects ahead of the first use, with every account there is. */
  warm(): void {
    for (const account of this.#accounts.all) void this.#catalog(account).known();
  }

  /** Has it listed with every account there is; ends when each of them has answered, failed or taken too long. */
  async tryAll(): Promise<void> {
    await Promise.all(this.#accounts.all.map(async (account) => this.#catalog(account).known()));
  }

  /** Closes its connections, each after its last call. */
  close(): void {
    this.#isClosed = true;
    for (const followed of this.#followed.values()) followed.close();
    for (const connection of this.#connections.values()) connection.retire();
    this.#listeners.clear();
  }

  async #run(call: Call, account: Account, until: number): Promise<Result> {
    let connection: PooledConnection | undefined;
    const { clock } = this.#parts;
    const { calls, failures, seconds } = this.#meter;
    const start = clock.ticks();
    const place = new Place(this.#gate, clock, until);
    calls.inc();
    try {
      connection = this.#connectionOf(call, account);
      const result = await connection.use((client) => {
        if (connection!.plan.tenant !== undefined || client.server.era === 'modern')
          return client.call(call, place);
        // Since it was connected to again it keeps something of its callers.
        this.#catalog(account).era = client.server.era;
        connection = this.#connectionOf(call, account);
        return connection.use((own) => own.call(call, place), place.withinMs);
      }, place.withinMs);
      connection.noteAnswer();
      return result;
    } catch (error) {
      if (isTimeout(error)) this.#doubt(connection);
      failures.inc();
      throw upstreamFailure(error, this.name);
    } finally {
      seconds.observe((clock.ticks() - start) / 1000);
      place.leave();
    }
  }

  // A program that hangs would keep its callers waiting for ever; one that is only slow answers this.
  #doubt(connection: PooledConnection | undefined): void {
    const { entry } = this;
    if ('command' in entry) void connection?.askAlive(Math.min(ALIVE_MS, entry.timeoutSeconds * 1000));
  }

  // Only what keeps nothing of its callers is shared between them.
  #connectionOf(call: Call, account: Account): PooledConnection {
    if (this.#catalog(account).era === 'modern') return this.#connection(account, undefined);
    const { caller, client } = call;
    return this.#connection(account, {
      caller,
      capabilities: knownCapabilities(relayedCapabilities(client.capabilities, 'awaited')),
    });
  }

  #catalog(account: Account): Catalog {
    let catalog = this.#catalogs.get(account.key);
    if (!catalog) {
      const { clock, settings, live } = this.#parts;
      const cleaner = createDefinitionCleaner(live);
      catalog = new Catalog({
        connection: () => this.#connection(account, undefined),
        clock,
        relistMs: () => settings().relistSeconds * 1000,
        firstListMs: () => settings().firstListSeconds * 1000,
        clean: (item) => cleanReadable(item, cleaner),
        isClean: (value) => cleaner.data(value) === value,
        onChange: (change) => {
          for (const listener of this.#listeners) listener(change);
        },
        onListed: () => this.#parts.onState(),
        onWarning: (text) => this.#warn(text),
      });
      this.#catalogs.set(account.key, catalog);
    }
    return catalog;
  }

  #connection(account: Account, own: OwnConnection | undefined): PooledConnection {
    if (this.#isClosed) throw new ToolcribError('upstream_unavailable', `${this.name} is no longer served.`);
    const key = own
      ? JSON.stringify([account.key, ownerOf(own.caller), canonicalJson(own.capabilities)])
      : this.#sharedKey(account);
    let connection = this.#connections.get(key);
    if (!connection || connection.isRetired) {
      const { entry, name } = this;
      connection = this.#parts.pool.connection({
        upstream: name,
        tenant: own?.caller.tenant.id,
        idleMs: entry.warm && !own ? Infinity : entry.idleSeconds * 1000,
        lifetimeMs: entry.lifetimeSeconds * 1000,
        // What a caller's own client cannot do is refused with its call.
        open: () => this.#open(account, own?.capabilities ?? RELAYABLE),
        onOpened: (client) => this.#opened(client, account),
        onEnded: (error) => this.#ended(error),
      });
      this.#connections.set(key, connection);
    }
    return connection;
  }

  // Every call comes through here, so it is written once.
  #sharedKey(account: Account): string {
    let key = this.#sharedKeys.get(account);
    if (key === undefined) this.#sharedKeys.set(account, (key = JSON.stringify([account.key])));
    return key;
  }

  async #open(account: Account, capabilities: Readonly<Record<string, unknown>>): Promise<Opened> {
    const { entry, version } = this.#parts;
    // Loaded with the first connection: a gateway without upstreams in use pays nothing for them.
    const { openClient } = await import('./open-client.ts');
    return openClient({
      name: this.#parts.entry.label ?? this.name,
      capabilities,
      entry,
      account,
      version,
      onErrorText: this.#log.errorOutput(),
    });
  }

  #opened(client: Client, account: Account): void {
    this.#revision = client.server.protocolVersion;
    this.#parts.onState();
    const catalog = this.#catalog(account);
    client.on('toolsChanged', () => catalog.outdate());
    client.on('promptsChanged', () => catalog.outdate());
    client.on('resourcesChanged', () => catalog.outdate());
    client.on('resourceUpdated', ({ uri }) => {
      // Another account may have something else at the same address.
      const concerns = (_found: unknown, { tenant }: Caller): boolean =>
        this.#accounts(tenant.id) === account;
      for (const listener of this.#listeners) listener({ kind: 'resource', uri, concerns });
    });
    client.on('warning', (text) => this.#warn(text));
  }

  #ended(error: unknown): void {
    this.#parts.onState();
    if (error === undefined) return;
    this.#log.say('warn', `The connection to ${this.name} failed.`, reasonOf(error));
  }

  #warn(text: string): void {
    this.#log.say('warn', `${this.name}: ${text}`);
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof ToolcribError && error.code === 'timed_out';
}
