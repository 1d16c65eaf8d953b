import type { Client } from '../../client/client.ts';
import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { PooledConnection } from './pool.ts';

/** What following resources of an upstream needs. */
export interface FollowedParts {
  readonly connection: () => PooledConnection;
  readonly clock: Clock;
  onWarning(text: string): void;
}

// How long to wait before a server that went away is tried again for its followers.
const SHORTEST_PAUSE_MS = 1_000;

/**
 * The resources of an upstream that callers of one account follow: asked for once, however many follow, and no longer
 * once nobody does. Meanwhile the connection stays open, and is opened again where it fails.
 */
export class Followed {
  readonly #parts: FollowedParts;
  readonly #followers = new Map<string, number>();
  #client: Client | undefined;
  #connection: PooledConnection | undefined;
  #isKept = false;
  #wake: () => void = () => {};

  constructor(parts: FollowedParts) {
    this.#parts = parts;
  }

  /** Follows a resource until the returned function is called. */
  follow(uri: string): () => void {
    const before = this.#followers.get(uri) ?? 0;
    this.#followers.set(uri, before + 1);
    if (before === 0) this.#ask('subscribe', uri);
    if (!this.#isKept) void this.#keep();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#leave(uri);
    };
  }

  /** Goes on over a newer connection where the one it has is to end. */
  sweep(): void {
    if (this.#connection?.isRetired) this.#wake();
  }

  /** Follows nothing any more. */
  close(): void {
    this.#followers.clear();
    this.#wake();
  }

  #leave(uri: string): void {
    const left = (this.#followers.get(uri) ?? 1) - 1;
    if (left > 0) {
      this.#followers.set(uri, left);
      return;
    }
    if (!this.#followers.delete(uri)) return;
    this.#ask('unsubscribe', uri);
    if (this.#followers.size === 0) this.#wake();
  }

  async #keep(): Promise<void> {
    this.#isKept = true;
    try {
      while (this.#followers.size > 0) {
        try {
          const connection = (this.#connection = this.#parts.connection());
          await connection.use((client) => this.#stay(client, connection));
        } catch (error) {
          // Not awaited, so an unexpected failure becomes a warning; like any other, it is tried again.
          if (!(error instanceof ToolcribError))
            this.#parts.onWarning(`Its resources cannot be followed for now: ${String(error)}`);
          await this.#pause();
        }
      }
    } finally {
      this.#isKept = false;
    }
  }

  // Ends when nobody follows anything, or with the connection.
  async #stay(client: Client, connection: PooledConnection): Promise<void> {
    this.#client = client;
    const stop = client.on('state', ({ kind }) => {
      if (kind !== 'failed' && kind !== 'disabled') return;
      this.#client = undefined;
      this.#wake();
    });
    try {
      for (const uri of this.#followers.keys()) this.#ask('subscribe', uri);
      while (this.#followers.size > 0 && this.#client === client && !connection.isRetired)
        await this.#nextWake();
      if (this.#client !== client)
        throw new ToolcribError('upstream_unavailable', 'The connection was lost.');
    } finally {
      stop();
      this.#client = undefined;
    }
  }

  #ask(what: 'subscribe' | 'unsubscribe', uri: string): void {
    this.#client?.[what](uri).catch((error: unknown) => {
      if (what === 'subscribe' && this.#followers.has(uri))
        this.#parts.onWarning(`A resource cannot be followed: ${(error as Error).message}`);
    });
  }

  #nextWake(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  #pause(): Promise<void> {
    const { clock, connection } = this.#parts;
    return new Promise((resolve) => {
      let waitMs = SHORTEST_PAUSE_MS;
      try {
        waitMs = Math.max(waitMs, connection().pauseMs);
      } catch {
        // It is no longer served.
        this.#followers.clear();
      }
      const disarm = clock.after(waitMs, resolve);
      this.#wake = () => {
        if (this.#followers.size > 0) return;
        disarm();
        resolve();
      };
    });
  }
}
