import type { Awaitable } from './source.ts';

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

/** Calls that wait for somebody to agree, or that may be made once because somebody did. */
export interface Approvals {
  /** The approval of exactly this call that is still good, decided or not; where there is none it is asked for. `undefined` when its owner waits for too many. */
  ask(request: ApprovalRequest): Promise<Asked | undefined>;
  /** Decides, once; `undefined` when there is nothing to decide. */
  decide(id: string, decision: ApprovalDecision): Promise<Approval | undefined>;
  /** Uses up what was agreed; `false` when it was not, was used before or has run out. */
  use(id: string): Promise<boolean>;
  /** Those that are still good, the oldest first. */
  list(): Awaitable<readonly Approval[]>;
}

/** How many calls of one caller may wait, so that nobody is asked beyond reason. */
export const MAX_APPROVALS_PER_OWNER = 20;
