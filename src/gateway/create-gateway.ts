import type { Worker } from 'node:worker_threads';
import type { Log } from '../observe/log.ts';
import { readFamily } from '../observe/metrics.ts';
import { createServer, type Server } from '../server/create-server.ts';
import { listen, type Listening } from '../server/node-http.ts';
import { OPERATOR_CHAIN } from '../store/operator-chain.ts';
import { changeBetween, CurrentSource } from './current-source.ts';
import { createGeneration, type Generation } from './generation.ts';
import { createLasting, type Lasting } from './lasting.ts';
import type { LoadedConfig } from './load-config.ts';
import { openLog } from './open-log.ts';
import { openStore } from './open-store.ts';
import { operationRoutes } from './operations.ts';

/** How a gateway is run. */
export interface GatewayOptions {
  /** The version the server names itself with. */
  readonly version: string;
  /** Whether files with tools are watched for changes. */
  readonly watch?: boolean;
  /** Where the log goes; standard error unless set. */
  readonly log?: Log;
  /** A thread for the store that was started ahead of time (`startStoreWorker`). */
  readonly storeWorker?: Worker | undefined;
}

/** A server made from a configuration. */
export interface Gateway {
  readonly server: Server;
  readonly log: Log;
  /** Whether calls can be taken: the record can be written, and the server is not stopping. */
  readonly isReady: boolean;
  /** The names of all tools, whoever may see them. */
  readonly tools: readonly string[];
  /** Puts the server on the network. */
  listen(): Promise<Listening>;
  /** Replaces the configuration as a whole; calls under way go on as they began. Throws, and changes nothing, when it cannot be used. */
  reload(loaded: LoadedConfig): Promise<void>;
  /** Stops taking calls, lets those under way finish, and writes the record last. */
  close(): Promise<void>;
}

/** Makes a server from a configuration. */
export async function createGateway(loaded: LoadedConfig, options: GatewayOptions): Promise<Gateway> {
  const { log, live } = openLog(loaded, options.log);
  const opened = await openStore(loaded, log, options.storeWorker);
  live.add(opened.secrets.pepper);
  live.add(opened.secrets.digestKey);
  const lasting = createLasting(opened, log, live);
  try {
    const { version, watch = false } = options;
    const first = await createGeneration(loaded, { lasting, version, watch });
    return new RunningGateway(first, lasting, { version, watch });
  } catch (error) {
    await opened.store.close();
    throw error;
  }
}

class RunningGateway implements Gateway {
  readonly server: Server;
  readonly #lasting: Lasting;
  readonly #options: { readonly version: string; readonly watch: boolean };
  readonly #source: CurrentSource;
  #generation: Generation;
  #unwatch: (() => void) | undefined;
  #listening: Listening | undefined;
  #isStopping = false;

  constructor(first: Generation, lasting: Lasting, options: { version: string; watch: boolean }) {
    this.#generation = first;
    this.#lasting = lasting;
    this.#options = options;
    this.#source = new CurrentSource(first.source);
    measure(lasting);
    this.server = this.#createServer();
    this.#followDepartures();
  }

  get log(): Log {
    return this.#lasting.log;
  }

  get isReady(): boolean {
    return !this.#isStopping && this.#lasting.store.journal.isReady;
  }

  get tools(): readonly string[] {
    return this.#generation.registry.getToolNames();
  }

  async listen(): Promise<Listening> {
    const { server } = this.#generation.loaded.config;
    this.#listening = await listen(this.server, {
      ...server.listen,
      path: server.path,
      sse: server.sse,
      routes: operationRoutes({ gateway: this, metrics: this.#lasting.metrics }),
    });
    return this.#listening;
  }

  async reload(loaded: LoadedConfig): Promise<void> {
    const before = this.#generation;
    for (const secret of loaded.secrets) this.#lasting.live.add(secret);
    const next = await this.#tryNext(loaded, before);
    const change = changeBetween(before.registry.list(), next.registry.list());
    this.#generation = next;
    this.#source.replace(next.source, change);
    if (next.authentication !== before.authentication) {
      this.#followDepartures();
      before.authentication?.signIn.close();
    }
    before.line.flush();
    await before.close();
    await this.#note({ kind: 'configuration', policy: next.line.policyVersion });
    for (const key of restartNeeded(before.loaded, loaded))
      this.log('warn', `${key} changed; that takes effect with the next start.`);
  }

