import type { Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';

// Enough for health checks; the one that has waited longest makes room for the next.
const SPARE = 32;
const SWEEP_MS = 1_000;

/** The connections of a server, up to a limit; on a few more only public routes are answered. */
export class Connections {
  readonly #max: number;
  readonly #all = new Set<Socket>();
  readonly #spare = new Set<Socket>();
  #sweptAt = -Infinity;

  constructor(http: HttpServer, max: number) {
    this.#max = max;
    http.on('connection', (socket) => this.#take(socket));
  }

  /** Every connection there is. */
  get all(): ReadonlySet<Socket> {
    return this.#all;
  }

  /** Whether a connection is one too many. */
  isSpare(socket: Socket): boolean {
    if (this.#spare.size === 0 || !this.#spare.has(socket)) return false;
    // Others may have left since it came.
    return this.#isFull || !this.#spare.delete(socket);
  }

  get #isFull(): boolean {
    return this.#all.size - this.#spare.size >= this.#max;
  }

  #take(socket: Socket): void {
    const isFull = this.#isFull;
    this.#all.add(socket);
    socket.once('close', () => {
      this.#all.delete(socket);
      this.#spare.delete(socket);
    });
    if (!isFull) return;
    this.#spare.add(socket);
    this.#closeIdle();
    const [oldest] = this.#spare;
    if (this.#spare.size > SPARE) oldest?.destroy();
  }

  // Connections that clients keep for later are the first to go; looking for them takes time, so not every time.
  #closeIdle(): void {
    const now = performance.now();
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const socket of this.#all) if (isKept(socket)) socket.destroy();
  }
}

// Asked of the connection itself: some versions of Node would also close those whose first request is yet to come.
function isKept(socket: Socket & { readonly _httpMessage?: unknown }): boolean {
  return socket.bytesRead > 0 && (socket._httpMessage ?? undefined) === undefined;
}
