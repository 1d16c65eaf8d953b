import { randomUUID } from 'node:crypto';
import type { ClientFacts } from '../../core/call.ts';
import { endEach } from '../../base/cancellation.ts';
import type { Clock } from '../../base/clock.ts';
import { ownerOf, type Caller } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { Memory, SessionRecord } from '../../core/memory/memory.ts';
import type { Revision } from '../../protocol/revisions/revision.ts';
import { revisionOf } from '../../protocol/revisions/revisions.ts';
import { Session } from './session.ts';
import { SessionShares } from './shares.ts';

/** How many sessions there may be, and how long they last. */
export const sessionLimits = {
  max: 10_000,
  perCaller: 1_000,
  idleMs: 15 * 60_000,
  absoluteMs: 24 * 3_600_000,
};

interface Live {
  readonly session: Session;
  readonly createdAt: number;
  usedAt: number;
}

interface Lookup {
  waiting: number;
  hasEnded: boolean;
}

/** The sessions of handshake revisions over HTTP: each belongs to the caller who opened it, and to nobody else. */
export class Sessions {
  readonly #memory: Memory;
  readonly #clock: Clock;
  readonly #live = new Map<string, Live>();
  readonly #shares = new SessionShares(sessionLimits);
  // Lookups under way, and whether their session ended meanwhile: the memory may still return a deleted session.
  readonly #lookups = new Map<string, Lookup>();
  #sweeping = false;

  /** Called with a session that was opened by another process and continues here. */
  onRestore: (session: Session) => void = () => {};

  constructor(memory: Memory, clock: Clock) {
    this.#memory = memory;
    this.#clock = clock;
  }

  /** Opens a session for a caller. */
  async open(caller: Caller, revision: Revision, client: ClientFacts): Promise<Session> {
    const id = randomUUID();
    const createdAt = this.#clock.now();
    await this.#memory.sessions.put({
      id,
      owner: ownerOf(caller),
      protocolVersion: revision.version,
      client: { ...client },
      createdAt,
    });
    const session = this.#revive(id, caller, createdAt);
    session.revision = revision;
    session.client = client;
    await this.#makeRoomFor(session);
    return session;
  }

  /** The caller's session. A foreign, an ended and an invented id get the same answer. */
  async find(id: string, caller: Caller): Promise<Session> {
    const lookup = this.#lookups.get(id) ?? { waiting: 0, hasEnded: false };
    this.#lookups.set(id, lookup);
    lookup.waiting++;
    let record: SessionRecord | undefined;
    try {
      record = await this.#memory.sessions.get(id);
    } finally {
      if (--lookup.waiting === 0 && this.#lookups.get(id) === lookup) this.#lookups.delete(id);
    }
    const now = this.#clock.now();
    const live = this.#live.get(id);
    const isOver =
      lookup.hasEnded ||
      record?.owner !== ownerOf(caller) ||
      now - record.createdAt > sessionLimits.absoluteMs;
    if (!record || isOver || (live && this.#isIdle(live))) {
      if (record?.owner === ownerOf(caller)) await this.#drop(id);
      throw new ToolcribError('unknown_session', 'There is no such session; send "initialize" to open one.');
    }
    if (!live) {
      const session = this.#restore(id, caller, record);
      await this.#makeRoomFor(session);
      return session;
    }
    live.usedAt = now;
    this.#shares.use(live.session);
    return live.session;
  }

  #endLookups(id: string): void {
    const lookup = this.#lookups.get(id);
    if (lookup) lookup.hasEnded = true;
    this.#lookups.delete(id);
  }

  /** Ends a session of the caller. */
  async end(id: string, caller: Caller): Promise<void> {
    await this.find(id, caller);
    await this.#drop(id);
  }

  /** Closes the streams of every session once their answers are sent; their clients may come back to them. */
  endStreams(): void {
    for (const { session } of this.#live.values()) session.closeStream();
  }

  /** Ends the sessions of callers whose access has ended, and their connections to others. */
  async dismiss(isGone: (caller: Caller) => boolean): Promise<void> {
    const sessions = [...this.#live.values()].map(({ session }) => session);
    const [gone, others] = [true, false].map((is) => sessions.filter(({ caller }) => isGone(caller) === is));
    try {
      endEach(
        [
          // First, so that nothing stays open if the memory is slow or fails.
          ...gone!.map((session) => () => session.end()),
          // Streams of ended sessions stay, to carry the errors of their last requests.
          ...others!.map((session) => () => session.dismiss(isGone)),
        ],
        (end) => end(),
      );
    } finally {
      await this.#dropWhere(({ session }) => isGone(session.caller));
    }
  }

  #isIdle({ usedAt, session }: Live): boolean {
    const isQuiet = !session.isBusy && !session.serverStream.attached;
    return isQuiet && this.#clock.now() - usedAt > sessionLimits.idleMs;
  }

  #restore(
    id: string,
    caller: Caller,
    record: { protocolVersion: string; client: object; createdAt: number },
  ): Session {
    const session = this.#revive(id, caller, record.createdAt);
    session.revision = revisionOf(record.protocolVersion);
    session.client = record.client as ClientFacts;
    session.ready = true;
    // So that answers to questions of an earlier process are not taken for answers to ours.
    session.askedAs = `ask-${session.serverStream.id}`;
    this.onRestore(session);
    return session;
  }

  #revive(id: string, caller: Caller, createdAt: number): Session {
    const session = new Session(id, caller, this.#memory.events);
    this.#live.set(id, { session, createdAt, usedAt: this.#clock.now() });
    this.#shares.use(session);
    this.#scheduleSweep();
    return session;
  }

  async #makeRoomFor(opened: Session): Promise<void> {
    const surplus = this.#shares.surplus(opened);
    if (surplus) await this.#drop(surplus.id);
  }

  #scheduleSweep(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    this.#clock.after(60_000, () => {
      this.#sweeping = false;
      // A memory that fails must not end the process; the next sweep tries again.
      this.#sweep().catch(() => this.#scheduleSweep());
    });
  }

  async #sweep(): Promise<void> {
    const now = this.#clock.now();
    await this.#dropWhere((live) => this.#isIdle(live) || now - live.createdAt > sessionLimits.absoluteMs);
    if (this.#live.size > 0) this.#scheduleSweep();
  }

  // If the memory fails for one session, the others are dropped all the same.
  async #dropWhere(isDue: (live: Live) => boolean): Promise<void> {
    const failures: unknown[] = [];
    for (const [id, live] of this.#live)
      if (isDue(live)) await this.#drop(id).catch((error: unknown) => void failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  async #drop(id: string): Promise<void> {
    const live = this.#live.get(id);
    // Removed first, so that making room meanwhile does not choose the same session again.
    if (live) this.#shares.remove(live.session);
    this.#endLookups(id);
    await this.#memory.sessions.delete(id);
    // Again, for lookups that began meanwhile and may have found the session.
    this.#endLookups(id);
    if (live) this.#shares.remove(live.session);
    this.#live.delete(id);
    live?.session.end();
  }
}
