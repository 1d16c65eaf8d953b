import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { Deadlines } from '../../base/deadlines.ts';
import { limitTime } from '../../core/essentials/limit-time.ts';
import { permit } from '../../core/essentials/permit.ts';
import { validateInputWithin, validateOutputWithin } from '../../core/essentials/validate.ts';
import type { Stage } from '../../core/stage.ts';
import type { Secrets } from '../../observe/secrets.ts';
import { approve, type ApproveParts } from '../../stages/approve/approve.ts';
import type { SafetyMode } from '../../stages/approve/decision.ts';
import { sanitize, type sanitizeOptions } from '../../stages/cleaning/sanitize.ts';
import { circuitBreak, type circuitBreakOptions } from '../../stages/limits/circuit-break.ts';
import { concurrency, type concurrencyOptions } from '../../stages/limits/concurrency.ts';
import { rateLimit, type rateLimitOptions } from '../../stages/limits/rate-limit.ts';
import { audit, type auditOptions, type AuditStage } from '../../stages/record/audit.ts';
import { commit } from '../../stages/record/commit.ts';
import type { Journal } from '../../store/store.ts';

/** What can be set for the stages in front of an agent's tools. */
export interface HostStageOptions {
  readonly rateLimit?: z.input<typeof rateLimitOptions>;
  readonly sanitize?: z.input<typeof sanitizeOptions>;
  readonly circuitBreak?: z.input<typeof circuitBreakOptions>;
  readonly concurrency?: z.input<typeof concurrencyOptions>;
  /** What the record shows of arguments; a redacted preview unless set. */
  readonly audit?: Pick<z.input<typeof auditOptions>, 'arguments'>;
  /** How long a person is waited for, 300 seconds unless set. */
  readonly waitSeconds?: number;
}

/** What the stages work with. */
export interface HostStageParts extends Pick<ApproveParts, 'onToolCall' | 'grants' | 'toolsOf'> {
  readonly modes: readonly SafetyMode[];
  readonly clock: Clock;
  readonly secrets: Secrets;
  /** Where calls are recorded; without it they are not. */
  readonly journal?: Journal | undefined;
  /** Changes with the rules of the agent; it is in every row of the record. */
  readonly policyVersion: string;
}

/** The stages of an agent, outermost first, and the end of its record. */
export interface HostStages {
  readonly inOrder: readonly Stage[];
  /** Records calls that are still open as cancelled. */
  readonly close: () => void;
}

// Servers have limits of their own; no call may last for ever, whatever they are.
const LONGEST_MS = 3_600_000;
const CHECK_MS = 30_000;

/** The stages in front of an agent's tools: those of a gateway, in the same order, with a person in the middle. */
export function hostStages(options: HostStageOptions, parts: HostStageParts): HostStages {
  const { clock, secrets, modes, onToolCall, grants, toolsOf } = parts;
  const deadlines = new Deadlines(clock);
  const checking = { msFor: () => CHECK_MS, deadlines };
  const record = recordStages(options, parts);
  const { waitSeconds } = options;
  const checks = [validateInputWithin(checking), permit(checking)];
  const inOrder = [
    record?.audit,
    rateLimit(options.rateLimit, { clock }),
    ...checks,
    approve(
      { mode: 'person', when: [], safety: [...modes], ...(waitSeconds !== undefined && { waitSeconds }) },
      { onToolCall, grants, toolsOf, checks, clock },
    ),
    // What a server sends against its own promise is left out; its text stays.
    validateOutputWithin(checking, 'strip'),
    sanitize(options.sanitize, { secrets }),
    circuitBreak(options.circuitBreak, { clock }),
    concurrency(options.concurrency, { clock }),
    record?.commit,
    limitTime({ msFor: () => LONGEST_MS, deadlines }),
  ];
  return {
    inOrder: inOrder.filter((stage) => stage !== undefined),
    close: () => record?.audit.close(),
  };
}

function recordStages(
  options: HostStageOptions,
  { journal, clock, secrets, policyVersion }: HostStageParts,
): { readonly audit: AuditStage; readonly commit: Stage } | undefined {
  if (!journal) return undefined;
  const show = options.audit?.arguments ?? 'preview';
  const parts = {
    journal,
    clock,
    policyVersion,
    digestKey: randomBytes(32).toString('base64url'),
    redact: (text: string) => secrets.redact(text),
  };
  return { audit: audit({ arguments: show }, parts), commit: commit({ ...parts, show }) };
}
