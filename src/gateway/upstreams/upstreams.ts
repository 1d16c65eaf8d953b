import type { Clock } from '../../base/clock.ts';
import { digest } from '../../base/digest.ts';
import type { UpstreamEntry } from '../../config/servers.ts';
import { ReadApps } from '../../core/merging/apps.ts';
import { EVERYBODY_ELSE, mergeByGroup } from '../../core/merging/merge-by-group.ts';
import type { NamedPlace, PrefixRule, SourceNames } from '../../core/tool-names.ts';
import type { ToolSource } from '../../core/source.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { Secrets } from '../../observe/secrets.ts';
import type { Config } from '../settings/config.ts';
import type { UpstreamSettings } from '../settings/upstreams.ts';
import { secretsOf, tenantsWithAccounts } from './accounts.ts';
import { Pool } from './pool.ts';
import { upstreamSource } from './source.ts';
import { StatesFile } from './states-file.ts';
import { createMeters, showUpstreams, type UpstreamMeters } from './metrics.ts';
import { nothingKnown, type UpstreamState } from './state.ts';
import { Upstream, type UpstreamParts } from './upstream.ts';

// Servers may give reasons of any length.
const MAX_REASON = 500;

/** What the upstreams of a gateway need. */
export interface UpstreamsParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly live: Secrets;
  readonly metrics: Metrics;
  /** The database; beside it the states are kept for commands. Without one, commands cannot show them. */
  readonly database?: string | undefined;
}

/** The upstreams of one reading of the configuration, put together with the tools of this process. */
export interface ServedUpstreams {
  readonly source: ToolSource;
  /** Lets go of upstreams that no other reading has. */
  release(): void;
}

/** All upstreams of a gateway: those whose entry stays the same in a reload keep their connections. */
export class Upstreams {
  readonly #parts: UpstreamsParts;
  readonly #kept = new Map<string, { readonly upstream: Upstream; users: number }>();
  #pool: Pool | undefined;
  #settings: UpstreamSettings | undefined;
  #disabled: readonly UpstreamState[] = [];
  readonly #file: StatesFile | undefined;
  readonly #apps = new ReadApps();
  readonly #meters: UpstreamMeters;

  constructor(parts: UpstreamsParts) {
    this.#parts = parts;
    const { database, clock, log } = parts;
    const onTrouble = (cause: unknown): void =>
      log('warn', 'The states of the other servers cannot be written to disk for "toolcrib upstreams".', {
        cause,
      });
    if (database !== undefined)
      this.#file = new StatesFile({ database, clock, read: () => this.states, onTrouble });
    showUpstreams(parts.metrics, () => this.states);
    this.#meters = createMeters(parts.metrics);
  }

  /** The state of each of them, by name. */
  get states(): readonly UpstreamState[] {
    const { live } = this.#parts;
    const used = Array.from(this.#kept.values(), ({ upstream }) => {
      const { state } = upstream;
      // Redacted before it is cut, because half a secret is not recognised.
      return state.reason === undefined
        ? state
        : { ...state, reason: live.redact(state.reason).slice(0, MAX_REASON) };
    });
    // After a reload a server may be there twice until its last call ends; the newer one is shown.
    const newest = new Map([...this.#disabled, ...used].map((state) => [state.name, state]));
    return [...newest.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Tries each of them with each account; `states` shows the outcome. */
  async tryAll(): Promise<void> {
    await Promise.all(Array.from(this.#kept.values(), ({ upstream }) => upstream.tryAll()));
  }

  /** Puts the upstreams of a configuration beside the tools of this process. */
  serve({ mcpServers = {}, upstreams: settings }: Config, own: ToolSource, version: string): ServedUpstreams {
    this.#settings = settings;
    const pool = (this.#pool ??= this.#createPool(settings));
    pool.limits = settings;
    const parts = this.#partsWith(pool, version);
    const entries = Object.entries(mcpServers).filter(([, { disabled }]) => !disabled);
    this.#disabled = Object.entries(mcpServers)
      .filter(([, { disabled }]) => disabled)
      .map(([name, entry]) => nothingKnown(name, entry));
    const keys: string[] = [];
    const sources = emptyTable<ToolSource>();
    const names = emptyTable<SourceNames>();
    for (const [name, entry] of entries) {
      for (const secret of secretsOf(entry)) this.#parts.live.add(secret);
      const key = digest([name, connectionOf(entry)]);
      keys.push(key);
      const upstream = this.#keep(key, () => new Upstream(name, entry, parts));
      upstream.entry = entry;
      sources[name] = upstreamSource(upstream, entry);
      const ownNames = namesOf(entry);
      if (ownNames) names[name] = ownNames;
    }
    const options = {
      prefix: USUAL_PREFIX,
      own,
      apps: this.#apps,
      names,
      onClash: ({ source: upstream, name }: NamedPlace) =>
        this.#parts.log('warn', `${upstream}.${name} is left out: its name is taken, and it has no prefix.`),
    };
    const tenants = tenantsWithAccounts(entries.map(([, entry]) => entry));
    const source = mergeByGroup(sources, options, ({ tenant: { id } }) =>
      tenants.has(id) ? id : EVERYBODY_ELSE,
    );
    this.#file?.note();
    return { source, release: () => keys.splice(0).forEach((key) => this.#release(key)) };
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    for (const { upstream } of this.#kept.values()) upstream.close();
    this.#kept.clear();
    await this.#pool?.close();
    await this.#file?.close();
  }

  #createPool(settings: UpstreamSettings): Pool {
    const pool = new Pool(this.#parts.clock, settings);
    pool.onSweep = () => {
      for (const { upstream } of this.#kept.values()) upstream.sweep();
    };
    return pool;
  }

  #partsWith(pool: Pool, version: string): UpstreamParts {
    const { clock, log, live } = this.#parts;
    return {
      clock,
      log,
      live,
      version,
      pool,
      meters: this.#meters,
      settings: () => this.#settings!,
      onState: () => this.#file?.note(),
    };
  }

  #keep(key: string, make: () => Upstream): Upstream {
    let kept = this.#kept.get(key);
    if (!kept) {
      this.#kept.set(key, (kept = { upstream: make(), users: 0 }));
      if (kept.upstream.entry.warm) kept.upstream.warm();
    }
    kept.users++;
    return kept.upstream;
  }

  #release(key: string): void {
    const kept = this.#kept.get(key);
    if (!kept || --kept.users > 0) return;
    this.#kept.delete(key);
    kept.upstream.close();
    this.#file?.note();
  }
}

// V8 copies an ordinary object again and again while a thousand keys are added to it.
function emptyTable<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}

const USUAL_PREFIX: PrefixRule = 'collisions';

// Nothing is kept for the usual names.
function namesOf({ prefix, label, rename }: UpstreamEntry): SourceNames | undefined {
  if (prefix === USUAL_PREFIX && label === undefined && Object.keys(rename).length === 0) return undefined;
  return { prefix, rename, ...(label !== undefined && { label }) };
}

// The settings of an entry without those that only change how it is shown: these leave its connections open.
function connectionOf(entry: UpstreamEntry): unknown {
  const {
    tools: _tools,
    skills: _skills,
    deny: _deny,
    rename: _rename,
    describe: _describe,
    prefix: _prefix,
    label: _label,
    trust: _trust,
    ...connection
  } = entry;
  return connection;
}
