import { PassThrough, type Readable } from 'node:stream';
import { ToolcribError } from '../../base/errors.ts';
import type { Caller } from '../../core/caller.ts';
import type { Gateway } from '../../gateway/create-gateway.ts';
import { serveStdio } from '../../server/stdio.ts';
import { standardOutput } from '../output.ts';
import { KEY_VARIABLE } from './client-shapes.ts';

// As often as a server that listens asks about a key again.
const LOOK_AGAIN_MS = 5_000;

/** How long a server talks over standard input and output. */
export interface LinesOptions {
  readonly stop: AbortSignal;
  readonly drainMs: number;
  /** The API key of the caller, if it has one. */
  readonly key: string | undefined;
}

/** The key for a caller of standard input and output; it is taken out of the environment, which tools can read. */
export function keyFromEnvironment(): string | undefined {
  const key = process.env[KEY_VARIABLE];
  delete process.env[KEY_VARIABLE];
  return key === '' ? undefined : key;
}

/** Serves until the input ends, or until the drain ends after a stop; returns how much of the drain is left. */
export async function serveLines(gateway: Gateway, options: LinesOptions): Promise<number> {
  const { drainMs, key } = options;
  const caller = await gateway.stdioCaller(key);
  if (!caller) throw new ToolcribError('invalid_setup', whyNobody(key));
  await warnOfNothing(gateway, caller);
  const watch = watchCaller(gateway, key);
  const stop = AbortSignal.any([options.stop, watch.gone]);
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
  const served = serveStdio(gateway.server, { input: inputUntil(stop), output: standardOutput(), caller });
  await Promise.race([served, drained]);
  watch.end();
  clearTimeout(timer);
  return Math.max(0, Math.min(drainMs, endsAt - performance.now()));
}

function whyNobody(key: string | undefined): string {
  return key === undefined
    ? 'The tenant of auth.stdio is disabled; enable it with: toolcrib tenants enable TENANT.'
    : `The key in --key or ${KEY_VARIABLE} names nobody: it is unknown, revoked or expired, or its tenant is disabled.`;
}

// A client that shows no tools does not say why.
async function warnOfNothing(gateway: Gateway, caller: Caller): Promise<void> {
  const all = gateway.tools.length;
  if (all === 0 || (await gateway.toolsOf(caller)).length > 0) return;
  gateway.log(
    'warn',
    `The caller may use none of the ${all} tools, so its list is empty; name it, with roles, in auth.stdio, or by a key in --key or ${KEY_VARIABLE}.`,
    { tenant: caller.tenant.id, caller: caller.id, roles: caller.roles.join(' ') },
  );
}

/** Aborts when the caller's key or tenant is no longer valid. */
function watchCaller(gateway: Gateway, key: string | undefined): { gone: AbortSignal; end(): void } {
  const gone = new AbortController();
  const look = async (): Promise<void> => {
    const caller = await gateway.stdioCaller(key);
    if (caller || gone.signal.aborted) return;
    gateway.log('warn', 'The key or the tenant of the caller is no longer valid, so the server stops.');
    gone.abort();
  };
  const report = (cause: unknown): void =>
    gateway.log('warn', 'It could not be checked whether the caller still has access.', { cause });
  const timer = setInterval(() => void look().catch(report), LOOK_AGAIN_MS).unref();
  return { gone: gone.signal, end: () => clearInterval(timer) };
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
