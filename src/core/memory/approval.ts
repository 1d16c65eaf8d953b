import type { Awaitable } from '../../base/awaitable.ts';

/** A call that somebody has to agree to. */
export interface ApprovalRequest {
  /** Tenant and caller, so that nobody uses what was agreed for another. */
  readonly owner: string;
  /** What is asked for: tool, definition and arguments. */
  readonly subject: string;
  readonly tenant: string;
  readonly caller: string;
  readonly tool: string;
  /** The arguments, all of them and to the letter, as JSON. */
  readonly arguments: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** What somebody decided. */
export interface ApprovalDecision {
  readonly isApproved: boolean;
  readonly by: string;
  readonly at: number;
  /** Until when the call may be made, or is refused without asking again. */
  readonly expiresAt: number;
}

/** A request and what became of it. */
export interface Approval extends ApprovalRequest {
  readonly id: string;
  readonly decision: ApprovalDecision | undefined;
}

/** A request that was made, or was there already. */
export interface Asked {
  readonly approval: Approval;
  readonly isNew: boolean;
}

/** What is said about a decision in the chain of operators. */
export interface OperatorRow {
  readonly chain: string;
  readonly body: string;
}

/** Calls that wait for somebody to agree, or that may be made once because somebody did. */
export interface Approvals {
  /**
   * The approval of exactly this call that is still good, decided or not; where there is none it is asked for.
   * `undefined` when its owner waits for too many.
   */
  ask(request: ApprovalRequest): Promise<Asked | undefined>;
  /** One that is still good. */
  find(id: string): Awaitable<Approval | undefined>;
  /**
   * Decides, once, and puts a row on record with it; `undefined` when there is nothing to decide, and then nothing is
   * written.
   */
  decide(id: string, decision: ApprovalDecision, row: OperatorRow): Promise<Approval | undefined>;
  /** Uses up what was agreed; `false` when it was not, was used before or has run out. */
  use(id: string): Promise<boolean>;
  /**
   * The approval that was used for this very call and has not run out: the call goes on after a question. Each has a
   * few such rounds.
   */
  resume(owner: string, subject: string): Promise<string | undefined>;
  /** Those that are still good, the oldest first. */
  list(): Awaitable<readonly Approval[]>;
}

/**
 * How often a call may go on after a question with what was approved once: each time its function runs from the
 * beginning.
 */
export const MAX_ROUNDS = 10;

/** How many calls of one caller may wait, so that nobody is asked beyond reason. */
export const MAX_APPROVALS_PER_OWNER = 20;
