import { z } from 'zod';
import { absentTools } from '../core/absent-tool.ts';
import type { Call } from '../core/call.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { ToolcribError } from '../base/errors.ts';
import type { Result } from '../core/result.ts';
import type { Awaitable } from '../base/awaitable.ts';
import type { Next, Stage } from '../core/stage.ts';
import { governedName } from '../core/tool.ts';
import type { Counter, Gauge, Histogram, Metrics, Series } from '../observe/metrics.ts';

/** The options of the `metrics` stage. */
export const metricsOptions = z.strictObject({
  buckets: z
    .array(z.number().positive())
    .min(1)
    .max(50)
    .refine((bounds) => bounds.every((bound, index) => index === 0 || bound > bounds[index - 1]!), {
      message: 'Put the buckets in ascending order.',
    })
    .default([0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60])
    .describe('Upper bounds, in seconds, into which the time of a call is sorted.'),
});

/** What the `metrics` stage needs. */
export interface MetricsParts {
  /** Where the counts are kept and shown; outlives the stage. */
  readonly metrics: Metrics;
  readonly clock?: Clock;
}

/** Counts calls by tool and outcome, and measures their duration. */
export function metrics(options: z.input<typeof metricsOptions>, parts: MetricsParts): Stage {
  const meter = new Meter(metricsOptions.parse(options, { jitless: true }).buckets, parts);
  let unknown: ToolMeter | undefined;
  return {
    name: 'metrics',
    wrap(tool, next) {
      // A name made up by a caller must not become a label: each would be a series that is kept for good.
      const tally = absentTools.has(tool)
        ? (unknown ??= meter.toolMeter('(unknown)'))
        : meter.toolMeter(governedName(tool));
      return (call) => meter.measure(tally, next, call);
    },
    wrapReading(next) {
      const tallies = {
        resource: meter.toolMeter('resource'),
        prompt: meter.toolMeter('prompt'),
        completion: meter.toolMeter('completion'),
      };
      return (call) => meter.measure(tallies[call.kind], next, call);
    },
  };
}

class Meter {
  readonly #clock: Clock;
  readonly #calls: Series<Counter>;
  readonly #seconds: Series<Histogram>;
  readonly #underWay: Gauge;

  constructor(buckets: readonly number[], { metrics: registry, clock = systemClock }: MetricsParts) {
    this.#clock = clock;
    this.#calls = registry.counter('toolcrib_calls_total', 'Calls that ended, by tool and by outcome.', [
      'tool',
      'outcome',
    ]);
    this.#seconds = registry.histogram('toolcrib_call_seconds', 'How long calls took, in seconds.', {
      labelNames: ['tool'],
      buckets,
    });
    this.#underWay = registry.gauge('toolcrib_calls_under_way', 'Calls that have not ended yet.').child();
  }

  toolMeter(label: string): ToolMeter {
    return new ToolMeter(label, this.#calls, this.#seconds);
  }

  measure<C extends Call>(tally: ToolMeter, next: Next<C>, call: C): Awaitable<Result> {
    const start = this.#clock.ticks();
    this.#underWay.inc();
    let result: Awaitable<Result>;
    try {
      result = next(call);
    } catch (error) {
      this.#end(tally, start, outcomeOf(error));
      throw error;
    }
    if (result instanceof Promise) {
      return result.then(
        (ending) => {
          this.#end(tally, start, call.record.refusal ?? ending.kind);
          return ending;
        },
        (error: unknown) => {
          this.#end(tally, start, outcomeOf(error));
          throw error;
        },
      );
    }
    this.#end(tally, start, call.record.refusal ?? result.kind);
    return result;
  }

  #end(tally: ToolMeter, start: number, outcome: string): void {
    this.#underWay.dec();
    tally.end(outcome, (this.#clock.ticks() - start) / 1000);
  }
}

/** The series of one tool, looked up once. */
class ToolMeter {
  readonly #label: string;
  readonly #calls: Series<Counter>;
  readonly #seconds: Histogram;
  readonly #done: Counter;
  readonly #others = new Map<string, Counter>();

  constructor(label: string, calls: Series<Counter>, seconds: Series<Histogram>) {
    this.#label = label;
    this.#calls = calls;
    this.#seconds = seconds.child(label);
    this.#done = calls.child(label, 'done');
  }

  end(outcome: string, seconds: number): void {
    this.#seconds.observe(seconds);
    if (outcome === 'done') this.#done.inc();
    else this.#countOther(outcome);
  }

  #countOther(outcome: string): void {
    let counter = this.#others.get(outcome);
    if (!counter) this.#others.set(outcome, (counter = this.#calls.child(this.#label, outcome)));
    counter.inc();
  }
}

// Codes come from a fixed table, so they are few; any other error is unexpected.
function outcomeOf(error: unknown): string {
  return error instanceof ToolcribError ? error.code : 'internal';
}
