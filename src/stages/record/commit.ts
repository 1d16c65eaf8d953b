import { systemClock, type Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { Stage } from '../../core/stage.ts';
import { isDeclaredReadOnly } from '../../core/tool.ts';
import type { Committed, Journal } from '../../store/store.ts';
import { goneMeanwhile } from '../approve/asked-operator.ts';
import { chainOf, RowWriter, type ArgumentsShown } from './audit-row.ts';

/** The parts that an intent needs: those of the record it belongs to. */
export interface CommitParts {
  readonly journal: Journal;
  readonly digestKey: string;
  readonly show?: ArgumentsShown;
  readonly policyVersion?: string;
  readonly redact?: (text: string) => string;
  readonly clock?: Clock;
}

/**
 * Records an intent before a tool with effects runs; takes the idempotency key and uses up the approval of the call in
 * the same transaction. A tool has effects unless its author declares it read-only.
 */
export function commit(parts: CommitParts): Stage {
  const {
    journal,
    digestKey,
    show = 'hashed',
    policyVersion = '',
    redact = (text) => text,
    clock = systemClock,
  } = parts;
  const rows = new RowWriter({ clock, show, digestKey, policyVersion, redact });
  return {
    name: 'commit',
    wrap: (tool, next) => {
      if (isDeclaredReadOnly(tool)) return next;
      return async (call) => {
        const { record, caller, cancellation } = call;
        const entry = { chain: chainOf(caller), body: rows.intent(call, record.witness?.look()) };
        const answer = await journal.commit(entry, record.reservation, record.approvalToUse);
        if (answer !== 'committed') throw refusals[answer]();
        record.noteIntent();
        // The call was cancelled while the intent was written.
        if (cancellation.reason) throw cancellation.reason;
        record.letRun();
        return next(call);
      };
    },
  };
}

const refusals: Record<Exclude<Committed, 'committed'>, () => ToolcribError> = {
  taken: () =>
    new ToolcribError(
      'outcome_unknown',
      'A call under this idempotency key was begun elsewhere, and its outcome is not known yet.',
    ),
  full: () =>
    new ToolcribError(
      'busy',
      'Too many idempotency keys of this caller or its tenant are kept already; call without one, or again when some have run out.',
    ),
  unapproved: goneMeanwhile,
};
