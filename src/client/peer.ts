import { systemClock, type Clock } from '../base/clock.ts';
import { ToolcribError } from '../base/errors.ts';
import { nothing, type Awaitable } from '../base/awaitable.ts';
import { isObject } from '../base/json.ts';
import { logLevels, type ClientLogLevel } from '../core/call.ts';
import { TASKS_EXTENSION } from '../core/requirement.ts';
import type { ListedTool } from '../core/tool.ts';
import type { Notice } from '../protocol/decode/message.ts';
import type { Implementation } from '../protocol/revisions/revision.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';
import { metaKeys } from '../protocol/wire/meta.ts';
import { ConnectLimit } from './opening/connect-limit.ts';
import { Connection, type SendOptions } from './connection.ts';
import { ToolTimeout, type SignInNeeded } from './errors.ts';
import { Listeners } from './listeners.ts';
import { askInTime, handshake, type OpeningParts, type ServerFacts } from './opening/handshake.ts';
import { open } from './opening/open.ts';
import { defaultLimits, defaultTimeouts, type ClientOptions, type Limits, type Timeouts } from './options.ts';
import { declaredCapabilities } from './question-handlers.ts';
import { ServerQuestions } from './server-questions.ts';
import { failedState, type ConnectionState } from './state.ts';
import { tellingReceiver, tellingTransport, type OnMessage } from './traffic.ts';
import type { Dialect, Receiver, Transport } from './transport.ts';

/** The events of a client. */
export interface ClientEvents {
  /** The new list, or `undefined` where it is not loaded again by itself. */
  readonly toolsChanged: readonly ListedTool[] | undefined;
  readonly promptsChanged: undefined;
  readonly resourcesChanged: undefined;
  readonly resourceUpdated: { readonly uri: string };
  readonly log: { readonly level: ClientLogLevel; readonly data: unknown; readonly logger?: string };
  readonly state: ConnectionState;
  /** Something odd that was dealt with. */
  readonly warning: string;
}

/** What a transport needs of its client. */
export interface TransportNeeds {
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly limits: Limits;
  /** How long connecting may still take. */
  readonly limit: ConnectLimit;
  readonly receiver: () => Receiver;
  /** Makes a new session if the server no longer knows the old one; resolves after the handshake. */
  renew(): Promise<void>;
  /** Told that notifications of the server may have been missed. */
  onGap(): void;
  onWarning(text: string): void;
  /** Told that somebody has to sign in, or no longer has to; once for each change. */
  onSignIn(needed: SignInNeeded | undefined): void;
}

/** How a client is set up. */
export interface ClientSetup {
  readonly options: ClientOptions;
  /** The name under which the revision of the server is remembered. */
  readonly address: string | undefined;
  /** How long a server may be silent before it is taken for an old one. */
  readonly probeMs: number | undefined;
  /** How long connecting may take, where this is only one of several ways to connect. */
  readonly limit?: ConnectLimit;
  readonly transport: (needs: TransportNeeds) => Transport;
}

type MetaFacts = Pick<SendOptions, 'capabilities' | 'logLevel'>;

// More kinds of clients than there usually are behind one connection.
const MAX_META_TEXTS = 64;
const NAMELESS: Implementation = { name: 'toolcrib', version: '0' };

/** The server at the far end: its revision, the state of the connection to it, and the way to reach it. */
export class Peer {
  readonly options: ClientOptions;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly limits: Limits;
  readonly connection: Connection;
  readonly questions: ServerQuestions;
  readonly listeners: Listeners<ClientEvents>;
  /** Whether this client itself answers questions of the server. */
  readonly hasHandlers: boolean;
  readonly #transport: Transport;
  readonly #opening: OpeningParts;
  readonly #limit: ConnectLimit;
  readonly #metaTexts = new Map<string, string>();
  #server: ServerFacts | undefined;
  // The index of the level that an older server was asked for.
  #logLevel = Infinity;
  #state: ConnectionState = { kind: 'connecting' };
  /** Told of every notification that belongs to no request. */
  onNotice: ((notice: Notice) => void) | undefined;
  /** Told that there is a new session: what was fetched in the old one may be out of date. */
  onRenewed: (() => void) | undefined;
  /** Told that changes may have been missed: what was fetched may be out of date. */
  onGap: (() => void) | undefined;

