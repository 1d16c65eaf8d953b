import type { Awaitable } from '../../base/awaitable.ts';

/** A call that needs an approval. */
export interface ApprovalRequest {
  /** Tenant and caller, so that no caller uses the approval of another. */
  readonly owner: string;
  /** The fingerprint of what is asked for: tool, definition and arguments. */
  readonly subject: string;
  readonly tenant: string;
  readonly caller: string;
  readonly tool: string;
  /** The arguments, all of them and to the letter, as JSON. */
  readonly arguments: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** The decision of an operator. */
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
export interface FiledRequest {
  readonly approval: Approval;
  readonly isNew: boolean;
}

/** What is said about a decision in the chain of operators. */
export interface OperatorRow {
  readonly chain: string;
  readonly body: string;
}

/** Calls that wait for an approval, or that may run once because of one. */
export interface Approvals {
  /**
   * The valid approval request of exactly this call, decided or not; it is created if there is none.
   * `undefined` if its owner has too many open requests.
   */
  ask(request: ApprovalRequest): Promise<FiledRequest | undefined>;
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
   * The used approval of exactly this call that has not expired: the call continues after a question, a few times.
   */
  resume(owner: string, subject: string): Promise<string | undefined>;
  /** Those that are still good, the oldest first. */
  list(): Awaitable<readonly Approval[]>;
}

/**
 * How often a call may continue after a question with one approval: each time its function runs from the beginning.
 */
export const MAX_APPROVED_ROUNDS = 10;

/** How many calls of one caller may wait, so that operators are not asked too often. */
export const MAX_APPROVALS_PER_OWNER = 20;
