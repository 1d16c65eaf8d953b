import type { Worker } from 'node:worker_threads';
import type { Caller } from '../core/caller.ts';
import { changeBetween } from '../core/change-between.ts';
import { definitionDigest } from '../core/definition-digest.ts';
import { endsWithin } from '../base/within.ts';
import { ToolcribError } from '../base/errors.ts';
import type { Log } from '../observe/log.ts';
import { readFamily } from '../observe/metrics.ts';
import type { OnToolCall } from '../stages/approve/decision.ts';
import type { Grants } from '../stages/approve/grants.ts';
import { createServer, type Server } from '../server/create-server.ts';
import { listen, type Listening } from '../server/http/node-http.ts';
import { OPERATOR_CHAIN } from '../store/journal/chain.ts';
import type { Config } from './settings/config.ts';
import { CurrentSource } from './current-source.ts';
import { createGeneration, type Generation, type GenerationOptions } from './generation.ts';
import { createLasting, type Lasting } from './lasting.ts';
import type { LoadedConfig } from './settings/load-config.ts';
import { openLog } from './open-log.ts';
import { openStore } from './open-store.ts';
import { requirePlaces } from './settings/place-problems.ts';
import { withoutSecrets } from './memory-without-secrets.ts';
import { operationRoutes } from './operations.ts';
import { stdioCaller } from './stdio-caller.ts';
import { checkSignInStays, differing, fixedSettings, type Settings } from './settings/fixed-settings.ts';

/** How a gateway is run. */
export interface GatewayOptions {
  /** The version the server reports. */
  readonly version: string;
  /** Whether tool files are watched for changes. */
  readonly watch?: boolean;
  /** Asks a person about calls, where `stages.approve.mode` is `person`. */
  readonly onToolCall?: OnToolCall;
  /** Where the log goes; standard error unless set. */
  readonly log?: Log;
  /** A thread for the store that was started earlier (`startStoreWorker`). */
  readonly storeWorker?: Worker | undefined;
}

/** A server made from a configuration. */
export interface Gateway {
  readonly server: Server;
  readonly log: Log;
  /** Whether calls can be accepted: the record can be written, and the server is not stopping. */
  readonly isReady: boolean;
  /** The names of all tools, whether or not a caller may see them. */
  readonly tools: readonly string[];
  /** The grants that a person gave through `onToolCall`. */
  readonly grants: Grants;
  /** Starts listening. */
  listen(): Promise<Listening>;
  /**
   * The caller for `serveStdio`: that of a key, or of `auth.stdio`; `undefined` if the key or the tenant is not valid.
   */
  stdioCaller(key?: string): Promise<Caller | undefined>;
  /** The names of the tools a caller sees. */
  toolsOf(caller: Caller): Promise<readonly string[]>;
  /**
   * Replaces the whole configuration; calls under way continue with the old one. If it cannot be used, it throws and
   * nothing changes.
   */
  reload(loaded: LoadedConfig): Promise<void>;
  /**
   * Stops accepting calls, lets those under way finish for up to `graceMs` (`server.drainSeconds` unless set), and
   * closes the record last.
   */
  close(graceMs?: number): Promise<void>;
}

/** Makes a server from a configuration. */
export async function createGateway(loaded: LoadedConfig, options: GatewayOptions): Promise<Gateway> {
  requirePlaces(loaded);
  const { log, live } = openLog(loaded, options.log);
  loadAhead(loaded.config);
  const opened = await openStore(loaded, log, options.storeWorker);
  for (const secret of Object.values(opened.secrets)) {
    // The lines of a multi-line key may appear one by one.
    for (const part of [secret, ...secret.split('\n')]) if (!part.startsWith('-----')) live.add(part);
  }
  const lasting = createLasting(opened, log, live);
  let first: Generation | undefined;
  try {
    const { version, watch = false, onToolCall } = options;
    first = await createGeneration(loaded, { lasting, version, watch, onToolCall });
    const gateway = new RunningGateway(first, lasting, { version, watch, onToolCall });
    void gateway.note('start');
    return gateway;
  } catch (error) {
    first?.authentication?.signIn.close();
    await first?.close();
    await lasting.close();
    await opened.store.close();
    throw error;
  }
}

