import { z } from 'zod';
import { ToolcribError } from '../../base/errors.ts';
import { isAbsent } from '../../core/absent-tool.ts';
import type { Reading, ToolCall } from '../../core/call.ts';
import {
  askerOf,
  confirmationFor,
  consentArgument,
  offerConfirmation,
  withoutConsent,
} from '../../core/authoring/confirmation.ts';
import type { CallRecord } from '../../core/record.ts';
import type { Result } from '../../core/result.ts';
import type { Next, Stage } from '../../core/stage.ts';
import type { Tool } from '../../core/tool.ts';
import { AskedOperator, type OperatorParts } from './asked-operator.ts';
import type { Approver } from './consent.ts';
import { runEdited, usualChecks } from './edited-call.ts';
import { PersonAtHand, type PersonParts } from './person-at-hand.ts';
import {
  bringsForeignWords,
  mayReachOutside,
  noting,
  notingForeign,
  UntrustedReads,
  type ReadingRule,
} from './untrusted-reads.ts';
import { safetyModes, whichCalls } from './which-calls.ts';

/** Which calls somebody has to agree to, and how that somebody is reached. */
export const approveOptions = z.strictObject({
  mode: z
    .enum(['argument', 'operator', 'person'])
    .default('argument')
    .describe(
      'Who agrees: `argument` takes the word of the model, in the argument `confirmed`; `operator` waits for somebody with `toolcrib approvals`; `person` lets the call wait for a person at hand, whom the program asks.',
    ),
  when: z
    .array(z.enum(['destructive']))
    .default(['destructive'])
    .describe('Which kinds of tools ask: `destructive` are those that do not say they are harmless.'),
  tools: z
    .array(z.string().min(1))
    .default([])
    .describe('Names of further tools that ask; `*` stands for any characters.'),
  safety: z
    .array(z.enum(safetyModes))
    .default([])
    .describe(
      'Further rules by name: `strict` asks for every tool, `balanced` for all that are not proven to be read-only, `restricted` refuses those instead, `autonomous` adds nothing. The strictest rule counts.',
    ),
  afterUntrustedMinutes: z
    .number()
    .min(0)
    .max(1_440)
    .default(0)
    .describe(
      'With `operator` and `person`: for how many minutes after a caller got something that others wrote (anything of a server that is not trusted, results of tools that declare `openWorldHint: true`) its calls of tools that may reach outside are asked about. 0 is never.',
    ),
  expireMinutes: z
    .number()
    .min(1)
    .max(1_440)
    .default(5)
    .describe('With `operator`: how long a call waits to be decided, and what was decided for the call.'),
  waitSeconds: z
    .number()
    .positive()
    .max(86_400)
    .default(300)
    .describe('With `person`: how long a person is waited for; without an answer nothing is done.'),
});

/** The parts that the stage needs to ask a person. */
export interface ApproveParts extends PersonParts, Partial<OperatorParts> {
  /** Whether a server is trusted; none is unless set. */
  readonly isTrusted?: ((server: string) => boolean) | undefined;
  /** The callers who lately read texts of others; given if that must outlive this stage. */
  readonly untrustedReads?: UntrustedReads | undefined;
  /** The stages that arguments pass again when a person has changed them: those in front of this one. */
  readonly checks?: readonly Stage[] | undefined;
}

/**
 * Lets calls run only after a consent: of the model, by an argument, of an operator, or of a person at hand. Tools made
 * with `requireConfirmation` are confirmed here too, whatever the options say, so that nothing is reserved or written
 * before the confirmation.
 */
export function approve(options: z.input<typeof approveOptions> = {}, parts: ApproveParts = {}): Stage {
  const settings = approveOptions.parse(options, { jitless: true });
  const verdictOn = whichCalls(settings);
  const approver = approverFor(settings, parts);
  const { checks = usualChecks } = parts;
  const rule = readingRule(settings, parts);
  const hasRules = [settings.when, settings.tools, settings.safety].some(({ length }) => length > 0);
  return {
    name: 'approve',
    // A person is asked apart from the call, so nothing changes for callers.
    ...(!approver &&
      hasRules && {
        viewOf: sameForAll,
        expose: (tool: Tool) =>
          !askerOf(tool) && verdictOn(tool) === 'ask' ? offerConfirmation(tool) : tool,
      }),
    ...(rule && { wrapReading: (next: Next<Reading>) => notingForeign(next, rule) }),
    wrap(tool, inner) {
      const verdict = verdictOn(tool);
      const next = rule && bringsForeignWords(tool, rule) ? noting(inner, rule) : inner;
      if (verdict === 'refuse') return (call) => (isAgreedTo(call.record) ? next(call) : refuse(tool));
      const isAsked = verdict === 'ask';
      const asking = approver && withConsent(next, approver, checks);
      const mayCarryOut = asking && rule && !isAbsent(tool) && mayReachOutside(tool);
      const agreed = asking && isAsked ? asking : mayCarryOut ? afterReading(next, asking, rule) : next;
      return askerOf(tool) || (!approver && isAsked) ? withConfirmation(tool, agreed) : agreed;
    },
  };
}

