import type { Random } from '../faults/scenario.ts';

/** One message or request of a case. */
export interface Step {
  readonly body: Buffer;
  /** Beside the usual ones; `{session 2025-06-18}` stands for a session of that revision, `{event}` for its event. */
  readonly headers: Readonly<Record<string, string>>;
  /** Method and path; `POST /mcp` unless set, and `''` when the bytes are all there is. */
  readonly line?: string;
  /** The connection it goes over, when a case has several. */
  readonly on?: number;
  /** Whether the next step goes out before this one is answered. */
  readonly isAhead?: boolean;
  /** Whether the beginning of an event stream is the whole answer. */
  readonly isStream?: boolean;
  /** Whether the request may never be complete, so that nothing can follow it. */
  readonly isPartial?: boolean;
}

/** What is sent, and how it ends: with the last answer, with the end of what the client sends, or with a hang-up. */
export interface FuzzCase {
  readonly steps: readonly Step[];
  readonly ending: 'answered' | 'half-close' | 'hang-up';
}

/** What came back for one step. */
export interface Reply {
  readonly status: number;
  readonly text: string;
  /** The head, where there is one. */
  readonly head?: string;
}

/** What is wrong; two problems of the same kind are the same defect as far as shrinking goes. */
export interface Problem {
  readonly kind: string;
  readonly text: string;
}

/** A way into a server that is fuzzed. */
export interface Way {
  readonly name: string;
  /** How many cases are under way together. */
  readonly atOnce: number;
  make(random: Random): FuzzCase;
  /** Delivers a case and judges what came back; settles within the bound of a case. */
  attempt(fuzzed: FuzzCase): Promise<Problem[]>;
  /** What went wrong since the last look beside the answers: the process is going down, a rejection was not handled. */
  accidents(): Problem[];
  /** Puts a fresh server, and fresh sessions, in the place of those there are. */
  renew(): Promise<void>;
  close(): Promise<void>;
}

/** How long a case may take to be answered or ended. */
export const CASE_MS = 3_000;

/** A case of a single message. */
export function single(body: Buffer, headers: Step['headers'] = {}): FuzzCase {
  return { steps: [{ body, headers }], ending: 'answered' };
}
