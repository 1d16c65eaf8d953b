import type { Approval, ApprovalRequest, Approvals } from '../../core/memory/approval.ts';
import { givenOf, type ToolCall } from '../../core/call.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { ownerOf } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import { withLongIntegers, writeExact } from '../../base/exact-json.ts';
import type { Next } from '../../core/stage.ts';
import { governedName, isDeclaredReadOnly, type Tool } from '../../core/tool.ts';
import { isAgreedTo, subjectOf } from './subject.ts';

/** What asking a person needs. */
export interface ApproveParts {
  readonly approvals: Approvals;
  readonly clock?: Clock;
  /** Called when a call starts to wait. */
  readonly onAsked?: (approval: Approval) => void;
}

// Nobody can approve what is too long to read.
const MAX_ARGUMENTS = 20_000;

/** Lets a call run once a person, outside any tool, has approved exactly this call; each approval is for one call. */
export class OperatorQuestion {
  readonly #parts: Required<ApproveParts>;
  readonly #waitMs: number;

  constructor({ approvals, clock = systemClock, onAsked = () => {} }: ApproveParts, waitMs: number) {
    this.#parts = { approvals, clock, onAsked };
    this.#waitMs = waitMs;
  }

  before(tool: Tool, next: Next): Next {
    const isReading = isDeclaredReadOnly(tool);
    return async (call) => {
      const { record } = call;
      // A call that an outer stage has confirmed is not asked again.
      if (isAgreedTo(record)) return next(call);
      const request = this.#requestOf(tool, call);
      // A call that resumes after a question was approved before; a read-only call can simply be asked for again.
      if (record.isResumed && !isReading) {
        record.approval = await this.#parts.approvals.resume(request.owner, request.subject);
        if (record.approval === undefined) throw notGoingOn(tool);
        return next(call);
      }
      const approval = await this.#asked(tool, request);
      // Recorded for refused attempts too, so that the record shows which decision they are about.
      record.approval = approval.id;
      const { id } = given(tool, approval);
      // A read-only call has no intent that would use it up.
      if (isReading && !(await this.#parts.approvals.use(id))) throw goneMeanwhile();
      record.grant = id;
      const result = await next(call);
      if (isReading || record.hasIntent || result.kind === 'needs_input' || record.refusal) return result;
      throw new ToolcribError(
        'invalid_setup',
        'The approve stage needs the commit stage after it: commit is what uses up an approval before the tool runs.',
      );
    };
  }

  async #asked(tool: Tool, request: ApprovalRequest): Promise<Approval> {
    const { approvals, onAsked } = this.#parts;
    const asked = await approvals.ask(request);
    if (!asked) throw tooMany(tool);
    if (asked.isNew) onAsked(asked.approval);
    return asked.approval;
  }

  #requestOf(tool: Tool, call: ToolCall): ApprovalRequest {
    const { caller, arguments: args, longIntegers, interview, record } = call;
    // The person is not shown these answers, and no question has been asked yet.
    if (interview.hasAnswers && !record.isResumed)
      throw new ToolcribError(
        'invalid_arguments',
        `${tool.name} needs to be approved, so it takes no answers ahead of its questions: call it without inputResponses.`,
      );
    const subject = subjectOf(tool, givenOf(call));
    const text = subject === undefined ? '' : writeExact(withLongIntegers(args, longIntegers ?? {}))!;
    if (subject === undefined || text.length > MAX_ARGUMENTS)
      throw new ToolcribError(
        'invalid_arguments',
        `${tool.name} needs to be approved, and these arguments cannot be shown to a person: send at most ${MAX_ARGUMENTS} characters of plain JSON.`,
      );
    const createdAt = this.#parts.clock.now();
    return {
      owner: ownerOf(caller),
      subject,
      tenant: caller.tenant.id,
      caller: caller.id,
      tool: governedName(tool),
      arguments: text,
      createdAt,
      expiresAt: createdAt + this.#waitMs,
    };
  }
}

function given(tool: Tool, approval: Approval): Approval {
  if (!approval.decision) throw waiting(tool, approval);
  if (!approval.decision.isApproved) throw denied(tool, approval);
  return approval;
}

function waiting({ name }: Tool, { id, expiresAt }: Approval): ToolcribError {
  return new ToolcribError(
    'approval_required',
    `Nothing was done: a person has to approve this call of ${name}. It waits as ${id} until ${timeOf(expiresAt)}. Say so to the person you work for; once it is approved, call ${name} again with the same arguments.`,
    { data: { approval: id } },
  );
}

function denied({ name }: Tool, { id, decision }: Approval): ToolcribError {
  return new ToolcribError(
    'refused',
    `Nothing was done: ${id}, this call of ${name}, was denied. Do not repeat it before ${timeOf(decision!.expiresAt)}, and ask the person you work for how to go on.`,
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
