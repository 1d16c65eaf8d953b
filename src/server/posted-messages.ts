import type { Session } from './sessions/session.ts';

/** Counts what was posted beside a stream and waits for its turn: what is posted behind it waits too, in order. */
export class PostedMessages {
  readonly #waiting = new WeakMap<Session, number>();

  /** Whether anything waits on the stream. */
  has(session: Session | undefined): boolean {
    return session !== undefined && (this.#waiting.get(session) ?? 0) > 0;
  }

  /** Counts one more, until the returned function is called. */
  add(session: Session | undefined): () => void {
    this.#change(session, 1);
    return () => this.#change(session, -1);
  }

  #change(session: Session | undefined, by: number): void {
    if (session) this.#waiting.set(session, (this.#waiting.get(session) ?? 0) + by);
  }
}
