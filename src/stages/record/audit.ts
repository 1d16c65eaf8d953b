import { z } from 'zod';
import { absentTools } from '../../core/absent-tool.ts';
import type { Call, Reading } from '../../core/call.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { knownError, ToolcribError } from '../../base/errors.ts';
import { recorded, type Witness } from '../../core/record.ts';
import type { Refusal } from '../../core/record.ts';
import { SlotList } from '../../base/slot-list.ts';
import type { Result } from '../../core/result.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import type { Next, Stage } from '../../core/stage.ts';
import { recordUnavailable, type Journal } from '../../store/store.ts';
import { chainOf, RowWriter, type Ending } from './audit-row.ts';
import { RefusalCounts } from './refusal-counts.ts';

/** How calls are recorded. */
export const auditOptions = z.strictObject({
  arguments: z
    .enum(['hashed', 'preview', 'none'])
    .default('hashed')
    .describe(
      'What is written about arguments: a keyed digest, that and a redacted preview of up to 4 kB, or nothing.',
    ),
  retentionDays: z
    .number()
    .int()
    .min(1)
    .default(90)
    .describe('Rows older than this are removed, up to a checkpoint.'),
  checkpoints: z
    .array(z.string().min(1))
    .min(1)
    .default(['./toolcrib.checkpoints'])
    .describe(
      'Files outside the database that get a copy of every signed checkpoint; put one on another disk.',
    ),
  checkpointSeconds: z
    .number()
    .min(1)
    .max(3600)
    .default(10)
    .describe('How often a checkpoint is signed; rows newer than the last one could be removed unnoticed.'),
});

/** The parts that the record needs. */
export interface AuditParts {
  readonly journal: Journal;
  /** Part of the digest of arguments. */
  readonly digestKey: string;
  readonly policyVersion?: string;
  readonly redact?: (text: string) => string;
  readonly clock?: Clock;
}

/** The stage that records calls, with a function to record other refusals. */
export interface AuditStage extends Stage {
  readonly refuse: (refusal: Refusal) => void;
  /** How many calls have started and are not recorded yet. */
  readonly underWay: number;
  /** Records what is still being counted. */
  readonly flush: () => void;
  /** Records what is still being counted, and open calls as cancelled; call it before the record is closed. */
  readonly close: () => void;
}

/**
 * Records every call, however it ends: the response waits until its row is on stable storage, and without a record no
 * tool runs.
 */
export function audit(options: z.input<typeof auditOptions>, parts: AuditParts): AuditStage {
  const recorder = new Recorder(auditOptions.parse(options, { jitless: true }), parts);
  return {
    name: 'audit',
    wrap: (_tool, next) => recorder.around(next),
    wrapReading: (next: Next<Reading>) => recorder.around(next),
    refuse: (refusal) => recorder.refuse(refusal),
    get underWay() {
      return recorder.underWay;
    },
    flush: () => recorder.flush(),
    close: () => recorder.close(),
  };
}

// Counted by caller, tool and second instead of one by one: a flood of refusals must not become a flood of rows.
const COUNTED: ReadonlySet<string> = new Set(['rate_limited', 'busy']);

class Recorder {
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #rows: RowWriter;
  readonly #counts: RefusalCounts;
  /** Calls that are not recorded yet. */
  readonly #open = new SlotList<Begun>();
  #isClosed = false;

