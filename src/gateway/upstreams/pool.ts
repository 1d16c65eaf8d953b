import type { Client } from '../../client/client.ts';
import { whenOver, type Awaitable } from '../../base/awaitable.ts';
import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { Overdue, within } from '../../base/within.ts';

/** How many connections there may be. */
export interface PoolLimits {
  readonly maxConnections: number;
  readonly maxPerTenant: number;
}

/** A connection, and how to close everything that was made for it. */
export interface OpenedConnection {
  readonly client: Client;
  close(): Promise<void>;
}

/** How a connection is made, and for whom. */
export interface ConnectionPlan {
  /** The upstream, for messages. */
  readonly upstream: string;
  /** The only tenant that it serves; `undefined` where callers of several share it. */
  readonly tenant: string | undefined;
  /** The only caller that it serves; `undefined` where several share it. */
  readonly owner?: string | undefined;
  readonly idleMs: number;
  readonly lifetimeMs: number;
  open(): Promise<OpenedConnection>;
  /** Told when the connection is open, and when it has ended; with the reason, if it failed. */
  onOpened(client: Client): void;
  onEnded(error: unknown): void;
}

const SWEEP_MS = 1_000;
// Connecting to many upstreams at once would starve the calls.
const MAX_OPENING = 16;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;

/** Every connection to every upstream, within limits; one timer closes those that are idle or too old. */
export class Pool {
  readonly #clock: Clock;
  readonly #connections = new Set<PooledConnection>();
  readonly #waiting: (() => void)[] = [];
  readonly #closing = new Set<Promise<void>>();
  #opening = 0;
  #disarm: (() => void) | undefined;
  #onSweep: () => void = () => {};
  limits: PoolLimits;

  constructor(clock: Clock, limits: PoolLimits) {
    this.#clock = clock;
    this.limits = limits;
  }

  /** How many connections are open or being opened. */
  get size(): number {
    return this.#connections.size;
  }

  /** Sets what else is done each time the timer looks at the connections. */
  set onSweep(work: () => void) {
    this.#onSweep = work;
  }