  constructor({ options, address, probeMs, limit: shared, transport }: ClientSetup) {
    const clock = (this.clock = options.clock ?? systemClock);
    const timeouts = (this.timeouts = { ...defaultTimeouts, ...options.timeouts });
    const limits = (this.limits = { ...defaultLimits, ...options.limits });
    const limit = (this.#limit = shared ?? new ConnectLimit(clock, timeouts.connectMs));
    this.options = options;
    this.hasHandlers = Object.keys(options.handlers ?? {}).length > 0;
    this.listeners = new Listeners((error) => this.warn(`A listener failed: ${String(error)}`));
    const onWarning = (text: string): void => this.warn(text);
    const onMessage = options.onMessage && this.#contained(options.onMessage);
    const telling = onMessage && tellingReceiver(() => this.connection, onMessage);
    const receiver = (): Receiver => telling ?? this.connection;
    const plain = transport({
      clock,
      timeouts,
      limits,
      limit,
      receiver,
      renew: () => this.#renew(),
      onGap: () => this.onGap?.(),
      onWarning,
      onSignIn: (needed) => this.#setState(needed ? failedState(needed) : { kind: 'connected' }),
    });
    this.#transport = onMessage ? tellingTransport(plain, onMessage) : plain;
    this.questions = new ServerQuestions({
      handlers: options.handlers ?? {},
      server: () => this.label,
      maxOpen: limits.openQuestions,
      onWarning,
    });
    this.connection = new Connection({
      transport: this.#transport,
      clock,
      timeouts,
      limits,
      questions: this.questions,
      metaText: (dialect, own) => this.#metaText(dialect, own),
      trace: options.trace,
      onNotice: (notice) => this.onNotice?.(notice),
      onWarning,
      onLost: (error) => this.#setState(failedState(error)),
    });
    this.#opening = {
      connection: this.connection,
      transport: this.#transport,
      options,
      info: options.info ?? NAMELESS,
      capabilities: declaredCapabilities(options.capabilities, options.handlers),
      address,
      limit,
      probeMs,
      clock,
    };
  }

  /** What is at the other end, for messages to people. */
  get label(): string {
    return this.#transport.label;
  }

  /** Whether notifications of an older server can arrive right now. */
  get hearsChanges(): boolean {
    return this.#transport.isListening ?? true;
  }

  /** The state of the connection. */
  get state(): ConnectionState {
    return this.#state;
  }

  /** What the server said of itself while connecting. */
  get server(): ServerFacts {
    if (this.#server) return this.#server;
    throw new ToolcribError('invalid_setup', 'The connection is not open.');
  }

  /** Connects: finds out which revision the server speaks. */
  async open(): Promise<void> {
    try {
      this.#server = await open(this.#opening);
      this.#setState({ kind: 'connected' });
      await this.#settle(this.#server);
    } catch (cause) {
      const error = cause instanceof ToolTimeout ? this.#silent(cause) : cause;
      this.#setState(failedState(error));
      await this.connection.close();
      throw error;
    }
  }

  // A program that waits for something says so on its error output, such as a question whether to install it.
  #silent({ message }: ToolTimeout): ToolTimeout {
    const said = this.#transport.errorText?.() ?? '';
    return new ToolTimeout(`${this.label}: ${message}`, said === '' ? {} : { cause: new Error(said) });
  }

