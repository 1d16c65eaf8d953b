import { z } from 'zod';
import { absentTools } from '../../core/absent-tool.ts';
import type { Call, Reading } from '../../core/call.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { knownError, ToolcribError } from '../../base/errors.ts';
import { recorded, type Witness } from '../../core/record.ts';
import type { Refusal } from '../../core/refusal.ts';
import { Roster } from '../../base/roster.ts';
import type { Result } from '../../core/result.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import type { Next, Stage } from '../../core/stage.ts';
import { recordUnavailable } from '../../store/record-unavailable.ts';
import type { Journal } from '../../store/store.ts';
import { chainOf, RowWriter, type Ending } from './audit-row.ts';
import { RefusalCounts } from './refusal-counts.ts';

/** How calls are put on record. */
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
    .describe('Rows older than this are cut off, at a checkpoint.'),
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
    .describe('How often a checkpoint is signed; rows newer than the last one could be cut off unseen.'),
});

/** What the record is written with. */
export interface AuditParts {
  readonly journal: Journal;
  /** Goes into the digest of arguments. */
  readonly digestKey: string;
  readonly policyVersion?: string;
  readonly redact?: (text: string) => string;
  readonly clock?: Clock;
}

/** The stage that keeps the record, and the way to put other refusals on it. */
export interface AuditStage extends Stage {
  readonly refuse: (refusal: Refusal) => void;
  /** How many calls have begun and are not yet written down. */
  readonly underWay: number;
  /** Puts on record what is still being counted. */
  readonly flush: () => void;
  /** Puts on record what is still being counted, and as cancelled what has not ended; to be called before the record is closed. */
  readonly close: () => void;
}

/** Puts every call on record, however it ends: the answer waits until its row is on stable storage, and without a record no tool runs. */
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
  /** The calls that are not yet written down. */
  readonly #open = new Roster<Begun>();
  #isClosed = false;

  constructor({ arguments: show }: z.output<typeof auditOptions>, parts: AuditParts) {
    const { journal, digestKey, policyVersion = '', redact = unchanged, clock = systemClock } = parts;
    this.#journal = journal;
    this.#clock = clock;
    this.#rows = new RowWriter({ clock, show, digestKey, policyVersion, redact });
    this.#counts = new RefusalCounts(clock, (chain, body) => {
      // Counts are written when they can be; nobody waits for them.
      journal.append({ chain, body }).catch(() => {});
    });
  }

  get underWay(): number {
    return this.#open.size;
  }

  around<C extends Call>(next: Next<C>): Next<C> {
    return (call) => {
      // What cannot be put on record is not run.
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

  /** What goes on record about the arguments of a call. */
  said(call: Call): string {
    return this.#rows.said(call);
  }

  /** Writes the intent of a call that had none; how the call ends is written after it. */
  async intend(begun: Begun): Promise<void> {
    // A handler may go on after its call was written down, and then there is nothing to begin.
    if (!this.#open.has(begun.place, begun)) return;
    const { call } = begun;
    const { record } = call;
    // At once: should the record be closed meanwhile, what is written then ends an intent.
    record.hasIntent = true;
    try {
      await this.#journal.append({
        chain: chainOf(call.caller),
        body: this.#rows.intent(call, begun.look()),
      });
    } catch (error) {
      record.hasIntent = false;
      throw error;
    }
  }

  refuse(refusal: Refusal): void {
    const { caller, method, target, code } = refusal;
    const chain = chainOf(caller);
    // Names that callers make up are one kind, however many there are.
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
      // Nobody is left who could be told; that nothing can be written is in the log by then.
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
    // One error from here on: what is made of it further out must not be put on record again.
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
    // Whether the intent got there decides what the row says.
    if (begun.intent) return begun.intent.then(() => this.#put(begun, ending));
    return this.#put(begun, ending);
  }

  #put(begun: Begun, ending: Ending): Promise<void> {
    const { call } = begun;
    const { record } = call;
    const chain = chainOf(call.caller);
    // Whoever closes the store waits for what was handed over to it.
    this.#leave(begun);
    const body = this.#rows.ending(call, ending);
    if (!record.hasIntent) return this.#journal.append({ chain, body });
    return this.#journal.append({ chain, body }).catch((cause: unknown) => {
      const text =
        'The call was run, but how it ended could not be put on record; find out before doing it again.';
      throw new ToolcribError('record_unavailable', text, { cause });
    });
  }

  // What was written down as cancelled has ended, whatever becomes of it.
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

/** A call under way; what its row says about the arguments is worked out when they are about to be handed on. */
class Begun implements Witness {
  readonly call: Call;
  readonly startedAt: number;
  readonly #recorder: Recorder;
  said: string | undefined;
  /** Settled once the intent is written or could not be; only where the call got one on its way. */
  intent: Promise<void> | undefined;
  /** Where it stands among those under way. */
  place = -1;

  constructor(call: Call, recorder: Recorder, startedAt: number) {
    this.call = call;
    this.#recorder = recorder;
    this.startedAt = startedAt;
  }

  look(): string {
    return (this.said ??= this.#recorder.said(this.call));
  }

  intend(): Promise<void> {
    const written = this.#recorder.intend(this);
    this.intent = written.catch(() => {});
    return written;
  }
}

const MAX_NAME = 200;

// Names that callers make up are one kind.
function kindOf(call: Call): string {
  if (call.kind !== 'tool') return call.kind;
  return absentTools.has(call.tool) ? '' : call.tool.name;
}

function unchanged(text: string): string {
  return text;
}