  constructor({ arguments: show }: z.output<typeof auditOptions>, parts: AuditParts) {
    const { journal, digestKey, policyVersion = '', redact = unchanged, clock = systemClock } = parts;
    this.#journal = journal;
    this.#clock = clock;
    this.#rows = new RowWriter({ clock, show, digestKey, policyVersion, redact });
    this.#counts = new RefusalCounts(clock, (chain, body) => {
      // Counts are not awaited, so a failure is ignored.
      journal.append({ chain, body }).catch(() => {});
    });
  }

  get underWay(): number {
    return this.#open.size;
  }

  around<C extends Call>(next: Next<C>): Next<C> {
    return (call) => {
      // A call that cannot be recorded does not run.
      if (this.#isClosed || !this.#journal.isReady) throw recordUnavailable();
      const begun = new Begun(call, this, this.#clock.ticks());
      call.record.witness = begun;
      begun.place = this.#open.add(begun);
      let ending: Awaitable<Result>;
      try {
        ending = next(call);
      } catch (error) {
        return this.#fail(begun, error);
      }
      if (ending instanceof Promise) {
        return ending.then(
          (result) => this.#end(begun, result),
          (error: unknown) => this.#fail(begun, error),
        );
      }
      return this.#end(begun, ending);
    };
  }

  /** The recorded form of the arguments of a call. */
  said(call: Call): string {
    return this.#rows.said(call);
  }

  /** Writes the intent of a call that had none; its ending is written after it. */
  async intend(begun: Begun): Promise<void> {
    // A handler may continue after its call was recorded; then there is no intent to write.
    if (!this.#open.has(begun.place, begun)) return;
    const { call } = begun;
    const { record } = call;
    // Set at once: if the record is closed meanwhile, the row written then ends an intent.
    record.noteIntent();
    try {
      await this.#journal.append({
        chain: chainOf(call.caller),
        body: this.#rows.intent(call, begun.look()),
      });
    } catch (error) {
      record.dropIntent();
      throw error;
    }
  }

  refuse(refusal: Refusal): void {
    const { caller, method, target, code } = refusal;
    const chain = chainOf(caller);
    // Method names that callers make up count as one kind.
    const name = code === 'unknown_method' ? '' : method?.slice(0, MAX_NAME);
    const kind = JSON.stringify([chain, caller.id, name, code, target?.slice(0, MAX_NAME)]);
    if (target === undefined || this.#counts.mayName(JSON.stringify([chain, caller.id]), kind))
      this.#counts.count(kind, chain, () => this.#rows.refusal(refusal));
    else this.refuse({ ...refusal, target: undefined });
  }

  flush(): void {
    this.#counts.flush();
  }

  close(): void {
    this.#isClosed = true;
    for (const begun of this.#open.all()) {
      const body = this.#rows.ending(begun.call, this.#ending(begun, 'cancelled'));
      // The answer is gone; the failing record is in the log already.
      this.#journal.append({ chain: chainOf(begun.call.caller), body }).catch(() => {});
      this.#open.remove(begun.place, begun);
    }
    this.flush();
  }

  #end(begun: Begun, result: Result): Promise<Result> {
    const outcome = begun.call.record.refusal ?? result.kind;
    return this.#write(begun, this.#ending(begun, outcome)).then(() => result);
  }

  async #fail(begun: Begun, error: unknown): Promise<never> {
    // One error object from here on: outer stages must not have it recorded again.
    const known = knownError(error);
    const { call } = begun;
    const ending = this.#ending(begun, known.code);
    recorded.add(known);
    if (COUNTED.has(known.code) && !call.record.hasIntent) {
      this.#leave(begun);
      this.#countRefusal(call, ending);
    } else await this.#write(begun, ending);
    throw known;
  }

  #ending({ said, startedAt, intent }: Begun, outcome: Ending['outcome']): Ending {
    return { outcome, ms: this.#clock.ticks() - startedAt, said, mayHaveIntent: intent !== undefined };
  }

  #write(begun: Begun, ending: Ending): Promise<void> {
    // The text of the row depends on whether the intent was written.
    if (begun.intent) return begun.intent.then(() => this.#put(begun, ending));
    return this.#put(begun, ending);
  }

  #put(begun: Begun, ending: Ending): Promise<void> {
    const { call } = begun;
    const { record } = call;
    const chain = chainOf(call.caller);
    // Closing the store waits for rows it was given.
    this.#leave(begun);
    const body = this.#rows.ending(call, ending);
    if (!record.hasIntent) return this.#journal.append({ chain, body });
    return this.#journal.append({ chain, body }).catch((cause: unknown) => {
      const text =
        'The call ran, but its outcome could not be recorded; find out what it did before you repeat it.';
      throw new ToolcribError('record_unavailable', text, { cause });
    });
  }

  // A call recorded as cancelled has ended, whatever its result.
  #leave(begun: Begun): void {
    if (!this.#open.remove(begun.place, begun) && this.#isClosed)
      throw new ToolcribError('cancelled', 'The server has stopped.');
  }

  #countRefusal(call: Call, ending: Ending): void {
    const chain = chainOf(call.caller);
    this.#counts.count(JSON.stringify([chain, call.caller.id, kindOf(call), ending.outcome]), chain, () =>
      this.#rows.ending(call, ending),
    );
  }
}

/** A call under way; the text of its arguments is made just before the tool gets them. */
class Begun implements Witness {
  readonly call: Call;
  readonly startedAt: number;
  readonly #recorder: Recorder;
  said: string | undefined;
  /** Settles once the intent was written or failed; only set if the call got an intent on its way. */
  intent: Promise<void> | undefined;
  /** Its place among the calls under way. */
  place = -1;

  constructor(call: Call, recorder: Recorder, startedAt: number) {
    this.call = call;
    this.#recorder = recorder;
    this.startedAt = startedAt;
  }

  look(): string {
    return (this.said ??= this.#recorder.said(this.call));
  }

  lookAgain(changed: Call): void {
    this.said = this.#recorder.said(changed);
  }

  intend(): Promise<void> {
    const written = this.#recorder.intend(this);
    this.intent = written.catch(() => {});
    return written;
  }
}

const MAX_NAME = 200;

// Names that callers make up count as one kind.
function kindOf(call: Call): string {
  if (call.kind !== 'tool') return call.kind;
  return absentTools.has(call.tool) ? '' : call.tool.name;
}

function unchanged(text: string): string {
  return text;
}
