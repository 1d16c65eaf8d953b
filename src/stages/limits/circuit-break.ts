import { z } from 'zod';
import { absentTools } from '../../core/absent-tool.ts';
import type { Call } from '../../core/call.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { Result } from '../../core/result.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import type { Stage } from '../../core/stage.ts';
import { Breakers, type Breaker, type BreakerSettings, type BreakerVerdict } from './breakers.ts';

/** When calls of a failing tool are refused. */
export const circuitBreakOptions = z.strictObject({
  failures: z
    .int()
    .min(1)
    .max(1000)
    .default(5)
    .describe('After how many outages in a row, with no answer between them, calls of a tool are refused.'),
  withinSeconds: z.number().positive().default(30).describe('The time within which those outages must come.'),
  openSeconds: z
    .number()
    .positive()
    .default(30)
    .describe('How long calls are refused before one of them may test the tool.'),
});

/** What the stage needs; the given breakers survive a reload. */
export interface CircuitBreakParts {
  readonly clock?: Clock;
  readonly breakers?: Breakers;
}

/** Refuses calls of a tool that is down, instead of making every caller wait for its failure. */
export function circuitBreak(
  options: z.input<typeof circuitBreakOptions> = {},
  parts: CircuitBreakParts = {},
): Stage {
  const { failures, withinSeconds, openSeconds } = circuitBreakOptions.parse(options, { jitless: true });
  const { clock = systemClock, breakers = new Breakers() } = parts;
  const settings = { failures, withinMs: withinSeconds * 1000, openMs: openSeconds * 1000 };
  return {
    name: 'circuitBreak',
    wrap(tool, next) {
      if (absentTools.has(tool)) return next;
      // An upstream is down with all of its tools.
      const name = tool.place?.source ?? tool.name;
      const gate = new BreakerGate(breakers.of(tool.place ? `${name}.*` : name), settings, { name, clock });
      return (call) => {
        const isProbe = gate.admit(call);
        let work: Awaitable<Result>;
        try {
          work = next(call);
        } catch (error) {
          throw gate.noteError(error, call, isProbe);
        }
        if (!(work instanceof Promise)) return gate.noteResult(work, isProbe);
        return work.then(
          (result) => gate.noteResult(result, isProbe),
          (error: unknown) => {
            throw gate.noteError(error, call, isProbe);
          },
        );
      };
    },
  };
}

/** Applies a breaker to the calls of one tool. */
class BreakerGate {
  readonly #breaker: Breaker;
  readonly #settings: BreakerSettings;
  readonly #name: string;
  readonly #clock: Clock;

  constructor(breaker: Breaker, settings: BreakerSettings, { name, clock }: { name: string; clock: Clock }) {
    this.#breaker = breaker;
    this.#settings = settings;
    this.#name = name;
    this.#clock = clock;
  }

  /** Refuses a call while the breaker is open; returns whether this call tests the tool. */
  admit({ caller }: Call): boolean {
    if (this.#breaker.state === 'closed' || !this.#breaker.concerns(caller.tenant.id)) return false;
    const now = this.#clock.ticks();
    const retryAfterMs = Math.ceil(this.#breaker.waitMs(now));
    if (retryAfterMs > 0) {
      const text = `${this.#name} is not answering; try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
      throw new ToolcribError('upstream_unavailable', text, { data: { retryAfterMs } });
    }
    this.#breaker.probe(now, this.#settings);
    return true;
  }

  noteResult(result: Result, isProbe: boolean): Result {
    const isAnswer = result.kind !== 'needs_input';
    if (isProbe) this.#noteProbe(isAnswer ? 'answered' : 'unclear');
    else if (isAnswer) this.#breaker.noteAnswer();
    return result;
  }

  noteError(error: unknown, call: Call, isProbe: boolean): unknown {
    const verdict = isStopped(call) ? 'unclear' : verdictOn(error);
    if (isProbe) this.#noteProbe(verdict);
    else if (verdict === 'answered') this.#breaker.noteAnswer();
    else if (verdict === 'outage')
      this.#breaker.noteOutage(call.caller.tenant.id, this.#clock.ticks(), this.#settings);
    return error;
  }

  #noteProbe(verdict: BreakerVerdict): void {
    this.#breaker.noteProbe(verdict, this.#clock.ticks(), this.#settings);
  }
}

// An error after a stop says nothing about the tool, unless it was stopped by its timeout.
function isStopped({ cancellation: { reason } }: Call): boolean {
  return reason !== undefined && verdictOn(reason) !== 'outage';
}

function verdictOn(error: unknown): BreakerVerdict {
  if (!(error instanceof ToolcribError)) return 'unclear';
  switch (error.code) {
    case 'upstream_unavailable':
    case 'timed_out':
      return 'outage';
    // The tool ran and failed by itself.
    case 'tool_failed':
    case 'invalid_output':
    case 'remote_error':
      return 'answered';
    default:
      return 'unclear';
  }
}
