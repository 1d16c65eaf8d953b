import type { Caller } from '../core/caller.ts';
import { systemClock } from '../core/clock.ts';
import { ToolcribError } from '../core/errors.ts';
import { withStages } from '../core/stage.ts';
import type { ToolSource } from '../core/source.ts';
import { validateInput, validateOutput } from '../core/validate.ts';
import { stderrLog } from '../observe/log.ts';
import { Dispatch } from './dispatch.ts';
import { Exchange } from './exchange.ts';
import { answerFetch } from './fetch.ts';
import { Gate } from './gate.ts';
import { createLink, textOf } from './link.ts';
import type { ServerOptions } from './options.ts';

/** A message as a JSON-RPC object. */
export type JsonRpcMessage = { readonly jsonrpc: '2.0' } & Readonly<Record<string, unknown>>;

/** How a message handed over in process is sent and answered. */
export interface HandleOptions {
  readonly caller: Caller;
  /** Hears what the server says about the request before its answer. */
  readonly notify?: (message: JsonRpcMessage) => void;
  readonly signal?: AbortSignal;
}

/** A source behind an endpoint: `listen` and `serveStdio` put it on the network, `fetch` and `handle` into another program. */
export interface Server {
  readonly source: ToolSource;
  readonly options: ServerOptions & { readonly maxBodyBytes: number };
  /** What every transport calls; the place to start for one of your own. */
  readonly exchange: Exchange;
  /** Answers a web-standard request; needs `authenticate`, because a request does not tell where it came from. */
  fetch(request: Request): Promise<Response>;
  /** Answers one JSON-RPC message in this process; a notification gets no answer. */
  handle(message: JsonRpcMessage, options: HandleOptions): Promise<JsonRpcMessage | undefined>;
}

/** Makes a server of a source; arguments and results are always validated. */
export function createServer(options: ServerOptions): Server {
  checkOptions(options);
  const { name = 'toolcrib', version = '0.0.0', title, instructions, log = stderrLog } = options;
  const info = { name, version, ...(title !== undefined && { title }) };
  const source = withStages(options.source, [validateInput, validateOutput]);
  const dispatch = new Dispatch({
    source,
    info,
    jsonText: options.jsonText ?? 'pretty',
    deadlineMs: options.deadlineMs ?? 30_000,
    pageSize: options.pageSize ?? 1_000,
    clock: options.clock ?? systemClock,
    log,
  });
  const exchange = new Exchange({ dispatch, info, instructions, watches: source.watch !== undefined, log });
  const { maxBodyBytes = 1_048_576 } = options;
  const gate = new Gate({ ...options, log }, { path: undefined, allowedHosts: options.allowedHosts });
  return {
    source,
    options: { ...options, log, maxBodyBytes },
    exchange,
    fetch: (request) => answerFetch(request, { exchange, gate: requireSignIn(gate, options), maxBodyBytes }),
    handle: (message, handling) => answerMessage(exchange, message, handling),
  };
}

function requireSignIn(gate: Gate, { authenticate }: ServerOptions): Gate {
  if (authenticate) return gate;
  throw new ToolcribError(
    'invalid_setup',
    'server.fetch cannot see where a request comes from, so it has no open mode: pass authenticate to createServer.',
  );
}

async function answerMessage(
  exchange: Exchange,
  message: JsonRpcMessage,
  options: HandleOptions,
): Promise<JsonRpcMessage | undefined> {
  const { caller, notify, signal } = options;
  if (signal?.aborted) return undefined;
  const link = createLink(caller, (text) => notify?.(JSON.parse(text) as JsonRpcMessage));
  const cancel = (): void =>
    link.cancellation.abort(new ToolcribError('cancelled', 'The caller cancelled the request.'));
  signal?.addEventListener('abort', cancel, { once: true });
  const { body } = await exchange.answer(Buffer.from(JSON.stringify(message)), link);
  signal?.removeEventListener('abort', cancel);
  if (body === undefined) return undefined;
  return JSON.parse(textOf(body)) as JsonRpcMessage;
}

function checkOptions({ source, deadlineMs, pageSize, maxBodyBytes }: ServerOptions): void {
  if (typeof source?.list !== 'function') {
    throw new ToolcribError(
      'invalid_setup',
      'createServer needs a source, such as a ToolRegistry: createServer({ source: registry }).',
    );
  }
  for (const [name, value] of Object.entries({ deadlineMs, pageSize, maxBodyBytes })) {
    if (value !== undefined && !(Number.isFinite(value) && value >= 1)) {
      throw new ToolcribError('invalid_setup', `${name} must be a positive number, not ${String(value)}.`);
    }
  }
}
