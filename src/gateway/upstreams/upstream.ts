import type { Client } from '../../client/client.ts';
import { relayableCapabilities, RELAYABLE, relayedCapabilities } from '../../client/relay/capabilities.ts';
import { andThen, nothing, type Awaitable } from '../../base/awaitable.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { UpstreamEntry } from '../../config/servers.ts';
import { unknownTool } from '../../core/absent-tool.ts';
import type { Call } from '../../core/call.ts';
import { ownerOf, type Caller } from '../../core/caller.ts';
import { DefinitionChanged } from '../../core/merge.ts';
import type { Result } from '../../core/result.ts';
import type { Change } from '../../core/source.ts';
import { asAuthored } from '../../core/tool.ts';
import type { Log } from '../../observe/log.ts';
import type { Secrets } from '../../observe/secrets.ts';
import { cleanReadable, createDefinitionCleaner } from '../../stages/cleaning/clean-definitions.ts';
import type { UpstreamSettings } from '../settings/upstreams.ts';
import type { Account } from './accounts.ts';
import { Catalog, toolsOf } from './catalog.ts';
import { Followed } from './followed.ts';
import { CallPlace } from './call-places.ts';
import type { OpenedConnection, Pool, PooledConnection } from './pool.ts';
import { shownFailure } from './failure.ts';
import type { UpstreamMeters } from './metrics.ts';
import { nothingKnown, reasonOf, upstreamState, type UpstreamState } from './state.ts';
import { createUse, type UpstreamUse } from './use.ts';

/** The parts that all upstreams share. */
export interface UpstreamParts {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly log: Log;
  readonly live: Secrets;
  readonly version: string;
  readonly meters: UpstreamMeters;
  readonly settings: () => UpstreamSettings;
  /** Called when its state may have changed. */
  readonly onState: () => void;
}

/** The caller that a connection is for alone, and what its client declared. */
interface OwnConnection {
  readonly caller: Caller;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

// How long a program that let a call time out has to answer a ping.
const ALIVE_MS = 5_000;

// The shortest pause before a warm server is started again: a program may end at once each time.
const WARM_PAUSE_MS = 1_000;

type Listener = (change: Change) => void;

const NOBODY: readonly Listener[] = Object.freeze([]);

/** One server behind the gateway: its connections, its lists and its state. Nothing is made before its first use. */
export class Upstream {
  readonly name: string;
  /** The entry of the newest configuration, so that older ones can be freed. */
  entry: UpstreamEntry;
  readonly #parts: UpstreamParts;
  #begun: UpstreamUse | undefined;
  #listeners = NOBODY;
  #revision: string | undefined;
  #isClosed = false;

  constructor(name: string, entry: UpstreamEntry, parts: UpstreamParts) {
    this.name = name;
    this.entry = entry;
    this.#parts = parts;
    parts.meters.announce(name);
  }

  get #use(): UpstreamUse {
    return (this.#begun ??= createUse(this.name, this.entry, this.#parts));
  }

  /** The catalog for the tenant of a caller; `undefined` if that tenant has no account. */
  catalogOf({ tenant }: Caller): Catalog | undefined {
    const account = this.#use.accounts(tenant.id);
    return account && this.#catalog(account);
  }

  /** The tenant whose own account a caller uses; `undefined` where all callers share one. */
  accountOf({ tenant }: Caller): string | undefined {
    return this.#use.accounts(tenant.id)?.key || undefined;
  }

