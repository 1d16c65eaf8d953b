import { localCaller, type Caller } from '../core/caller.ts';
import { systemClock } from '../base/clock.ts';
import { ToolcribError } from '../base/errors.ts';
import { parseJson } from '../base/parse-json.ts';
import type { ToolSource } from '../core/source.ts';
import { withEssentials } from '../core/essentials/essentials.ts';
import { stderrLog, steadyLog, type Log } from '../observe/log.ts';
import { revisionOf } from '../protocol/revisions/revisions.ts';
import { Accidents } from './accidents.ts';
import { Announcer, announceTo } from './sessions/announcer.ts';
import { Exchange, type ExchangeOptions } from './exchange.ts';
import { answerFetch } from './http/fetch.ts';
import { Gate } from './http/gate.ts';
import { UnreadAnswers } from './http/unread-answers.ts';
import { createInMemory } from '../core/memory/in-memory.ts';
import { textOf } from './answer.ts';
import { createLink } from './link.ts';
import { Subscriptions } from './sessions/listen.ts';
import { createMethods } from './calls/methods.ts';
import type { ServerOptions } from './options.ts';
import type { ServerParts } from './parts.ts';
import { metadataOf } from './http/protected-resource.ts';
import { ParkedCalls } from './calls/parked-calls.ts';
import { Publications } from './calls/publications.ts';
import { KeepAlive } from './sessions/keep-alive.ts';
import { RequestRates } from './request-rates.ts';
import { Seal } from './calls/seal.ts';
import { bodyLimits, questionLimits, CallerLimit } from './caller-limit.ts';
import { Session } from './sessions/session.ts';
import { SessionRequests } from './http/session-requests.ts';
import { Sessions } from './sessions/sessions.ts';
import { keepsNothing } from './sessions/stream.ts';
import { Tasks } from './calls/tasks.ts';

/** A message as a JSON-RPC object. */
export type JsonRpcMessage = { readonly jsonrpc: '2.0' } & Readonly<Record<string, unknown>>;

/** How a message handed over in process is sent and answered. */
export interface HandleOptions {
  /** The local caller unless set. */
  readonly caller?: Caller;
  /** Called with the messages about the request that come before its answer. */
  readonly notify?: (message: JsonRpcMessage) => void;
  readonly signal?: AbortSignal;
  /** Which handshake revision a message is of that does not say so itself; the newest unless set. */
  readonly protocolVersion?: string;
}

/**
 * A source behind an endpoint: `listen` and `serveStdio` put it on the network, `fetch` and `handle` into another
 * program.
 */
export interface Server {
  readonly source: ToolSource;
  readonly options: Defaulted;
  /** What every transport calls; the place to start for one of your own. */
  readonly exchange: Exchange;
  /** Answers GET and DELETE, for transports that have them. */
  readonly sessionRequests: SessionRequests;
  /** Limits the bytes of messages that come in several pieces. */
  readonly inPieces: CallerLimit;
  /** Limits the answers that clients do not read. */
  readonly unread: UnreadAnswers;
  /** Asked by transports before they open streams of their own. */
  readonly rates: RequestRates;
  /** Answers a web-standard request; needs `authenticate`, because a request does not tell where it came from. */
  fetch(request: Request): Promise<Response>;
  /** Answers one JSON-RPC message in this process; a notification gets no answer. */
  handle(message: JsonRpcMessage, options?: HandleOptions): Promise<JsonRpcMessage | undefined>;
  /** Ends the subscriptions, streams and sessions of callers whose access has ended, such as by a revoked key. */
  dismiss(isGone: (caller: Caller) => boolean): void;
  /** More to do when access ends; transports with connections of their own add to it. */
  readonly dismissals: Set<(isGone: (caller: Caller) => boolean) => void>;
  /** Ends every open stream properly; running requests continue. */
  close(): void;
  /** Stops every request and every task that is still under way. */
  stopCalls(): void;
}

