import { z } from 'zod';
import { nothing } from '../base/awaitable.ts';
import type { ToolCall } from '../core/call.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { ownerOf } from '../core/caller.ts';
import { errorTable, rowOf, ToolcribError, type ErrorCode } from '../base/errors.ts';
import { parseJson } from '../base/parse-json.ts';
import { describeNotKept } from '../core/memory/text.ts';
import type { Reservation } from '../core/memory/memory.ts';
import type { Done, Failed, Result } from '../core/result.ts';
import type { Next, Stage } from '../core/stage.ts';
import { isDeclaredReadOnly, type Tool } from '../core/tool.ts';
import type { Reservations, Reserved } from '../store/store.ts';
import { fingerprintOf } from './fingerprint.ts';

/** The field of the request's `_meta` that holds the key. */
export const idempotencyKey = 'dev.toolcrib/idempotencyKey';

/** Options for calls that must not run twice. */
export const idempotencyOptions = z.strictObject({
  keepHours: z
    .number()
    .min(24)
    .max(8_784)
    .default(24)
    .describe('How many hours a key and the outcome of its call are kept.'),
  required: z.boolean().default(false).describe('Whether tools with effects refuse calls without a key.'),
});

/** What the stage needs. */
export interface IdempotencyParts {
  readonly reservations: Reservations;
  readonly clock?: Clock;
  /** Kept across a reload, so that running calls are still known. */
  readonly running?: RunningKeys;
}

/** The keys of calls running in this process, each with the fingerprint of its call. */
export class RunningKeys extends Map<string, string> {}

/**
 * Lets a call with effects and a key run once: a second call with the key gets the outcome of the first. The `commit`
 * stage takes the key in one transaction with the intent, so `commit` must come after this stage.
 */
export function idempotency(options: z.input<typeof idempotencyOptions>, parts: IdempotencyParts): Stage {
  const { keepHours, required } = idempotencyOptions.parse(options, { jitless: true });
  const { reservations, clock = systemClock, running = new RunningKeys() } = parts;
  const keyed = new KeyedCalls({ reservations, clock, running, keepMs: keepHours * 3_600_000 });
  return {
    name: 'idempotency',
    wrap(tool, next) {
      if (isDeclaredReadOnly(tool)) return next;
      const wrapped: Wrapped = { tool, next };
      return (call) => {
        const key = call.meta[idempotencyKey];
        return key === undefined && !required ? next(call) : keyed.run(call, readKey(tool, key), wrapped);
      };
    },
  };
}

interface Wrapped {
  readonly tool: Tool;
  readonly next: Next;
}

interface KeyedCallsParts extends Required<IdempotencyParts> {
  readonly keepMs: number;
}

/** Runs calls under their keys. */
class KeyedCalls {
  readonly #parts: KeyedCallsParts;

  constructor(parts: KeyedCallsParts) {
    this.#parts = parts;
  }

  async run(call: ToolCall, key: string, { tool, next }: Wrapped): Promise<Result> {
    const { reservations, clock, running, keepMs } = this.#parts;
    const owner = ownerOf(call.caller);
    const fingerprint = requireFingerprint(tool, call);
    const id = `${owner} ${key}`;
    this.#refuseRunning(id, fingerprint, tool);
    const found = await reservations.find(owner, key);
    // Another call with the key may have started meanwhile.
    this.#refuseRunning(id, fingerprint, tool);
    if (found) return replay(call, fingerprint, found);
    const reservation = { owner, key, subject: fingerprint, expiresAt: clock.now() + keepMs };
    running.set(id, fingerprint);
    try {
      return await this.#runOnce(call, reservation, next);
    } finally {
      running.delete(id);
    }
  }