  /** Passes a call on, with the upstream's own name of the tool, over a connection that the caller may use. */
  call(call: Call): Awaitable<Result> {
    const account = this.#use.accounts(call.caller.tenant.id);
    if (!account) throw unknownTool(call.kind === 'tool' ? call.tool.name : '');
    call.record.account = account.name;
    const timeoutMs = this.entry.timeoutSeconds * 1000;
    // Waiting for a place, connecting and the answer share the time that a call may take.
    const until = this.#parts.clock.ticks() + timeoutMs;
    const entered = this.#use.places.enter(call.cancellation, timeoutMs);
    return entered instanceof Promise
      ? entered.then(() => this.#run(call, account, until))
      : this.#run(call, account, until);
  }

  /** Calls a listener with each change of its lists, of any account, until the returned function is called. */
  watch(listener: (change: Change) => void): () => void {
    this.#listeners = [...this.#listeners, listener];
    return () => {
      const at = this.#listeners.indexOf(listener);
      if (at >= 0) this.#listeners = this.#listeners.toSpliced(at, 1);
    };
  }

  /** Asks the upstream to announce changes of a resource, once for all callers of an account. */
  follow(uri: string, { tenant }: Caller): () => void {
    const account = this.#use.accounts(tenant.id);
    if (!account || this.#isClosed) return nothing;
    let followed = this.#use.followed.get(account.key);
    if (!followed) {
      const parts = {
        connection: () => this.#connection(account, undefined),
        clock: this.#parts.clock,
        onWarning: (text: string) => this.#warn(text),
      };
      this.#use.followed.set(account.key, (followed = new Followed(parts)));
    }
    return followed.follow(uri);
  }

  /** Its state, for people. */
  get state(): UpstreamState {
    if (!this.#begun) return nothingKnown(this.name, this.entry);
    const { catalogs, connections } = this.#begun;
    return upstreamState(this.name, this.entry, {
      catalogs: [...catalogs.values()],
      connections: [...connections.values()],
      revision: this.#revision,
    });
  }

  /** Fetches lists that are due, and forgets connections that ended. */
  sweep(): void {
    if (!this.#begun) return;
    const { catalogs, connections, followed } = this.#begun;
    for (const [key, connection] of connections) if (connection.isOver) connections.delete(key);
    for (const catalog of catalogs.values()) catalog.sweep();
    for (const resources of followed.values()) resources.sweep();
  }

  /** Connects ahead of the first use, with every account there is. */
  warm(): void {
    for (const account of this.#use.accounts.all) void this.#catalog(account).known();
  }

  /** Fetches the lists with every account; ends when each of them has answered, failed or taken too long. */
  async tryAll(): Promise<void> {
    await Promise.all(this.#use.accounts.all.map(async (account) => this.#catalog(account).known()));
  }

  /** Closes its connections, each after its last call. */
  close(): void {
    this.#isClosed = true;
    for (const followed of this.#begun?.followed.values() ?? []) followed.close();
    for (const connection of this.#begun?.connections.values() ?? []) connection.retire();
    this.#listeners = NOBODY;
  }

  async #run(call: Call, account: Account, until: number): Promise<Result> {
    let connection: PooledConnection | undefined;
    const { clock } = this.#parts;
    const { calls, failures, seconds } = this.#use.meter;
    const start = clock.ticks();
    const place = new CallPlace(this.#use.places, clock, until);
    place.mayAskSecrets = this.entry.trust === 'trusted';
    const catalog = this.#catalog(account);
    calls.inc();
    try {
      // Only a server that keeps nothing about its callers is shared between them.
      const isShared = catalog.era === 'modern';
      connection = isShared ? this.#connection(account, undefined) : this.#ownConnection(call, account);
      const result = await connection.use((client) => {
        if (!isShared || client.server.era === 'modern') return pass(call, { client, catalog, place });
        // The server was replaced by an older one, which keeps a session with each client.
        catalog.era = client.server.era;
        connection = this.#ownConnection(call, account);
        return connection.use((own) => pass(call, { client: own, catalog, place }), place.withinMs);
      }, place.withinMs);
      connection.noteAnswer();
      return result;
    } catch (error) {
      if (isTimeout(error)) this.#doubt(connection);
      failures.inc();
      throw shownFailure(error, this.name);
    } finally {
      seconds.observe((clock.ticks() - start) / 1000);
      place.leave();
    }
  }

  // A program that hangs would let every further call time out, so it is ended; one that is only slow answers a ping.
  #doubt(connection: PooledConnection | undefined): void {
    const { entry } = this;
    if ('command' in entry) void connection?.askAlive(Math.min(ALIVE_MS, entry.timeoutSeconds * 1000));
  }

  #ownConnection({ caller, client }: Call, account: Account): PooledConnection {
    return this.#connection(account, {
      caller,
      capabilities: relayableCapabilities(relayedCapabilities(client.capabilities, 'awaited')),
    });
  }

  #catalog(account: Account): Catalog {
    let catalog = this.#use.catalogs.get(account.key);
    if (!catalog) {
      const { clock, settings, live } = this.#parts;
      const cleaner = createDefinitionCleaner(live);
      catalog = new Catalog({
        connection: () => this.#connection(account, undefined),
        clock,
        relistMs: () => settings().relistSeconds * 1000,
        firstListMs: () => settings().firstListSeconds * 1000,
        callMs: () => this.entry.timeoutSeconds * 1000,
        clean: (item) => cleanReadable(item, cleaner),
        isClean: (value) => cleaner.data(value) === value,
        onChange: (change) => {
          for (const listener of this.#listeners) listener(change);
        },
        onListed: () => this.#parts.onState(),
        onWarning: (text) => this.#warn(text),
      });
      this.#use.catalogs.set(account.key, catalog);
    }
    return catalog;
  }

  #connection(account: Account, own: OwnConnection | undefined): PooledConnection {
    if (this.#isClosed) throw new ToolcribError('upstream_unavailable', `${this.name} is no longer served.`);
    const key = own
      ? JSON.stringify([account.key, ownerOf(own.caller), canonicalJson(own.capabilities)])
      : this.#sharedKey(account);
    let connection = this.#use.connections.get(key);
    if (!connection || connection.isRetired) {
      const { entry, name } = this;
      connection = this.#parts.pool.connection({
        upstream: name,
        tenant: own?.caller.tenant.id ?? (account.key || undefined),
        owner: own && ownerOf(own.caller),
        idleMs: entry.warm && !own ? Infinity : entry.idleSeconds * 1000,
        lifetimeMs: entry.lifetimeSeconds * 1000,
        // A shared connection declares every capability; a call whose client lacks one is refused by itself.
        open: () => (own ? this.#openOwn(account, own.capabilities) : this.#open(account, RELAYABLE)),
        onOpened: (client) => {
          this.#opened(client, account);
          // It may be a newer server than the one that was listed.
          if (!own) this.#catalog(account).outdate();
        },
        onEnded: (error) => {
          this.#ended(error);
          if (entry.warm && !own) this.#warmAgain(account);
        },
      });
      this.#use.connections.set(key, connection);
    }
    return connection;
  }

  // Written once per account, because every call needs it.
  #sharedKey(account: Account): string {
    let key = this.#use.sharedKeys.get(account);
    if (key === undefined) this.#use.sharedKeys.set(account, (key = JSON.stringify([account.key])));
    return key;
  }

  async #open(account: Account, capabilities: Readonly<Record<string, unknown>>): Promise<OpenedConnection> {
    const { entry } = this;
    // Loaded with the first connection: a gateway without upstreams in use pays nothing for them.
    const { openClient } = await import('./open-client.ts');
    return openClient({
      name: entry.label ?? this.name,
      capabilities,
      entry,
      account,
      version: this.#parts.version,
      onErrorText: this.#use.log.errorOutput(),
    });
  }

  // If this program lists other tools, it was upgraded, and the connection that fetched the lists is an old version.
  async #openOwn(account: Account, capabilities: OwnConnection['capabilities']): Promise<OpenedConnection> {
    const opened = await this.#open(account, capabilities);
    try {
      const catalog = this.#catalog(account);
      if (catalog.agreesWith(await toolsOf(opened.client))) return opened;
      this.#use.connections.get(this.#sharedKey(account))?.retire();
      catalog.outdate();
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
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
        this.#use.accounts(tenant.id) === account;
      for (const listener of this.#listeners) listener({ kind: 'resource', uri, concerns });
    });
    client.on('warning', (text) => this.#warn(text));
  }

  #ended(error: unknown): void {
    this.#parts.onState();
    if (error === undefined) return;
    this.#use.log.say('warn', `The connection to ${this.name} failed.`, reasonOf(error));
  }

  // Not if it was retired: to make room for others, or because its entry is gone.
  #warmAgain(account: Account): void {
    const connection = this.#use.connections.get(this.#sharedKey(account));
    if (!connection || connection.isRetired) return;
    this.#parts.clock.after(Math.max(WARM_PAUSE_MS, connection.pauseMs), () => {
      if (!this.#isClosed && !connection.isRetired && !connection.client) this.#catalog(account).outdate();
    });
  }

  #warn(text: string): void {
    this.#use.log.say('warn', `${this.name}: ${text}`);
  }
}

interface Passing {
  readonly client: Client;
  readonly catalog: Catalog;
  readonly place: CallPlace;
}

// The server may have changed its tools while the call waited for a place or for the connection.
function pass(call: Call, { client, catalog, place }: Passing): Awaitable<Result> {
  if (call.kind !== 'tool' || catalog.isCurrent) return client.call(call, place);
  return andThen(catalog.currentWithin(place.withinMs), ({ tools }) => {
    if (!tools.includes(asAuthored(call.tool))) throw new DefinitionChanged(call.tool.name);
    return client.call(call, place);
  });
}

function isTimeout(error: unknown): boolean {
  return error instanceof ToolcribError && error.code === 'timed_out';
}