// Loads further modules while the thread of the store starts.
function loadAhead({ access, auth }: Config): void {
  if (access?.some(({ when }) => when !== undefined)) void import('@marcbachmann/cel-js');
  if (auth?.keys) void import('../auth/key-sign-in.ts');
}

// How long a stopped call may take to end.
const LAST_WORDS_MS = 2_000;
// How often to check whether the last call of a replaced configuration has ended.
const RETIRE_MS = 50;

type RunOptions = Pick<GenerationOptions, 'version' | 'watch' | 'onToolCall'>;

class RunningGateway implements Gateway {
  readonly server: Server;
  readonly #lasting: Lasting;
  readonly #options: RunOptions;
  readonly #source: CurrentSource;
  /** The settings the listening server was started with. */
  readonly #started: Settings;
  #generation: Generation;
  #unwatch: (() => void) | undefined;
  #listening: Listening | undefined;
  /** Replaced generations with calls under way. */
  readonly #retiring = new Set<Generation>();
  readonly #stop = new AbortController();
  #reloading: Promise<void> = Promise.resolve();

  constructor(first: Generation, lasting: Lasting, options: RunOptions) {
    this.#started = fixedSettings(first);
    this.#generation = first;
    this.#lasting = lasting;
    this.#options = options;
    this.#source = new CurrentSource(first.source);
    measure(lasting);
    this.server = this.#createServer();
    this.server.dismissals.add((isGone) => lasting.runs.dismiss(isGone));
    this.#followDepartures();
  }

  get log(): Log {
    return this.#lasting.log;
  }

  get isReady(): boolean {
    return !this.#stop.signal.aborted && this.#lasting.store.journal.isReady;
  }

  get grants(): Grants {
    return this.#lasting.grants;
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
      maxConnections: server.maxConnections,
      routes: operationRoutes({ gateway: this, metrics: this.#lasting.metrics }),
    });
    return this.#listening;
  }

  stdioCaller(key?: string): Promise<Caller | undefined> {
    const { loaded, authentication } = this.#generation;
    const { identities } = this.#lasting.store;
    return stdioCaller({ auth: loaded.config.auth, authentication, identities, key });
  }