type Settings = z.output<typeof approveOptions>;

function readingRule(
  { mode, afterUntrustedMinutes }: Settings,
  { clock, isTrusted = () => false, untrustedReads: reads = new UntrustedReads(clock) }: ApproveParts,
): ReadingRule | undefined {
  // A model that was misled would confirm its call by itself.
  if (mode === 'argument' || afterUntrustedMinutes === 0) return undefined;
  return { reads, withinMs: afterUntrustedMinutes * 60_000, isTrusted };
}

// A text that a caller has read may have told its model to send its data elsewhere.
function afterReading(next: Next, asking: Next, { reads, withinMs }: ReadingRule): Next {
  return (call) => (reads.isRecent(call.caller, withinMs) ? asking(call) : next(call));
}

function approverFor(
  { mode, expireMinutes, waitSeconds }: Settings,
  parts: ApproveParts,
): Approver | undefined {
  switch (mode) {
    case 'argument':
      return undefined;
    case 'person':
      return new PersonAtHand(parts, waitSeconds * 1000);
    case 'operator': {
      const { approvals, clock, onAsked } = parts;
      if (approvals) return new AskedOperator({ approvals, clock, onAsked }, expireMinutes * 60_000);
      const text =
        'approve with the mode "operator" needs somewhere to keep what is asked: { approvals: store.approvals }.';
      throw new ToolcribError('invalid_setup', text);
    }
  }
}

// The model confirms before a person is asked, who would otherwise be asked about a call that does nothing.
function withConfirmation(tool: Tool, next: Next): Next {
  const argument = consentArgument(tool);
  const isOwn = askerOf(tool) === 'tool';
  return (call) => {
    const { record } = call;
    // A call that an outer stage has confirmed is not asked again.
    if (record.approval === undefined && call.arguments[argument] !== true) return tellHow(call, tool);
    record.approval ??= 'argument';
    // A tool that asks by itself must see that it was confirmed.
    return next(isOwn ? call : { ...call, arguments: withoutConsent(tool, call.arguments) });
  };
}

function withConsent(next: Next, approver: Approver, checks: readonly Stage[]): Next {
  return async (call) => {
    const { record } = call;
    // A call that a person agreed to further out is not asked about again.
    if (isAgreedTo(record)) return next(call);
    requireNoAnswersAhead(call);
    const consent = await approver.ask(call);
    // Recorded for a no as well, so that the record shows which decision it is about.
    record.approval = consent.by;
    if ('refusal' in consent) throw consent.refusal;
    record.approvalToUse = consent.uses;
    if (consent.edited) return runEdited(call, { arguments: consent.edited, checks, next });
    const result = await next(call);
    if (result.kind === 'needs_input') approver.goesOn?.(call, consent.by);
    if (
      record.approvalToUse === undefined ||
      record.hasIntent ||
      result.kind === 'needs_input' ||
      record.refusal
    )
      return result;
    throw new ToolcribError(
      'invalid_setup',
      'The approve stage needs the commit stage after it: commit uses up the approval before the tool runs.',
    );
  };
}

// Whether a person has approved; a confirmation by the model does not count as one.
function isAgreedTo({ approval }: CallRecord): boolean {
  return approval !== undefined && approval !== 'argument';
}

// The person who is asked does not see these answers, and no question has been asked yet.
function requireNoAnswersAhead({ tool, interview, record }: ToolCall): void {
  if (!interview.hasAnswers || record.isResumed) return;
  throw new ToolcribError(
    'invalid_arguments',
    `${tool.name} needs to be approved, so it takes no answers ahead of its questions: call it without inputResponses.`,
  );
}

function tellHow(call: ToolCall, tool: Tool): Result {
  call.record.refusal = 'approval_required';
  return { kind: 'done', data: confirmationFor(tool, call.arguments) };
}

function refuse({ name }: Tool): never {
  throw new ToolcribError(
    'refused',
    `Nothing was done: ${name} is not proven to be read-only, and only tools that are may run here. Go on without it.`,
  );
}

function sameForAll(): string {
  return '';
}
