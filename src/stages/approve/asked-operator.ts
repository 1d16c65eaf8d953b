import type { Approval, ApprovalDecision, ApprovalRequest, Approvals } from '../../core/memory/approval.ts';
import type { ToolCall } from '../../core/call.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { ownerOf } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import { governedName, isDeclaredReadOnly, type Tool } from '../../core/tool.ts';
import type { Approver, Consent } from './consent.ts';
import { exactArguments, fingerprintOf } from '../fingerprint.ts';

/** The parts that are needed to ask an operator. */
export interface OperatorParts {
  readonly approvals: Approvals;
  readonly clock?: Clock | undefined;
  /** Called when a call starts to wait. */
  readonly onAsked?: ((approval: Approval) => void) | undefined;
}

// Nobody can approve arguments that are too long to read.
const MAX_ARGUMENTS = 20_000;

/** Lets a call run once an operator, outside any tool, has approved exactly this call; an approval is for one call. */
export class AskedOperator implements Approver {
  readonly #approvals: Approvals;
  readonly #clock: Clock;
  readonly #onAsked: OperatorParts['onAsked'];
  readonly #waitMs: number;

  constructor({ approvals, clock = systemClock, onAsked }: OperatorParts, waitMs: number) {
    this.#approvals = approvals;
    this.#clock = clock;
    this.#onAsked = onAsked;
    this.#waitMs = waitMs;
  }

  async ask(call: ToolCall): Promise<Consent> {
    const { tool, record } = call;
    const isReading = isDeclaredReadOnly(tool);
    const request = this.#requestOf(call);
    // A call that resumes after a question was approved before; a read-only call can simply be asked for again.
    if (record.isResumed && !isReading) {
      const by = await this.#approvals.resume(request.owner, request.subject);
      if (by === undefined) throw notGoingOn(tool);
      return { by };
    }
    const approval = await this.#asked(tool, request);
    const { id: by, decision } = approval;
    if (!decision) return { by, refusal: waiting(tool, approval) };
    if (!decision.isApproved) return { by, refusal: denied(tool, by, decision) };
    if (!isReading) return { by, uses: by };
    // A read-only call has no intent that would use it up.
    return (await this.#approvals.use(by)) ? { by } : { by, refusal: goneMeanwhile() };
  }

  async #asked(tool: Tool, request: ApprovalRequest): Promise<Approval> {
    const asked = await this.#approvals.ask(request);
    if (!asked) throw tooMany(tool);
    if (asked.isNew) this.#onAsked?.(asked.approval);
    return asked.approval;
  }

  #requestOf(call: ToolCall): ApprovalRequest {
    const { tool, caller } = call;
    const fingerprint = fingerprintOf(call);
    const text = fingerprint === undefined ? '' : exactArguments(call);
    if (fingerprint === undefined || text.length > MAX_ARGUMENTS)
      throw new ToolcribError(
        'invalid_arguments',
        `${tool.name} needs to be approved, and these arguments cannot be shown to a person: send at most ${MAX_ARGUMENTS} characters of plain JSON.`,
      );
    const createdAt = this.#clock.now();
    return {
      owner: ownerOf(caller),
      subject: fingerprint,
      tenant: caller.tenant.id,
      caller: caller.id,
      tool: governedName(tool),
      arguments: text,
      createdAt,
      expiresAt: createdAt + this.#waitMs,
    };
  }
}

function waiting({ name }: Tool, { id, expiresAt }: Approval): ToolcribError {
  return new ToolcribError(
    'approval_required',
    `Nothing was done: a person has to approve this call of ${name}. It waits as ${id} until ${timeOf(expiresAt)}. Say so to the person you work for; once it is approved, call ${name} again with the same arguments.`,
    { data: { approval: id } },
  );
}

function denied({ name }: Tool, id: string, { expiresAt }: ApprovalDecision): ToolcribError {
  return new ToolcribError(
    'refused',
    `Nothing was done: ${id}, this call of ${name}, was denied. Do not repeat it before ${timeOf(expiresAt)}, and ask the person you work for how to go on.`,
  );
}

/** The refusal of a call whose approval was used by another call, or has expired. */
export function goneMeanwhile(): ToolcribError {
  const text =
    'What was approved was used for another call meanwhile, or has run out; call again to have it asked for anew.';
  return new ToolcribError('approval_required', text);
}

function notGoingOn({ name }: Tool): ToolcribError {
  return new ToolcribError(
    'approval_required',
    `Nothing was done: what was approved has run out or was taken back before this call of ${name} could go on. Call it from the beginning, without requestState.`,
  );
}

function tooMany({ name }: Tool): ToolcribError {
  return new ToolcribError(
    'busy',
    `Too many of your calls wait to be approved, so ${name} cannot be asked for; have those decided first.`,
  );
}

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16)}Z`;
}
