import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadGenerator, LoadResult } from './load.ts';
import { median } from './median.ts';
import { progress } from './progress.ts';
import type { BenchRequest } from './requests.ts';
import type { Settings } from './settings.ts';
import type { HttpTarget } from './target-process.ts';
import { cpuMicros } from './usage.ts';

/** A target under one kind of load. */
export interface Contender {
  readonly name: string;
  readonly target: HttpTarget;
  readonly request: BenchRequest;
}

/** Medians over the rounds. */
export interface Figures {
  /** CPU time of the server process for one request. */
  readonly cpuMicros: number;
  /** The same for each round. */
  readonly cpuRounds: readonly number[];
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

type Round = Omit<Figures, 'cpuRounds'>;

/** How the measuring is done, the same for every part. */
export interface Bench {
  readonly settings: Settings;
  readonly load: LoadGenerator;
}

/** Measures contenders in interleaved rounds and returns the medians, in the order of the contenders. */
export async function measure(contenders: readonly Contender[], bench: Bench): Promise<Figures[]> {
  const { rounds, warmUpSeconds } = bench.settings;
  for (const contender of contenders) {
    progress(`warming up ${contender.name}`);
    await loadFor(warmUpSeconds, contender, bench);
  }
  const seen = new Map<Contender, Round[]>(contenders.map((contender) => [contender, []]));
  for (let index = 0; index < rounds; index++) {
    // Every other round runs backwards, so that nobody always follows the same neighbour.
    for (const contender of index % 2 === 0 ? contenders : contenders.toReversed()) {
      const figures = await round(contender, bench);
      progress(`round ${index + 1}/${rounds} ${contender.name}: ${figures.cpuMicros.toFixed(1)} µs`);
      seen.get(contender)?.push(figures);
    }
  }
  return [...seen.values()].map(medians);
}

/** How CPU times compare: the median over the rounds, each compared with itself, since the machine's load varies. */
export function cpuRatio(some: readonly Figures[], others: readonly Figures[]): number {
  return median(
    some.flatMap((one) =>
      others.flatMap((other) =>
        one.cpuRounds.map((micros, index) => micros / (other.cpuRounds[index] ?? Number.NaN)),
      ),
    ),
  );
}

async function round(contender: Contender, bench: Bench): Promise<Round> {
  const { leadInSeconds, roundSeconds, connections } = bench.settings;
  await loadFor(leadInSeconds, contender, bench);
  const before = await settledCpuMicros(contender.target);
  const result = await loadFor(roundSeconds, contender, bench);
  const used = (await settledCpuMicros(contender.target)) - before;
  // A round ends with one request under way on every connection: the server still works on it, so it counts.
  return { ...result, cpuMicros: used / (result.requests + connections) };
}

async function loadFor(
  seconds: number,
  contender: Contender,
  { settings, load }: Bench,
): Promise<LoadResult> {
  const { name, target, request } = contender;
  const result = await load.run({ url: target.url, request, connections: settings.connections, seconds });
  if (result.errors === 0 && result.requests > 0) return result;
  throw new Error(`${name} failed under load: ${result.errors} errors, ${result.requests} answers.`);
}

const QUIET_MS = 100;
// At most one tick of the kernel's clock: an idle server still wakes for its timers.
const QUIET_MICROS = 10_000;
const LONGEST_SETTLE_MS = 5000;

async function settledCpuMicros({ child }: HttpTarget): Promise<number> {
  let last = await cpuMicros(child);
  for (let waited = 0; waited < LONGEST_SETTLE_MS; waited += QUIET_MS) {
    await sleep(QUIET_MS);
    const micros = await cpuMicros(child);
    if (micros - last <= QUIET_MICROS) return micros;
    last = micros;
  }
  return last;
}

function medians(rounds: readonly Round[]): Figures {
  const of = (key: keyof Round): number => median(rounds.map((figures) => figures[key]));
  return {
    cpuMicros: of('cpuMicros'),
    cpuRounds: rounds.map(({ cpuMicros: micros }) => micros),
    perSecond: of('perSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
  };
}