/** Makes a server of a source; arguments and results are always validated. */
export function createServer(options: ServerOptions): Server {
  checkOptions(options);
  const defaulted = withDefaults(options);
  const { log, accidents, maxBodyBytes } = defaulted;
  const parts = createParts(defaulted);
  const subscriptions = new Subscriptions(parts.announcer, parts.keepAlive);
  parts.tasks.onChange = (record) => subscriptions.tellTask(record);
  const { sessions, announcer, delivery } = parts;
  sessions.onRestore = (session) => announceTo(session, announcer);
  const rates = new RequestRates(options.requestsPerMinute ?? 6_000, parts.clock);
  const inPieces = new CallerLimit('bytes of messages that come in pieces', bodyLimits);
  const exchange = new Exchange({
    methods: createMethods(parts, subscriptions),
    sessions,
    rates,
    delivery,
    log,
    accidents,
    clock: parts.clock,
    errorNumbers: errorNumbers(options),
    onRefusal: options.onRefusal,
    onReady: (session) => announceTo(session, announcer),
  });
  const sessionRequests = new SessionRequests(sessions, parts.keepAlive, rates);
  const dismissals: Server['dismissals'] = new Set([
    (isGone) => subscriptions.dismiss(isGone),
    (isGone) => parts.parked.dismiss(isGone),
    (isGone) => void dismissFrom(sessions, isGone, log),
  ]);
  const metadata = options.resource && metadataOf(options.resource);
  const gate = new Gate(defaulted, { path: undefined, allowedHosts: options.allowedHosts });
  return {
    source: parts.source,
    options: defaulted,
    exchange,
    sessionRequests,
    rates,
    inPieces,
    unread: new UnreadAnswers(),
    fetch: async (request) =>
      answerFetch(request, {
        exchange,
        sessionRequests,
        gate: requireSignIn(gate, options),
        maxBodyBytes,
        inPieces,
        metadata,
      }),
    handle: (message, handling) => answerMessage({ exchange, accidents }, message, handling),
    dismissals,
    // Each by itself: one that throws must not keep the streams of ended callers open elsewhere.
    dismiss: (isGone) => dismissals.forEach((dismiss) => accidents.contain(() => dismiss(isGone))),
    ...endingsOf(parts, exchange, { subscriptions, accidents }),
  };
}

function endingsOf(
  { sessions, parked, tasks }: ServerParts,
  exchange: Exchange,
  { subscriptions, accidents }: { readonly subscriptions: Subscriptions; readonly accidents: Accidents },
): Pick<Server, 'close' | 'stopCalls'> {
  // If one cannot be stopped, the others still are.
  const stopAll = (workers: readonly { stop(reason: Error): void }[]): void => {
    const reason = new ToolcribError('cancelled', 'The server is stopping.');
    for (const worker of workers) accidents.contain(() => worker.stop(reason));
  };
  return {
    close() {
      subscriptions.end();
      sessions.endStreams();
      // Their clients cannot come back.
      stopAll([parked]);
    },
    stopCalls: () => stopAll([exchange, parked, tasks]),
  };
}

function errorNumbers({ errorCodes = {}, invalidArguments }: ServerOptions): ExchangeOptions['errorNumbers'] {
  const { toolNotFound } = errorCodes;
  return {
    ...(toolNotFound !== undefined && { unknown_tool: toolNotFound }),
    ...(invalidArguments === 'protocol' && { invalid_arguments: errorCodes.invalidArguments ?? -32602 }),
  };
}

async function dismissFrom(sessions: Sessions, isGone: (caller: Caller) => boolean, log: Log): Promise<void> {
  try {
    await sessions.dismiss(isGone);
  } catch (cause) {
    log('error', 'Ended sessions could not be removed.', { cause });
  }
}

type Defaulted = ServerOptions &
  Required<Pick<ServerOptions, 'log' | 'maxBodyBytes'>> & { readonly accidents: Accidents };

