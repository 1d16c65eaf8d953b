import { nothing } from '../../base/awaitable.ts';
import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { within } from '../../base/within.ts';
import type { Client } from '../../client/client.ts';
import { mayHave } from '../../client/opening/handshake.ts';
import type { HttpOptions } from '../../client/options.ts';
import { failedState, type ConnectionState } from '../../client/state.ts';
import { connectMcpServer } from '../../client/stdio/connect-server.ts';
import { cleanText } from '../../observe/clean-text.ts';
import type { Redact } from '../../observe/secrets.ts';
import type { Tool } from '../../core/tool.ts';
import type { AgentServer } from '../agent-config.ts';

/** The events of a link. */
export interface LinkListener {
  onState(state: ConnectionState): void;
  /** Every tool the server lists now. */
  onTools(tools: readonly Tool[]): void;
  onWarning(text: string): void;
}

/** How a server is connected to. */
export interface LinkParts {
  readonly clock: Clock;
  readonly connection: HttpOptions;
  /** Removes secrets from reports about the connection. */
  readonly redact: Redact;
  readonly listener: LinkListener;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const QUICK_TRIES = 3;
const RARELY_MS = 60_000;
// A server whose connection lasted this long does not count as one that fails again and again.
const LASTING_MS = 30_000;
const WAIT_FOR_CONNECTION_MS = 10_000;
const MAX_INSTRUCTIONS = 8_000;
const MAX_REASON = 2_000;

/** The connection to one server. If it is lost it is made again: a few times soon, then more and more rarely. */
export class ServerLink {
  readonly name: string;
  readonly config: AgentServer;
  readonly #parts: LinkParts;
  readonly #ending = new AbortController();
  #client: Client | undefined;
  #state: ConnectionState = { kind: 'connecting' };
  #running: Promise<void> | undefined;
  readonly #settled: (() => void)[] = [];

  constructor(name: string, config: AgentServer, parts: LinkParts) {
    this.name = name;
    this.config = config;
    this.#parts = parts;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get client(): Client | undefined {
    return this.#state.kind === 'connected' ? this.#client : undefined;
  }

  /** Instructions of the server: cleaned, capped and still not to be trusted. */
  get instructions(): string | undefined {
    const text = this.client?.server.instructions;
    if (text === undefined) return undefined;
    const clean = cleanText(text);
    return clean.length > MAX_INSTRUCTIONS ? `${clean.slice(0, MAX_INSTRUCTIONS)}\n[cut here]` : clean;
  }

  /** Connects, and keeps the connection up; resolves once it was tried. */
  start(): Promise<void> {
    if (this.config.entry.disabled) {
      const remedy = 'Take "disabled" out of its entry.';
      this.#setState({ kind: 'disabled', reason: 'It is disabled in the configuration.', remedy });
      return Promise.resolve();
    }
    const tried = this.#whenSettled();
    this.#running = this.#run();
    return tried;
  }

  /** The connection. One that is being made is waited for, up to ten seconds. */
  async ready(signal: AbortSignal): Promise<Client> {
    if (this.#state.kind === 'connecting')
      // Whatever ended the wait: without a connection, the error below has its state.
      await within(WAIT_FOR_CONNECTION_MS, signal, this.#whenSettled()).catch(nothing);
    const { client } = this;
    if (client) return client;
    throw new ToolcribError('upstream_unavailable', `${this.name} is not connected. ${why(this.#state)}`);
  }

  /** Ends the connection for good. */
  async close(): Promise<void> {
    this.#ending.abort();
    await this.#client?.close();
    await this.#running;
    this.#setState({ kind: 'disabled', reason: 'The agent was closed.', remedy: 'Make a new one.' });
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    let failures = 0;
    let pauseMs: number | undefined = 0;
    while (pauseMs !== undefined && !signal.aborted) {
      await this.#pause(pauseMs);
      if (signal.aborted) return;
      const startedAt = this.#parts.clock.ticks();
      try {
        const { lost } = await this.#open();
        const state = await lost;
        if (signal.aborted) return;
        this.#setState(state);
        failures = this.#parts.clock.ticks() - startedAt > LASTING_MS ? 0 : failures + 1;
        pauseMs = failures <= 1 ? 0 : this.#pauseAfter(failures - 1);
        if (pauseMs === 0) this.#setState({ kind: 'connecting' });
      } catch (error) {
        if (signal.aborted) return;
        this.#setState(failedState(error));
        pauseMs = this.#pauseAfter(++failures);
      }
    }
  }

  /** Connects, and returns what resolves when the connection is lost. */
  async #open(): Promise<{ readonly lost: Promise<ConnectionState> }> {
    const { connection, listener, clock } = this.#parts;
    const { signal } = this.#ending;
    const client = await connectMcpServer(this.config.entry, { clock, ...connection, signal });
    if (signal.aborted) {
      await client.close();
      throw new ToolcribError('cancelled', 'The agent was closed.');
    }
    // Closing the client reports a state, too.
    const lost = new Promise<ConnectionState>((resolve) => {
      client.on('state', (state) => {
        if (state.kind !== 'connected' && state.kind !== 'connecting') resolve(state);
      });
    });
    this.#client = client;
    client.on('warning', (text) => listener.onWarning(text));
    try {
      const refresh = async (): Promise<void> => listener.onTools(await listOf(client));
      client.on('toolsChanged', () => {
        refresh().catch((error: unknown) =>
          listener.onWarning(`its tools cannot be listed: ${String(error)}`),
        );
      });
      await refresh();
    } catch (error) {
      await client.close();
      throw error;
    }
    this.#setState(client.state.kind === 'connected' ? { kind: 'connected' } : client.state);
    const closed = lost.then(async (state) => {
      await client.close();
      return state;
    });
    return { lost: closed };
  }

  #pauseAfter(failures: number): number | undefined {
    const isQuick = failures <= QUICK_TRIES && this.#state.kind !== 'needs_sign_in';
    if (isQuick) return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
    const { retryMs } = this.config;
    if (retryMs <= 0) return undefined;
    // More and more rarely: starting a program that cannot work costs something every time.
    const factor = 2 ** Math.min(failures - QUICK_TRIES - 1, 10);
    return Math.max(retryMs, Math.min(RARELY_MS, retryMs * Math.max(1, factor)));
  }

  #pause(ms: number): Promise<void> {
    if (ms === 0) return Promise.resolve();
    const { signal } = this.#ending;
    return new Promise((resolve) => {
      const cancel = this.#parts.clock.after(ms, () => {
        signal.removeEventListener('abort', stop);
        resolve();
      });
      const stop = (): void => {
        cancel();
        resolve();
      };
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  #whenSettled(): Promise<void> {
    return new Promise((resolve) => this.#settled.push(resolve));
  }

  // The reason may be the server's own text: it is cleaned, and redacted before it is cut.
  #setState(told: ConnectionState): void {
    const { redact } = this.#parts;
    const state =
      'reason' in told ? { ...told, reason: redact(cleanText(told.reason)).slice(0, MAX_REASON) } : told;
    this.#state = state;
    this.#parts.listener.onState(state);
    if (state.kind === 'connecting') return;
    for (const resolve of this.#settled.splice(0)) resolve();
  }
}

async function listOf(client: Client): Promise<readonly Tool[]> {
  return mayHave(client.server, 'tools') ? client.list() : [];
}

function why(state: ConnectionState): string {
  return 'reason' in state ? `${state.reason} ${state.remedy}` : 'It is being connected to; try again.';
}