  async toolsOf(caller: Caller): Promise<readonly string[]> {
    return (await this.#source.list(caller)).map(({ name }) => name);
  }

  // One at a time: each reload starts from the result of the one before.
  reload(loaded: LoadedConfig): Promise<void> {
    const next = this.#reloading.then(() => this.#replace(loaded));
    this.#reloading = next.catch(() => {});
    return next;
  }

  async #replace(loaded: LoadedConfig): Promise<void> {
    this.#stop.signal.throwIfAborted();
    const before = this.#generation;
    // Never removed: a secret that was replaced or refused is still a secret.
    for (const secret of loaded.secrets) this.#lasting.live.add(secret);
    checkSignInStays(before.loaded, loaded);
    const next = await this.#tryNext(loaded, before);
    const change = changeBetween(before.registry.list(), next.registry.list(), definitionDigest);
    this.#generation = next;
    this.#source.replace(next.source, change);
    if (next.authentication !== before.authentication) {
      this.#followDepartures();
      before.authentication?.signIn.close();
      // The old sign-in no longer reports these callers as gone, so all of them must sign in again.
      this.server.dismiss(() => true);
    }
    before.stages.flush();
    await before.stopWatching();
    void this.#retire(before);
    await this.note('configuration');
    for (const key of differing(this.#started, fixedSettings(next)))
      this.log('warn', `${key} changed; that takes effect with the next start.`);
  }

  // Calls continue with the generation they started in, and a reload does not wait for them.
  async #retire(old: Generation): Promise<void> {
    this.#retiring.add(old);
    while (old.stages.tally.underWay > 0 && !this.#stop.signal.aborted)
      await new Promise((resolve) => setTimeout(resolve, RETIRE_MS).unref());
    // Stopping the server closes the rest.
    if (this.#stop.signal.aborted) return;
    this.#retiring.delete(old);
    await old
      .close()
      .catch((cause: unknown) => this.log('warn', 'Some tools could not be closed.', { cause }));
  }

  async #tryNext(loaded: LoadedConfig, before: Generation): Promise<Generation> {
    const reloads = this.#lasting.metrics.counter(
      'toolcrib_reloads_total',
      'Attempts to replace the configuration, by how they ended.',
      ['outcome'],
    );
    try {
      const { signal } = this.#stop;
      const next = await createGeneration(loaded, {
        lasting: this.#lasting,
        ...this.#options,
        before,
        signal,
      });
      reloads.child('done').inc();
      return next;
    } catch (error) {
      reloads.child('refused').inc();
      throw error;
    }
  }

  async close(graceMs?: number): Promise<void> {
    this.#stop.abort(new ToolcribError('invalid_setup', 'The server is stopping.'));
    const drainMs = graceMs ?? this.#generation.loaded.config.server.drainSeconds * 1000;
    const stopAt = performance.now() + drainMs;
    // Before any wait, so that no new calls arrive; calls stopped after the drain still have a connection for their
    // response.
    const closed = this.#listening?.close(drainMs + LAST_WORDS_MS) ?? Promise.resolve();
    // A reload is aborted when the server stops, and connections close after their last response; if one does not, the
    // wait ends with the drain.
    await endsWithin(drainMs, this.#reloading);
    this.#unwatch?.();
    await endsWithin(stopAt - performance.now(), closed);
    this.server.close();
    // Tasks, and calls of older clients, continue without a connection.
    await this.#settled(stopAt);
    this.server.stopCalls();
    await this.#settled(performance.now() + LAST_WORDS_MS);
    await closed;
    this.#generation.authentication?.signIn.close();
    const all = [this.#generation, ...this.#retiring];
    for (const { stages } of all) stages.close();
    // Callers resuming now may still enqueue writes; give them one turn.
    await this.note('stop');
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all(all.map((generation) => generation.close()));
    await this.#lasting.close();
    await this.#lasting.store.close();
  }

  async #settled(until: number): Promise<void> {
    const all = [this.#generation, ...this.#retiring];
    while (all.some(({ stages }) => stages.tally.underWay > 0) && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
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
      version: server.version ?? this.#options.version,
      ...(server.title !== undefined && { title: server.title }),
      ...(server.instructions !== undefined && { instructions: server.instructions }),
      ...(authentication && {
        authenticate: (head) => this.#generation.authentication?.signIn.authenticate(head),
        ...(authentication.resource && { resource: authentication.resource }),
      }),
      ...hostsOf(this.#generation.loaded),
      maxBodyBytes: server.maxBodyBytes,
      requestsPerMinute: server.requestsPerMinute,
      pageSize: server.pageSize,
      jsonText: server.jsonText,
      delivery: server.delivery,
      publish: server.publish,
      invalidArguments: server.invalidArguments,
      ...(server.errorCodes && { errorCodes: server.errorCodes }),
      memory: withoutSecrets(this.#lasting.store.memory, this.#lasting.live),
      log: this.log,
      onRefusal: (refusal) => this.#generation.stages.refuse(refusal),
      onUnknown: (code) => refused.child(code).inc(),
    });
  }

  #followDepartures(): void {
    this.#unwatch?.();
    this.#unwatch = this.#generation.authentication?.signIn.onRevoked((isGone) =>
      this.server.dismiss(isGone),
    );
  }

  /** Records a start, stop or change of configuration. */
  async note(kind: 'start' | 'configuration' | 'stop'): Promise<void> {
    const { loaded, stages } = this.#generation;
    if (loaded.config.stages.audit === false) return;
    const facts = { kind, policy: stages.policyVersion, at: new Date().toISOString() };
    try {
      await this.#lasting.store.journal.append({ chain: OPERATOR_CHAIN, body: JSON.stringify(facts) });
    } catch (cause) {
      this.log('error', `The row "${kind}" could not be written to the record.`, { cause });
    }
  }
}

function measure({ metrics, store, buckets, slots, breakers, results }: Lasting): void {
  metrics.gauge('toolcrib_calls_waiting', 'Calls that wait for a free slot.', () => slots.waiting);
  metrics.gauge('toolcrib_breakers_open', 'Tools whose calls are refused because they keep failing.', () => {
    let open = 0;
    for (const [, state] of breakers.states()) if (state !== 'closed') open++;
    return open;
  });
  metrics.gauge('toolcrib_cache_bytes', 'How many bytes the cached results take.', () => results.bytes);
  metrics.gauge('toolcrib_record_ready', 'Whether calls can be recorded; no tool runs otherwise.', () =>
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
