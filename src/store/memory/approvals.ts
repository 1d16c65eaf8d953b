import {
  MAX_APPROVALS_PER_OWNER,
  MAX_APPROVED_ROUNDS,
  type Approval,
  type ApprovalDecision,
  type ApprovalRequest,
  type Approvals,
  type FiledRequest,
  type OperatorRow,
} from '../../core/memory/approval.ts';
import type { Clock } from '../../base/clock.ts';
import { shareLimits } from '../../core/memory/limits.ts';
import { Shares } from '../../core/memory/shares.ts';
import { newApprovalId } from '../store.ts';

const MAX_APPROVALS = 10_000;
const MAX_BYTES = 64 * 1_048_576;

interface Kept {
  readonly approval: Approval;
  isUsed: boolean;
  rounds: number;
}

/** Keeps approvals in this process; after a restart they must be asked for again. */
export class InMemoryApprovals implements Approvals {
  readonly #clock: Clock;
  readonly #write: (row: OperatorRow) => void;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock, write: (row: OperatorRow) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  async ask(request: ApprovalRequest): Promise<FiledRequest | undefined> {
    const all = this.list();
    const own = all.filter(({ owner }) => owner === request.owner);
    const known = own.find(({ subject }) => subject === request.subject);
    if (known) return { approval: known, isNew: false };
    const waiting = own.filter(({ decision }) => !decision).length;
    if (waiting >= MAX_APPROVALS_PER_OWNER || this.#kept.size >= MAX_APPROVALS) return undefined;
    if (!hasRoom(request, all)) return undefined;
    const approval: Approval = { ...request, id: newApprovalId(), decision: undefined };
    this.#kept.set(approval.id, { approval, isUsed: false, rounds: 0 });
    return { approval, isNew: true };
  }

  find(id: string): Approval | undefined {
    const kept = this.#current(id);
    return kept && !kept.isUsed ? kept.approval : undefined;
  }

  async decide(id: string, decision: ApprovalDecision, row: OperatorRow): Promise<Approval | undefined> {
    const known = this.find(id);
    if (!known || known.decision) return undefined;
    const approval = { ...known, decision, expiresAt: decision.expiresAt };
    this.#write(row);
    this.#kept.set(id, { approval, isUsed: false, rounds: 0 });
    return approval;
  }

  async use(id: string): Promise<boolean> {
    const isGiven = this.isGiven(id);
    if (isGiven) this.#kept.get(id)!.isUsed = true;
    return isGiven;
  }

  async resume(owner: string, subject: string): Promise<string | undefined> {
    this.#sweep();
    const same = [...this.#kept.values()].filter(
      ({ approval }) => approval.owner === owner && approval.subject === subject,
    );
    if (same.some(({ approval }) => approval.decision?.isApproved === false)) return undefined;
    const used = same.findLast(({ isUsed, rounds }) => isUsed && rounds < MAX_APPROVED_ROUNDS);
    if (used) used.rounds++;
    return used?.approval.id;
  }

  /** Whether the approval was given. */
  isGiven(id: string): boolean {
    return this.find(id)?.decision?.isApproved === true;
  }

  list(): readonly Approval[] {
    this.#sweep();
    return [...this.#kept.values()].flatMap(({ approval, isUsed }) => (isUsed ? [] : approval));
  }

  #sweep(): void {
    const now = this.#clock.now();
    for (const [id, { approval }] of this.#kept) if (approval.expiresAt <= now) this.#kept.delete(id);
  }

  #current(id: string): Kept | undefined {
    const kept = this.#kept.get(id);
    return kept && kept.approval.expiresAt > this.#clock.now() ? kept : undefined;
  }
}

// Counted each time: approvals are rare.
function hasRoom(request: ApprovalRequest, all: readonly Approval[]): boolean {
  const shares = new Shares({ ...shareLimits.approvals, total: { rows: MAX_APPROVALS, bytes: MAX_BYTES } });
  for (const { owner, arguments: args } of [...all, request])
    shares.add(owner, { rows: 1, bytes: Buffer.byteLength(args) });
  return shares.over(request.owner) === undefined;
}