function withDefaults(options: ServerOptions): Defaulted {
  const log = steadyLog(options.log ?? stderrLog);
  return { ...options, log, maxBodyBytes: options.maxBodyBytes ?? 1_048_576, accidents: new Accidents(log) };
}

function createParts(options: Defaulted): ServerParts {
  const { name = 'toolcrib', version = '0.0.0', title, instructions, clock = systemClock } = options;
  const publications = options.publish ? new Publications(clock) : undefined;
  const source = withPublications(withEssentials(options.source, options), publications);
  const memory = options.memory ?? createInMemory(clock);
  return {
    source,
    info: { name, version, ...(title !== undefined && { title }) },
    instructions,
    jsonText: options.jsonText ?? 'pretty',
    invalidArguments: options.invalidArguments ?? 'result',
    pageSize: options.pageSize ?? 1_000,
    clock,
    log: options.log,
    seal: new Seal({ keys: memory.keys, spent: memory.spent, clock }),
    sessions: new Sessions(memory, clock),
    tasks: new Tasks(memory.tasks, clock),
    parked: new ParkedCalls(clock),
    announcer: new Announcer(source, options.accidents),
    keepAlive: new KeepAlive(clock, options.accidents),
    waiting: new CallerLimit('questions', questionLimits, 'cannot_ask'),
    publications,
    delivery: options.delivery ?? 'direct',
  };
}

function withPublications(source: ToolSource, publications: Publications | undefined): ToolSource {
  if (!publications) return source;
  return {
    ...source,
    get resources() {
      return publications.beside(source.resources);
    },
    get prompts() {
      return source.prompts;
    },
  };
}

function requireSignIn(gate: Gate, { authenticate }: ServerOptions): Gate {
  if (authenticate) return gate;
  throw new ToolcribError(
    'invalid_setup',
    'server.fetch cannot see where a request comes from, so it has no open mode: pass authenticate to createServer.',
  );
}

function sessionOf(caller: Caller, protocolVersion: string): Session {
  const session = new Session('in process', caller, keepsNothing);
  session.revision = revisionOf(protocolVersion);
  return session;
}

async function answerMessage(
  { exchange, accidents }: { exchange: Exchange; accidents: Accidents },
  message: JsonRpcMessage,
  options: HandleOptions = {},
): Promise<JsonRpcMessage | undefined> {
  const { caller = localCaller, notify, signal, protocolVersion } = options;
  if (signal?.aborted) return undefined;
  // A listener that fails is no failure of the tool that has something to say.
  const say = (text: string): void => accidents.contain(() => notify?.(parseJson(text) as JsonRpcMessage));
  const link = createLink(
    caller,
    say,
    protocolVersion === undefined ? undefined : sessionOf(caller, protocolVersion),
  );
  const cancel = (): void =>
    link.cancellation.withdraw(new ToolcribError('cancelled', 'The caller cancelled the request.'));
  signal?.addEventListener('abort', cancel, { once: true });
  const { body } = await exchange.answer(Buffer.from(JSON.stringify(message)), link);
  signal?.removeEventListener('abort', cancel);
  if (body === undefined) return undefined;
  return parseJson(textOf(body)) as JsonRpcMessage;
}

function checkOptions(options: ServerOptions): void {
  const { source, deadlineMs, pageSize, maxBodyBytes, requestsPerMinute } = options;
  if (typeof source?.list !== 'function') {
    throw new ToolcribError(
      'invalid_setup',
      'createServer needs a source, such as a ToolRegistry: createServer({ source: registry }).',
    );
  }
  for (const [name, value] of Object.entries({ deadlineMs, pageSize, maxBodyBytes, requestsPerMinute })) {
    if (value !== undefined && !(Number.isFinite(value) && value >= 1)) {
      throw new ToolcribError('invalid_setup', `${name} must be a positive number, not ${String(value)}.`);
    }
  }
}