  /** A connection that is opened when it is first used. */
  connection(plan: ConnectionPlan): PooledConnection {
    return new PooledConnection(plan, this, this.#clock);
  }

  /** Makes room for one more connection, or refuses it. */
  admit(connection: PooledConnection): void {
    const ofTenant = this.#ofTenant(connection);
    if (ofTenant.length >= this.limits.maxPerTenant) this.#evict(ofTenant, connection);
    if (this.#connections.size >= this.limits.maxConnections) this.#evict([...this.#connections], connection);
    this.#connections.add(connection);
    this.#arm();
  }

  /** Whether there is room for another one beside a connection. */
  hasRoomBeside(connection: PooledConnection): boolean {
    const { maxConnections, maxPerTenant } = this.limits;
    return this.#connections.size < maxConnections && this.#ofTenant(connection).length < maxPerTenant;
  }

  // None if callers of several tenants share the connection.
  #ofTenant({ plan: { tenant } }: PooledConnection): readonly PooledConnection[] {
    return tenant === undefined ? [] : [...this.#connections].filter((one) => one.plan.tenant === tenant);
  }

  /** Forgets a connection that ended. */
  drop(connection: PooledConnection, closing: Promise<void>): void {
    this.#connections.delete(connection);
    const done = closing.catch(() => {}).finally(() => this.#closing.delete(done));
    this.#closing.add(done);
  }

  /** Runs the work of opening a connection when it is its turn. */
  async opening<T>(work: () => Promise<T>): Promise<T> {
    if (this.#opening >= MAX_OPENING) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#opening++;
    try {
      return await work();
    } finally {
      this.#opening--;
      this.#waiting.shift()?.();
    }
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    this.#disarm?.();
    this.#disarm = undefined;
    for (const connection of this.#connections) connection.retire();
    await Promise.all(this.#closing);
  }

  // The caller with most idle connections loses the one that has been idle the longest.
  #evict(among: readonly PooledConnection[], wanted: PooledConnection): void {
    const idle = among.filter((connection) => connection.isIdle);
    const counts = new Map<string, number>();
    const countOf = ({ plan: { owner } }: PooledConnection): number =>
      owner === undefined ? 1 : (counts.get(owner) ?? 0);
    for (const { plan } of idle)
      if (plan.owner !== undefined) counts.set(plan.owner, (counts.get(plan.owner) ?? 0) + 1);
    const [oldest] = idle.toSorted((a, b) => countOf(b) - countOf(a) || a.usedAt - b.usedAt);
    if (oldest) return oldest.retire();
    const text = `${wanted.plan.upstream} has no free connection; try again in a moment.`;
    throw new ToolcribError('busy', text, { data: { retryAfterMs: 1_000 } });
  }

  #arm(): void {
    this.#disarm ??= this.#clock.after(SWEEP_MS, () => {
      this.#disarm = undefined;
      const now = this.#clock.ticks();
      for (const connection of this.#connections) connection.sweep(now);
      this.#onSweep();
      if (this.#connections.size > 0) this.#arm();
    });
  }
}

/** One connection to one upstream: opened when it is needed, also again after it ended, with pauses after failures. */
export class PooledConnection {
  readonly plan: ConnectionPlan;
  readonly #pool: Pool;
  readonly #clock: Clock;
  #opened: OpenedConnection | undefined;
  #opening: Promise<Client> | undefined;
  #openedAt = 0;
  #dueAt = Infinity;
  #users = 0;
  #uses = 0;
  #failures = 0;
  #retryAt = -Infinity;
  #isRetired = false;
  #isOutlived = false;
  #isAsking = false;
  usedAt = 0;

  constructor(plan: ConnectionPlan, pool: Pool, clock: Clock) {
    this.plan = plan;
    this.#pool = pool;
    this.#clock = clock;
  }

  /** The client, while it is connected. */
  get client(): Client | undefined {
    return this.#opened?.client;
  }

  /** Whether it is being connected. */
  get isOpening(): boolean {
    return this.#opening !== undefined;
  }

  /** Whether another one is to be used in its place. */
  get isRetired(): boolean {
    return this.#isRetired || this.#isOutlived;
  }

  /** Whether it can be forgotten: it is closed, and has no pause to keep. */
  get isOver(): boolean {
    return this.#users === 0 && this.#opened === undefined && (this.#isRetired || !this.#mayFailAgain);
  }

  /** Whether it is open and nobody uses it. */
  get isIdle(): boolean {
    return this.#users === 0 && this.#opened !== undefined;
  }

  // The next pause is longer, so a recent failure must be remembered.
  get #mayFailAgain(): boolean {
    return this.#failures > 0 && this.#clock.ticks() < this.#retryAt + LONGEST_PAUSE_MS;
  }

  /** How long it is not opened again, after it failed. */
  get pauseMs(): number {
    return Math.max(0, this.#retryAt - this.#clock.ticks());
  }

  /** Does some work with the connection, which stays open meanwhile. Waits at most `withinMs` for it to be opened. */
  use<T>(work: (client: Client) => Awaitable<T>, withinMs = Infinity): Awaitable<T> {
    this.#users++;
    this.#uses++;
    const client = this.#opened?.client;
    // Without a promise of its own if it is open: every call comes through here.
    if (!client) return this.#useWhenOpen(work, withinMs);
    let result: Awaitable<T>;
    try {
      result = work(client);
    } catch (error) {
      this.#leave();
      throw error;
    }
    if (!(result instanceof Promise)) {
      this.#leave();
      return result;
    }
    return whenOver(result, () => this.#leave());
  }

  /** Like `use`, but it still counts as idle. */
  async upkeep(work: (client: Client) => Awaitable<void>): Promise<void> {
    const { usedAt } = this;
    const uses = this.#uses + 1;
    try {
      await this.use(work);
    } finally {
      if (this.#uses === uses) this.usedAt = usedAt;
    }
  }

  /** Notes that the upstream answered, so that the next failure is the first one. */
  noteAnswer(): void {
    this.#failures = 0;
  }

  /** Pings a program that let a call time out, and ends it if it does not answer. */
  async askAlive(waitMs: number): Promise<void> {
    const opened = this.#opened;
    if (!opened || this.#isAsking) return;
    this.#isAsking = true;
    const { client } = opened;
    const question = client.server.era === 'modern' ? 'server/discover' : 'ping';
    try {
      await client.request(question, {}, { timeoutMs: waitMs });
    } catch (error) {
      const isSilent = error instanceof ToolcribError && error.code === 'timed_out';
      if (isSilent && this.#opened === opened) this.#fail(error);
    } finally {
      this.#isAsking = false;
    }
  }

  /** Closes it if it was idle for too long, or is too old. */
  sweep(now: number): void {
    if (!this.#opened) return;
    const isDue = now >= this.#dueAt;
    // Too old and in use: further calls get a new connection, and this one is closed after its last call.
    if (this.#users > 0) this.#isOutlived ||= isDue && this.#pool.hasRoomBeside(this);
    else if (isDue || now - this.usedAt >= this.plan.idleMs) this.#end(undefined);
  }

  /** Closes it after its last use, for good. */
  retire(): void {
    this.#isRetired = true;
    if (this.#users === 0) this.#end(undefined);
  }

  async #useWhenOpen<T>(work: (client: Client) => Awaitable<T>, withinMs: number): Promise<T> {
    try {
      return await work(await this.#openWithin(withinMs));
    } finally {
      this.#leave();
    }
  }

  // If opening takes longer, it goes on for later calls.
  async #openWithin(ms: number): Promise<Client> {
    try {
      return await within(ms, undefined, this.#openOnce());
    } catch (error) {
      if (!(error instanceof Overdue)) throw error;
      throw new ToolcribError('timed_out', 'It could not be connected to in time.', { cause: error });
    }
  }

  #leave(): void {
    this.#users--;
    this.usedAt = this.#clock.ticks();
    if (this.#users === 0 && (this.#isRetired || this.usedAt >= this.#dueAt)) this.#end(undefined);
  }

  #openOnce(): Promise<Client> {
    if (!this.#opening) {
      // Counts as one use until it is open, so that it is closed afterwards even if its caller has given up.
      this.#users++;
      this.#opening = this.#open().finally(() => {
        this.#opening = undefined;
        this.#leave();
      });
    }
    return this.#opening;
  }

  async #open(): Promise<Client> {
    const { plan } = this;
    const waitMs = this.pauseMs;
    if (waitMs > 0) throw notAnswering(plan.upstream, waitMs);
    this.#pool.admit(this);
    try {
      const opened = await this.#pool.opening(() => plan.open());
      const { client } = opened;
      this.#opened = opened;
      this.#openedAt = this.usedAt = this.#clock.ticks();
      // Spread over time, so that connections opened together are not replaced together.
      this.#dueAt = this.#openedAt + plan.lifetimeMs * (0.9 + 0.2 * Math.random());
      client.on('state', ({ kind }) => {
        if (kind === 'failed' && this.#opened === opened) this.#fail(client.state);
      });
      plan.onOpened(client);
      return client;
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  #fail(reason: unknown): void {
    this.#failures++;
    // No pause after the first failure; then each is about twice as long, varied so that not all come back together.
    const pauseMs =
      this.#failures === 1 ? 0 : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.#failures - 2));
    this.#retryAt = this.#clock.ticks() + pauseMs * (0.5 + Math.random() / 2);
    this.#end(reason);
  }

  #end(reason: unknown): void {
    const opened = this.#opened;
    this.#opened = undefined;
    this.#isOutlived = false;
    this.#pool.drop(this, opened?.close() ?? Promise.resolve());
    this.plan.onEnded(reason);
  }
}

// The error during a pause.
function notAnswering(upstream: string, waitMs: number): ToolcribError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new ToolcribError(
    'upstream_unavailable',
    `${upstream} is not answering; try again in ${seconds} s.`,
    {
      data: { retryAfterMs: Math.ceil(waitMs) },
    },
  );
}
