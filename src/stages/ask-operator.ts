import type { Approval, ApprovalRequest, Approvals } from '../core/approval.ts';
import type { ToolCall } from '../core/call.ts';
import { systemClock, type Clock } from '../core/clock.ts';
import { definitionDigest, digest, ownerOf } from '../core/digest.ts';
import { ToolcribError } from '../core/errors.ts';
import type { Next } from '../core/stage.ts';
import { isDeclaredReadOnly, type Tool } from '../core/tool.ts';
import { jsonDigest } from './json-digest.ts';

/** What it takes to ask a person. */
export interface ApproveParts {
  readonly approvals: Approvals;
  readonly clock?: Clock;
  /** Hears of every call that begins to wait. */
  readonly onAsked?: (approval: Approval) => void;
}

// Nobody can agree to what is too long to be read.
const MAX_ARGUMENTS = 100_000;

/** Lets a call go on once a person, who is not reached through any tool, has agreed to exactly this call; each agreement is for one. */
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
      // Whoever was asked further out is not asked again; nor is what goes on after a question, whose state is good for one call like it.
      if (record.grant !== undefined || (record.isResumed && !isReading)) return next(call);
      const { id } = await this.#given(tool, call);
      // What changes nothing leaves no intent that could use it up.
      if (isReading && !(await this.#parts.approvals.use(id))) throw goneMeanwhile(tool);
      record.approval = id;
      record.grant = id;
      const result = await next(call);
      if (isReading || record.hasIntent || result.kind === 'needs_input' || record.refusal) return result;
      throw new ToolcribError(
        'invalid_setup',
        'The approve stage needs the commit stage after it: commit is what uses up an approval before the tool runs.',
      );
    };
  }

  async #given(tool: Tool, call: ToolCall): Promise<Approval> {
    const { approvals, onAsked } = this.#parts;
    const asked = await approvals.ask(this.#requestOf(tool, call));
    if (!asked) throw tooMany(tool);
    const { approval, isNew } = asked;
    if (approval.decision?.isApproved) return approval;
    if (approval.decision) throw denied(tool, approval);
    if (isNew) onAsked(approval);
    throw waiting(tool, approval);
  }

  #requestOf(tool: Tool, { caller, arguments: args }: ToolCall): ApprovalRequest {
    const given = jsonDigest(args);
    const text = given === undefined ? '' : JSON.stringify(args);
    if (given === undefined || text.length > MAX_ARGUMENTS)
      throw new ToolcribError(
        'invalid_arguments',
        `${tool.name} needs to be approved, and these arguments cannot be shown to a person: send at most ${MAX_ARGUMENTS} characters of plain JSON.`,
      );
    const createdAt = this.#parts.clock.now();
    return {
      owner: ownerOf(caller),
      subject: digest([tool.name, definitionDigest(tool), given]),
      tenant: caller.tenant.id,
      caller: caller.id,
      tool: tool.name,
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

function denied({ name }: Tool, { id, decision }: Approval): ToolcribError {
  return new ToolcribError(
    'refused',
    `Nothing was done: ${id}, this call of ${name}, was denied. Do not repeat it before ${timeOf(decision!.expiresAt)}, and ask the person you work for how to go on.`,
  );
}

function goneMeanwhile({ name }: Tool): ToolcribError {
  return new ToolcribError(
    'approval_required',
    `What was approved was used for another call of ${name} meanwhile, or has run out; call again to have it asked for anew.`,
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
