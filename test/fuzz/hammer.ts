import { Random, type Outcome } from '../faults/scenario.ts';
import type { FuzzCase, Problem, Step, Way } from './case.ts';
import { single } from './case.ts';
import { soundCall } from './messages.ts';
import { shrink } from './shrink.ts';
import { spread } from './verdict.ts';

/** Which cases are tried: `count` of those that follow from the seed, beginning with the one numbered `from`. */
export interface Cases {
  readonly seed: number;
  readonly from?: number;
  readonly count: number;
}

// Sessions are used up by the cases themselves: some are deleted, some give way to newer ones.
const RENEW_EVERY = 2_048;

/** How long something that fails is looked into. */
export interface Effort {
  /** After so many failures the rest is not tried. */
  readonly maxFailures: number;
  /** How long a case is shortened: a server that goes down has to be started again for every try. */
  readonly shortenMs: number;
}

const usual: Effort = { maxFailures: 3, shortenMs: 40_000 };

/** Tries mutated cases on an entry point; a failing case is isolated, shortened and described for a replay. */
export async function hammer(way: Way, { seed, from = 0, count }: Cases, effort = usual): Promise<Outcome> {
  const failures: string[] = [];
  let tried = 0;
  let slowestMs = 0;
  for (; tried < count && failures.length < effort.maxFailures; tried += way.atOnce) {
    if (tried % RENEW_EVERY < way.atOnce && tried > 0) await way.renew();
    const numbers = Array.from(
      { length: Math.min(way.atOnce, count - tried) },
      (_, index) => from + tried + index,
    );
    const cases = numbers.map((number) => way.make(randomOf(seed, number)));
    const startedAt = performance.now();
    const found = await Promise.all(cases.map((fuzzed) => way.attempt(fuzzed)));
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    const accidents = way.accidents();
    if (accidents.length === 0 && found.every(({ length }) => length === 0)) continue;
    failures.push(await explain(way, { seed, numbers, cases, found, accidents }, effort));
    await way.renew();
  }
  const sound = single(Buffer.from(JSON.stringify(soundCall.body)), soundCall.headers);
  const last = [...(await way.attempt(sound)), ...way.accidents()];
  if (last.length > 0) failures.push(`${way.name}: a good call afterwards: ${tell(last)}`);
  return {
    counts: `${Math.min(tried, count)} by ${way.name} (${spread()}; the slowest ${way.atOnce} took ${Math.round(slowestMs)} ms)`,
    failures,
  };
}

function randomOf(seed: number, number: number): Random {
  return new Random(seed ^ Math.imul(number + 1, 0x9e3779b1));
}

interface Group {
  readonly seed: number;
  readonly numbers: readonly number[];
  readonly cases: readonly FuzzCase[];
  readonly found: readonly (readonly Problem[])[];
  readonly accidents: readonly Problem[];
}

// Those that came back with a problem are the first suspects; when the server went down, all did.
async function explain(
  way: Way,
  { seed, numbers, cases, found, accidents }: Group,
  { shortenMs }: Effort,
): Promise<string> {
  const places = numbers.map((_, index) => index);
  const suspects = places.toSorted((a, b) => found[b]!.length - found[a]!.length);
  for (const index of suspects) {
    const [problem] = await alone(way, cases[index]!);
    if (!problem) continue;
    const short = await shorten(way, cases[index]!, { kind: problem.kind, shortenMs });
    return [
      `${way.name}: ${problem.kind}: ${problem.text}`,
      `  seed ${seed}, case ${numbers[index]}; again with: npm run faults -- --only R13 --seed ${seed} --case ${way.name}:${numbers[index]}`,
      `  shortened from ${sizeOf(cases[index]!)} to ${sizeOf(short)} bytes, ${short.ending}:`,
      ...short.steps.map((step) => `  ${show(step)}`),
    ].join('\n');
  }
  const [first, last] = [numbers[0], numbers.at(-1)];
  return `${way.name}: ${tell([...accidents, ...found.flat()])}; seed ${seed}, cases ${first} to ${last}, none of them alone`;
}

async function alone(way: Way, fuzzed: FuzzCase): Promise<Problem[]> {
  if (way.accidents().length > 0) await way.renew();
  const found = await way.attempt(fuzzed);
  // An unawaited failure appears a turn later.
  await new Promise((resolve) => setTimeout(resolve, 20));
  return [...way.accidents(), ...found];
}

async function shorten(
  way: Way,
  fuzzed: FuzzCase,
  { kind, shortenMs }: { readonly kind: string; readonly shortenMs: number },
): Promise<FuzzCase> {
  const until = performance.now() + shortenMs;
  const isSame = async (candidate: FuzzCase): Promise<boolean> =>
    performance.now() < until && (await alone(way, candidate)).some((problem) => problem.kind === kind);
  const steps = await shrink(
    fuzzed.steps,
    async (some) => some.length > 0 && isSame({ ...fuzzed, steps: some }),
    MAX_TRIES,
  );
  let short: FuzzCase = { ...fuzzed, steps };
  for (const index of short.steps.keys()) {
    const withBody = (bytes: readonly number[]): FuzzCase => ({
      ...short,
      steps: short.steps.with(index, { ...short.steps[index]!, body: Buffer.from(bytes) }),
    });
    const bytes = await shrink([...short.steps[index]!.body], (some) => isSame(withBody(some)), MAX_TRIES);
    short = withBody(bytes);
  }
  return short;
}

const MAX_TRIES = 200;

function sizeOf({ steps }: FuzzCase): number {
  return steps.reduce((sum, { body }) => sum + body.length, 0);
}

function show({ line = 'POST /mcp', headers, body, on = 0 }: Step): string {
  const fields = Object.entries(headers).map((field) => field.join(': '));
  const about = [`connection ${on}`, ...(line === '' ? [] : [line]), ...fields].join(', ');
  return `${about}: ${JSON.stringify(body.toString('latin1')).slice(0, 2_000)} (base64 ${body.toString('base64').slice(0, 2_000)})`;
}

function tell(problems: readonly Problem[]): string {
  return problems
    .slice(0, 3)
    .map(({ kind, text }) => `${kind}: ${text}`)
    .join('; ');
}
