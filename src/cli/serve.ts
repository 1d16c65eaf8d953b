import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import { ToolcribError } from '../base/errors.ts';
import { formatComplaint } from '../config/complaint.ts';
import { conflictsIn } from '../gateway/settings/config.ts';
import { parseAddress } from '../gateway/settings/server.ts';
import { createGateway, type Gateway } from '../gateway/create-gateway.ts';
import { defaultConfig } from '../gateway/settings/default-config.ts';
import { loadConfig, type LoadedConfig } from '../gateway/settings/load-config.ts';
import { catchAccidents } from './catch-accidents.ts';
import { concealInComplaints } from './complain.ts';
import { httpGreeting, stdioGreeting } from './connect/greeting.ts';
import { keyFromEnvironment, serveLines } from './connect/serve-lines.ts';
import { DEFAULT_CONFIG } from './default-file.ts';
import { packageVersion } from './package-version.ts';
import { parentGone } from './parent-gone.ts';

/** Options of `toolcrib serve`. */
export interface ServeFlags {
  readonly config?: string;
  readonly listen?: string;
  readonly stdio?: boolean;
  /** With `stdio`, the API key of the caller. */
  readonly key?: string;
}

/** `toolcrib serve`: serves the tools of a configuration, or the ready-made ones, over HTTP or stdio. */
export async function serve(flags: ServeFlags, storeWorker?: Worker): Promise<void> {
  const accidents = catchAccidents();
  keepCallsYoung();
  // Before tools are loaded, which could read it.
  const key = flags.key ?? keyFromEnvironment();
  const loaded = withAddress(await readConfiguration(flags), flags.listen);
  requireWayIn(loaded, flags);
  const gateway = await createGateway(loaded, { version: packageVersion(), watch: true, storeWorker });
  accidents.onServing(gateway.log, loaded.config.server.drainSeconds * 1000);
  try {
    await run(gateway, loaded, { ...flags, key, signal: accidents.signal });
  } finally {
    accidents.onDrained();
  }
}

/**
 * V8 may place what is made for each call among long-lived objects, where each keeps the next from being collected:
 * with other servers behind the gateway that costs as much as the call.
 */
function keepCallsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}

interface Run extends Omit<ServeFlags, 'key'> {
  readonly key: string | undefined;
  /** Aborted when the server must stop by itself. */
  readonly signal: AbortSignal;
}

async function run(gateway: Gateway, loaded: LoadedConfig, { signal, key, ...flags }: Run): Promise<void> {
  for (const problem of loaded.problems) gateway.log('warn', formatComplaint(problem));
  let unwatch: (() => Promise<void>) | undefined;
  let drainMs: number | undefined;
  try {
    const listening = flags.stdio ? undefined : await gateway.listen();
    // Not awaited: changes saved before it watches are found when it starts.
    unwatch = followChanges(gateway, loaded, flags);
    const stop = stopOn(signal, () =>
      listening ? process.stdout.write('\nStopping.\n') : gateway.log('info', 'Stopping.'),
    );
    if (listening) {
      await untilStopped(httpGreeting(listening.url, gateway.tools, loaded), stop);
      return;
    }
    if (process.stdin.isTTY) process.stderr.write(stdioGreeting(gateway.tools, loaded));
    drainMs = await serveLines(gateway, { stop, drainMs: loaded.config.server.drainSeconds * 1000, key });
  } finally {
    // First no more calls are accepted; reading a configuration can wait.
    await gateway.close(drainMs);
    // Not awaited: a configuration that is still being read is not used, however long it takes.
    void unwatch?.();
  }
}

async function readConfiguration({ config }: ServeFlags): Promise<LoadedConfig> {
  const file = config ?? (existsSync(DEFAULT_CONFIG) ? DEFAULT_CONFIG : undefined);
  const loaded = file === undefined ? defaultConfig() : await loadConfig(file);
  concealInComplaints(loaded);
  return loaded;
}

// No caller could sign in over HTTP.
function requireWayIn({ config: { auth } }: LoadedConfig, { stdio, key }: ServeFlags): void {
  if (!stdio && key !== undefined)
    throw new ToolcribError(
      'invalid_setup',
      '--key names the caller of --stdio; over HTTP each client sends its own.',
    );
  if (stdio || !auth || auth.keys || auth.jwt) return;
  throw new ToolcribError(
    'invalid_setup',
    'auth names only the caller of --stdio; serve with --stdio, or add "keys: {}" to auth.',
  );
}

function withAddress(loaded: LoadedConfig, text: string | undefined): LoadedConfig {
  if (text === undefined) return loaded;
  const address = parseAddress(text);
  if (!address) {
    throw new ToolcribError(
      'invalid_setup',
      `--listen takes HOST:PORT or PORT, such as 127.0.0.1:8484, not "${text}".`,
    );
  }
  const { server } = loaded.config;
  const config = { ...loaded.config, server: { ...server, listen: address } };
  const conflict = conflictsIn(config).find(({ severity }) => severity === 'error');
  if (conflict)
    throw new ToolcribError('invalid_setup', `--listen ${text} ${conflict.message}; ${conflict.remedy}.`);
  return { ...loaded, config };
}

function followChanges(gateway: Gateway, loaded: LoadedConfig, flags: ServeFlags): () => Promise<void> {
  const { log } = gateway;
  if (loaded.isDefault) {
    const refuse = (): void => log('info', 'There is no configuration file to read again.');
    process.on('SIGHUP', refuse);
    return async () => void process.off('SIGHUP', refuse);
  }
  const tellInvalid = (error: unknown): void =>
    error instanceof ToolcribError
      ? log('error', `The new configuration cannot be used, so the old one stays in use. ${error.message}`)
      : log('error', 'The new configuration cannot be used, so the old one stays in use.', { cause: error });
  const watching = import('../gateway/watch-config.ts').then(({ watchConfig }) =>
    watchConfig(loaded.file, {
      log,
      sources: loaded.sources,
      async onChange(changed) {
        try {
          await gateway.reload(withAddress(changed, flags.listen));
          log('info', 'The configuration was loaded again.');
        } catch (error) {
          tellInvalid(error);
        }
      },
      onProblem: tellInvalid,
    }),
  );
  const reload = (): void => void watching.then((watcher) => watcher.reload());
  process.on('SIGHUP', reload);
  return async () => {
    process.off('SIGHUP', reload);
    await (await watching).close();
  };
}

/**
 * Aborted when the server must stop: by the first signal to the process, by itself, or with the npm that started it.
 */
function stopOn(accident: AbortSignal, onSignal: () => void): AbortSignal {
  const stop = new AbortController();
  let hasCome = false;
  const gone = parentGone();
  gone?.addEventListener('abort', onSignal);
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(name, () => {
      // A second signal ends the process at once.
      if (hasCome) process.exit(code);
      hasCome = true;
      onSignal();
      stop.abort();
    });
  }
  return AbortSignal.any([accident, stop.signal, ...(gone ? [gone] : [])]);
}

async function untilStopped(text: string, stop: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    stop.addEventListener('abort', () => resolve());
    if (stop.aborted) return resolve();
    // Last, because its reader may stop the server at once.
    process.stdout.write(text);
  });
}
