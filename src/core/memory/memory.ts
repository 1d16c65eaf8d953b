import type { LongIntegers } from '../../base/exact-json.ts';
import type { Awaitable } from '../../base/awaitable.ts';

/** What a server remembers between requests; in memory unless told otherwise, so that one process can stand alone. */
export interface Memory {
  readonly keys: SealingKeys;
  readonly spent: SpentStates;
  readonly tasks: TaskRecords;
  readonly events: EventLog;
  readonly sessions: SessionRecords;
}

/** A key that seals state handed to clients. */
export interface SealingKey {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** The keys in use: the current one seals, older ones still open what they sealed. */
export interface SealingKeys {
  current(): Awaitable<SealingKey>;
  find(id: string): Awaitable<SealingKey | undefined>;
}

/** Which single-use states have been used. */
export interface SpentStates {
  /** Uses a state of an owner up; `false` when it was used before. May forget it after `expiresAt`. */
  spend(id: string, expiresAt: number, owner: string): Awaitable<boolean>;
}

/** A task as it is kept: who may see it, and the protocol's own account of it. */
export interface TaskRecord {
  readonly id: string;
  /** Tenant and caller; no other caller learns that the task exists. */
  readonly owner: string;
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly ttlMs: number;
  readonly inputRequests?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: Readonly<Record<string, unknown>>;
  /** Integers of these that a number cannot hold, by their place. */
  readonly longIntegers?: LongIntegers;
}

/** The tasks under way and those still to be fetched. */
export interface TaskRecords {
  /** Keeps a task; one whose outcome is too large is kept as failed, with the digest of the outcome. */
  put(record: TaskRecord): Awaitable<void>;
  get(id: string): Awaitable<TaskRecord | undefined>;
}

/** One message of a resumable stream. */
export interface StreamEvent {
  readonly id: string;
  readonly text: string;
}

/** What was sent on resumable streams, for clients that come back. */
export interface EventLog {
  /**
   * Keeps an event for its owner, after those of the stream it was handed before, also while these are still on their
   * way. Fails where it is too large or too much.
   */
  keep(stream: string, event: StreamEvent, owner: string): Awaitable<void>;
  /** Everything kept of a stream after an event; `undefined` when that event is not known. */
  after(stream: string, eventId: string, owner: string): Awaitable<readonly StreamEvent[] | undefined>;
  forget(stream: string, owner: string): Awaitable<void>;
}

/** A session as it is kept: whose it is and what was agreed in the handshake. */
export interface SessionRecord {
  readonly id: string;
  readonly owner: string;
  readonly protocolVersion: string;
  readonly client: Readonly<Record<string, unknown>>;
  readonly createdAt: number;
}

/** The sessions of handshake revisions. */
export interface SessionRecords {
  put(record: SessionRecord): Awaitable<void>;
  get(id: string): Awaitable<SessionRecord | undefined>;
  delete(id: string): Awaitable<void>;
}

/** A key under which a call with effects may run once. */
export interface Reservation {
  /** Tenant and caller: keys of others do not collide. */
  readonly owner: string;
  readonly key: string;
  /** The fingerprint of the call: tool, definition and arguments. A second call under the key must have the same. */
  readonly subject: string;
  /** When the key may be forgotten. */
  readonly expiresAt: number;
}