  async #tryNext(loaded: LoadedConfig, before: Generation): Promise<Generation> {
    const reloads = this.#lasting.metrics.counter(
      'toolcrib_reloads_total',
      'Attempts to replace the configuration, by how they ended.',
      ['outcome'],
    );
    try {
      const next = await createGeneration(loaded, { lasting: this.#lasting, ...this.#options, before });
      reloads.child('done').inc();
      return next;
    } catch (error) {
      reloads.child('refused').inc();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isStopping = true;
    this.#unwatch?.();
    await this.#listening?.close(this.#generation.loaded.config.server.drainSeconds * 1000);
    this.server.close();
    this.#generation.authentication?.signIn.close();
    this.#generation.line.flush();
    await this.#generation.close();
    await this.#lasting.store.close();
  }

  #createServer(): Server {
    const { server } = this.#generation.loaded.config;
    const { authentication } = this.#generation;
    const refused = this.#lasting.metrics.counter(
      'toolcrib_refused_total',
      'Requests refused before their caller was known.',
      ['code'],
    );
    return createServer({
      source: this.#source,
      name: server.name,
      version: this.#options.version,
      ...(server.title !== undefined && { title: server.title }),
      ...(server.instructions !== undefined && { instructions: server.instructions }),
      ...(authentication && {
        authenticate: (head) => this.#generation.authentication?.signIn.authenticate(head),
        ...(authentication.resource && { resource: authentication.resource }),
      }),
      ...hostsOf(this.#generation.loaded),
      maxBodyBytes: server.maxBodyBytes,
      memory: this.#lasting.store.memory,
      log: this.log,
      onRefusal: (refusal) => this.#generation.line.refuse(refusal),
      onUnknown: (code) => refused.child(code).inc(),
    });
  }

  #followDepartures(): void {
    this.#unwatch?.();
    this.#unwatch = this.#generation.authentication?.signIn.onRevoked((isGone) =>
      this.server.dismiss(isGone),
    );
  }

  async #note(facts: Readonly<Record<string, unknown>>): Promise<void> {
    const body = JSON.stringify({ ...facts, at: new Date().toISOString() });
    await this.#lasting.store.journal.append({ chain: OPERATOR_CHAIN, body });
  }
}

function measure({ metrics, store, buckets }: Lasting): void {
  metrics.gauge('toolcrib_record_ready', 'Whether calls can be put on record; no tool runs otherwise.', () =>
    Number(store.journal.isReady),
  );
  const unmetered = 'Read-only calls let through because their daily quota could not be counted.';
  metrics.add(
    readFamily(
      { name: 'toolcrib_calls_unmetered_total', help: unmetered, kind: 'counter' },
      () => buckets.unmetered,
    ),
  );
}

type Hosts = { readonly allowedHosts?: readonly string[]; readonly allowedOrigins?: readonly string[] };

function hostsOf({ config: { server } }: LoadedConfig): Hosts {
  const hosts =
    server.allowedHosts ?? (server.publicUrl === undefined ? undefined : [new URL(server.publicUrl).host]);
  return {
    ...(hosts && { allowedHosts: hosts }),
    ...(server.allowedOrigins && { allowedOrigins: server.allowedOrigins }),
  };
}

// What a listening server cannot change under its clients.
function restartNeeded(before: LoadedConfig, after: LoadedConfig): string[] {
  const keys = ['server', 'store', 'log'] as const;
  const changed = keys.filter(
    (key) => JSON.stringify(before.config[key]) !== JSON.stringify(after.config[key]),
  );
  const opened = (before.config.auth === undefined) !== (after.config.auth === undefined);
  return opened ? [...changed, 'auth'] : changed;
}
