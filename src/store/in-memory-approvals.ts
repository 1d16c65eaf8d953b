import {
  MAX_APPROVALS_PER_OWNER,
  type Approval,
  type ApprovalDecision,
  type ApprovalRequest,
  type Approvals,
  type Asked,
} from '../core/approval.ts';
import type { Clock } from '../core/clock.ts';
import { newApprovalId } from './approval-id.ts';

const MAX_APPROVALS = 10_000;

/** Keeps approvals in this process: those of a process that ended are asked for again. */
export class InMemoryApprovals implements Approvals {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Approval>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async ask(request: ApprovalRequest): Promise<Asked | undefined> {
    const own = this.list().filter(({ owner }) => owner === request.owner);
    const known = own.find(({ subject }) => subject === request.subject);
    if (known) return { approval: known, isNew: false };
    if (own.length >= MAX_APPROVALS_PER_OWNER || this.#kept.size >= MAX_APPROVALS) return undefined;
    const approval: Approval = { ...request, id: newApprovalId(), decision: undefined };
    this.#kept.set(approval.id, approval);
    return { approval, isNew: true };
  }

  async decide(id: string, decision: ApprovalDecision): Promise<Approval | undefined> {
    const known = this.#current(id);
    if (!known || known.decision) return undefined;
    const decided = { ...known, decision, expiresAt: decision.expiresAt };
    this.#kept.set(id, decided);
    return decided;
  }

  async use(id: string): Promise<boolean> {
    if (!this.isGiven(id)) return false;
    this.#kept.delete(id);
    return true;
  }

  /** Whether a call may be made because of it. */
  isGiven(id: string): boolean {
    return this.#current(id)?.decision?.isApproved === true;
  }

  list(): readonly Approval[] {
    const now = this.#clock.now();
    for (const [id, { expiresAt }] of this.#kept) if (expiresAt <= now) this.#kept.delete(id);
    return [...this.#kept.values()];
  }

  #current(id: string): Approval | undefined {
    const known = this.#kept.get(id);
    return known && known.expiresAt > this.#clock.now() ? known : undefined;
  }
}
