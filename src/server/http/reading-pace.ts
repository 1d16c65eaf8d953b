import { setImmediate } from 'node:timers';

/** How much a client may leave unread before its stream is cut: it must not make us remember without end. */
const MAX_UNREAD_BYTES = 262_144;
/** How much may be handed on before the client had a chance to read: what it missed comes all at once. */
const MAX_BURST_BYTES = 4_194_304;

/** Tells a client that does not read from one that has not had the time to. */
export class ReadingPace {
  readonly #unreadBytes: () => number;
  #isBehind = false;

  constructor(unreadBytes: () => number) {
    this.#unreadBytes = unreadBytes;
  }

  /**
   * Whether the client may be sent another message; its size does not matter, because one large result is not the
   * client's fault.
   */
  get keepsUp(): boolean {
    const unread = this.#unreadBytes();
    if (unread <= MAX_UNREAD_BYTES) {
      this.#isBehind = false;
      return true;
    }
    if (this.#isBehind) return false;
    setImmediate(() => {
      this.#isBehind = this.#unreadBytes() > MAX_UNREAD_BYTES;
    });
    return unread <= MAX_BURST_BYTES;
  }
}