  // What fails there is no failure of the message, and while a program is read nobody else would hear of it.
  #contained(tell: OnMessage): OnMessage {
    return (from, text) => {
      try {
        tell(from, text);
      } catch (error) {
        this.warn(`onMessage failed: ${String(error)}`);
      }
    };
  }

  /** Reports something odd that was dealt with. */
  warn(text: string): void {
    this.listeners.tell('warning', text);
  }

  /** Asks for log entries from this level on. */
  async setLogLevel(level: ClientLogLevel): Promise<void> {
    this.#metaTexts.clear();
    (this as { options: ClientOptions }).options = { ...this.options, logLevel: level };
    if (this.server.era === 'legacy') await this.connection.request('logging/setLevel', { level });
  }

  /** Sets the log level for a call at an older server; in the newest revision the call itself has the level. */
  wantLogs(level: ClientLogLevel | undefined, withinMs?: number): Awaitable<void> {
    const { era, capabilities } = this.server;
    if (level === undefined || era === 'modern' || !('logging' in capabilities)) return undefined;
    const wanted = logLevels.indexOf(level);
    if (wanted >= this.#logLevel) return undefined;
    this.#logLevel = wanted;
    const options = withinMs === undefined ? {} : { withinMs };
    return this.connection.request('logging/setLevel', { level }, options).then(nothing, nothing);
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    this.#setState({ kind: 'disabled', reason: 'The connection was closed.', remedy: 'Connect again.' });
    this.listeners.clear();
    await this.connection.close();
  }

  async #settle({ era, capabilities }: ServerFacts): Promise<void> {
    if (era !== 'legacy') return;
    const { logLevel } = this.options;
    const mayNotify = Object.keys(capabilities).length > 0 || this.hasHandlers;
    if (mayNotify) this.#transport.listen?.();
    if (logLevel && 'logging' in capabilities)
      await askInTime(this.#opening, { method: 'logging/setLevel', params: { level: logLevel } });
  }

  async #renew(): Promise<void> {
    this.#limit.restart();
    this.questions.withdrawAll();
    this.#server = await handshake(this.#opening, this.server.protocolVersion);
    this.#logLevel = Infinity;
    this.#setState({ kind: 'connected' });
    this.onRenewed?.();
    // Requests wait until this is done, so it waits for none.
    this.#settle(this.#server).catch((error: unknown) =>
      this.warn(`No log entries will come: ${String(error)}`),
    );
  }

  #setState(state: ConnectionState): void {
    if (this.#state.kind === 'disabled') return;
    this.#state = state;
    this.listeners.tell('state', state);
  }

  // The same for most requests, so it is written once.
  #metaText(
    { era, version }: Dialect,
    { capabilities, logLevel = this.options.logLevel }: MetaFacts,
  ): string | undefined {
    if (era === 'legacy') return undefined;
    const declared =
      capabilities && (Object.keys(capabilities).length === 0 ? '{}' : JSON.stringify(capabilities));
    const key = declared === undefined ? version : `${version} ${logLevel} ${declared}`;
    let text = this.#metaTexts.get(key);
    if (text === undefined) {
      const meta: JsonObject = {
        [metaKeys.protocolVersion]: version,
        [metaKeys.clientInfo]: this.options.info ?? NAMELESS,
        [metaKeys.clientCapabilities]: capabilities ?? this.#ownCapabilities(),
        ...(logLevel && { [metaKeys.logLevel]: logLevel }),
      };
      if (this.#metaTexts.size >= MAX_META_TEXTS) this.#metaTexts.clear();
      this.#metaTexts.set(key, (text = JSON.stringify(meta)));
    }
    return text;
  }

  #ownCapabilities(): JsonObject {
    const { handlers, tasks = true, capabilities } = this.options;
    const declared = declaredCapabilities(capabilities, handlers);
    const { extensions } = declared;
    return {
      ...declared,
      ...(tasks && { extensions: { ...(isObject(extensions) && extensions), [TASKS_EXTENSION]: {} } }),
    };
  }
}