  #refuseRunning(id: string, fingerprint: string, tool: Tool): void {
    const other = this.#parts.running.get(id);
    if (other === undefined) return;
    if (other !== fingerprint) throw keyReused();
    throw new ToolcribError(
      'outcome_unknown',
      `A call of ${tool.name} under this idempotency key is still running. Wait, then send the same call with the same key again to get its outcome.`,
    );
  }

  async #runOnce(call: ToolCall, reservation: Reservation, next: Next): Promise<Result> {
    const { reservations } = this.#parts;
    const { owner, key } = reservation;
    const { record } = call;
    record.reservation = reservation;
    let result: Result;
    try {
      result = await next(call);
    } catch (error) {
      // The error of a stopped call does not say what the tool did.
      const isKnown = record.hasIntent && !call.cancellation.reason;
      const outcome = isKnown ? failureText(error) : undefined;
      if (outcome !== undefined) await reservations.finish(owner, key, outcome).catch(nothing);
      // Stopped between the intent and the run, or by a question that could not be asked: what comes before a question
      // is safe to repeat.
      else if (record.hasIntent && (!record.hasRun || couldNotAsk(call, error)))
        await reservations.release(owner, key).catch(nothing);
      throw error;
    }
    if (!record.hasIntent) {
      // A question of a stage before `commit` means that the tool did not run.
      if (result.kind === 'needs_input' || record.refusal) return result;
      throw new ToolcribError(
        'invalid_setup',
        'The idempotency stage needs the commit stage after it: commit takes the key before the tool runs.',
      );
    }
    if (result.kind === 'needs_input') {
      // The answers come with another call, which must find the key free.
      await reservations.release(owner, key);
      return result;
    }
    const outcome = resultText(result, record.bytes);
    // An outcome that cannot be stored stays unknown; this caller still gets the result.
    if (outcome !== undefined) await reservations.finish(owner, key, outcome).catch(nothing);
    return result;
  }
}

function couldNotAsk({ interview }: ToolCall, error: unknown): boolean {
  return (
    interview.raised !== undefined && error instanceof ToolcribError && error.code === 'missing_capability'
  );
}

function readKey(tool: Tool, key: unknown): string {
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new ToolcribError(
    'invalid_arguments',
    key === undefined
      ? `${tool.name} has effects and needs an idempotency key: put a new random text, such as a UUID, into _meta as "${idempotencyKey}" and send the same one with every retry.`
      : `The idempotency key in _meta ("${idempotencyKey}") must be a text of 1 to 255 visible ASCII characters without spaces, such as a UUID.`,
  );
}

function requireFingerprint(tool: Tool, call: ToolCall): string {
  const fingerprint = fingerprintOf({ tool, arguments: call.arguments, longIntegers: call.longIntegers });
  if (fingerprint !== undefined) return fingerprint;
  throw new ToolcribError(
    'invalid_arguments',
    `${tool.name} takes no idempotency key: it turns its arguments into values that cannot be compared.`,
  );
}

function replay(call: ToolCall, fingerprint: string, found: Reserved): Result {
  if (found.subject !== fingerprint) throw keyReused();
  if (found.notKept)
    throw new ToolcribError(
      'outcome_not_kept',
      `The call of ${call.tool.name} under this idempotency key has ended, and is not run again. ${describeNotKept(found.notKept)} Look at what it did; do it again under a new key only if it is to be done twice.`,
      { data: { ...found.notKept } },
    );
  if (found.outcome === undefined)
    throw new ToolcribError(
      'outcome_unknown',
      `A call of ${call.tool.name} under this idempotency key was begun and its outcome is not known, so it is never run twice. Find out whether it took effect before you do it again under a new key.`,
    );
  call.record.answerFrom('replay');
  const outcome = parseJson(found.outcome) as Outcome;
  if ('result' in outcome) {
    call.record.answerFrom('replay', outcome.bytes);
    return outcome.result;
  }
  const { code, message, data } = outcome.error;
  throw new ToolcribError(isCode(code) ? code : 'tool_failed', message, data && { data });
}

function keyReused(): ToolcribError {
  return new ToolcribError(
    'key_reused',
    'This idempotency key was used for another call: another tool, another version of it or other arguments. Use a new key for a new call.',
  );
}

type Outcome =
  | { readonly result: Done | Failed; readonly bytes?: number | undefined }
  | {
      readonly error: {
        readonly code: string;
        readonly message: string;
        readonly data?: Readonly<Record<string, unknown>> | undefined;
      };
    };

// A value that is not JSON cannot be sent either; its outcome stays unknown.
function resultText(result: Done | Failed, bytes: number | undefined): string | undefined {
  try {
    return JSON.stringify({ result, bytes } satisfies Outcome);
  } catch {
    return undefined;
  }
}

// After these errors it is unknown what the tool did, or still does.
const UNKNOWN_AFTER: ReadonlySet<ErrorCode> = new Set([
  'timed_out',
  'upstream_unavailable',
  'outcome_unknown',
]);

function failureText(error: unknown): string | undefined {
  if (!(error instanceof ToolcribError)) return undefined;
  const { code, message, data } = error;
  if (rowOf(code).reply !== 'result' || UNKNOWN_AFTER.has(code)) return undefined;
  try {
    return JSON.stringify({ error: { code, message, data } } satisfies Outcome);
  } catch {
    return undefined;
  }
}

function isCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}
