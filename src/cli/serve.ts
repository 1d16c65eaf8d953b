import { existsSync } from 'node:fs';
import { PassThrough, type Readable } from 'node:stream';
import type { Worker } from 'node:worker_threads';
import { ToolcribError } from '../base/errors.ts';
import { formatComplaint } from '../config/complaint.ts';
import { conflictsIn } from '../gateway/settings/config.ts';
import { parseAddress } from '../gateway/settings/server.ts';
import { createGateway, type Gateway } from '../gateway/create-gateway.ts';
import { defaultConfig } from '../gateway/settings/default-config.ts';
import { loadConfig, type LoadedConfig } from '../gateway/settings/load-config.ts';
import type { Server } from '../server/create-server.ts';
import { serveStdio } from '../server/stdio.ts';
import { catchAccidents } from './catch-accidents.ts';
import { concealInComplaints } from './complain.ts';
import { INSPECTOR } from './connect/inspector.ts';
import { DEFAULT_CONFIG } from './default-file.ts';
import { packageVersion } from './package-version.ts';
import { parentGone } from './parent-gone.ts';

/** Options of `toolcrib serve`. */
export interface ServeFlags {
  readonly config?: string;
  readonly listen?: string;
  readonly stdio?: boolean;
}

/** `toolcrib serve`: serves the tools of a configuration, or the ready-made ones, over HTTP or stdio. */
export async function serve(flags: ServeFlags, storeWorker?: Worker): Promise<void> {
  const accidents = catchAccidents();
  const loaded = withAddress(await readConfiguration(flags), flags.listen);
  const gateway = await createGateway(loaded, { version: packageVersion(), watch: true, storeWorker });
  accidents.onServing(gateway.log, loaded.config.server.drainSeconds * 1000);
  try {
    await run(gateway, loaded, { ...flags, signal: accidents.signal });
  } finally {
    accidents.onDrained();
  }
}

interface Run extends ServeFlags {
  /** Aborted when the server must stop by itself. */
  readonly signal: AbortSignal;
}

async function run(gateway: Gateway, loaded: LoadedConfig, { signal, ...flags }: Run): Promise<void> {
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
    if (listening) await untilStopped(greeting(listening.url, gateway.tools, loaded), stop);
    else drainMs = await answerLines(gateway.server, stop, loaded.config.server.drainSeconds * 1000);
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
      ? log('error', `The configuration cannot be used, so the one before stays. ${error.message}`)
      : log('error', 'The configuration cannot be used, so the one before stays.', { cause: error });
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

/** Serves until the input ends, or until the drain ends after a stop; returns how much of the drain is left. */
async function answerLines(server: Server, stop: AbortSignal, drainMs: number): Promise<number> {
  let endsAt = Infinity;
  let timer: NodeJS.Timeout | undefined;
  const drained = new Promise<void>((resolve) => {
    const drain = (): void => {
      endsAt = performance.now() + drainMs;
      timer = setTimeout(resolve, drainMs);
    };
    stop.addEventListener('abort', drain);
    if (stop.aborted) drain();
  });
  await Promise.race([serveStdio(server, { input: inputUntil(stop) }), drained]);
  clearTimeout(timer);
  return Math.max(0, Math.min(drainMs, endsAt - performance.now()));
}

// The client does not know that it should disconnect, so its input is ended here.
function inputUntil(signal: AbortSignal): Readable {
  const input = new PassThrough();
  const end = (): void => {
    process.stdin.unpipe(input).pause();
    input.end();
  };
  process.stdin.pipe(input);
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  return input;
}

const MAX_NAMES = 8;

function greeting(url: string, tools: readonly string[], { config, file, isDefault }: LoadedConfig): string {
  const headers = config.auth && { headers: { Authorization: 'Bearer YOUR-KEY' } };
  const header = config.auth ? ' --header "Authorization: Bearer YOUR-KEY"' : '';
  const entry = JSON.stringify({ mcpServers: { [config.server.name]: { type: 'http', url, ...headers } } });
  const names = tools.length > MAX_NAMES ? `${tools.length} tools` : tools.join(', ') || 'no tools yet';
  return [
    `Toolcrib serves ${names} at ${url}`,
    '',
    `  for your client   ${entry}`,
    `  to look around    npx ${INSPECTOR.name}@${INSPECTOR.version} --cli ${url} --transport http --method tools/list${header}`,
    `  the record        ${isDefault ? 'in memory; it lasts with a toolcrib.yaml' : recordOf(config, file)}`,
    '',
    config.auth ? 'Ctrl-C stops it.' : 'Only this machine can reach it. Ctrl-C stops it.',
    '',
  ].join('\n');
}

function recordOf({ store, stages }: LoadedConfig['config'], file: string): string {
  if (stages.audit === false) return 'none is kept';
  return store.url === 'memory:' ? 'in memory' : `toolcrib audit tail --config ${file}`;
}
