import { parseArgs } from 'node:util';
import { scenarios } from './scenarios.ts';
import { findings, type Outcome, type Scenario } from './scenario.ts';
import { within } from '../within.ts';

const ids = scenarios.map(({ id }) => id).join(', ');
const help = `npm run faults [-- options]

Breaks a running server on purpose, on 127.0.0.1 only, and checks that what it promises still holds.

  --full        the full counts, more than half an hour; short ones unless set
  --only IDS    some of ${ids}
  --seed N      repeats the choices of a run before
  --case W:N    one case of R13, as a failure names it
  --minutes N   how long SOAK takes
  --phases A,B  some of what the hostile tenant of SOAK does
  --controls    runs each check with the defence off: it must find something
  --help        shows this text
`;

const values = readOptions();
const seed = values.seed === undefined ? Date.now() % 1_000_000_000 : Number(values.seed);
const wanted = values.only?.toUpperCase().split(',');
const chosen = scenarios.filter(({ id }) => !wanted || wanted.includes(id));
const unknown = wanted?.filter((id) => !scenarios.some((scenario) => scenario.id === id)) ?? [];
if (!Number.isInteger(seed) || unknown.length > 0) {
  console.error(`--seed takes a whole number, and --only takes some of ${ids}.`);
  process.exit(2);
}

const results: { readonly scenario: Scenario; readonly outcome: Outcome; readonly seconds: number }[] = [];
for (const scenario of chosen) {
  console.log(`\n${scenario.id} ${scenario.title} (seed ${seed})`);
  const startedAt = performance.now();
  const outcome = await attempt(scenario, startedAt);
  results.push({ scenario, outcome, seconds: (performance.now() - startedAt) / 1000 });
  for (const failure of outcome.failures) console.log(`  FAILED ${failure}`);
}

console.log(
  `\nseed ${seed}; repeat one with: npm run faults -- --only ID --seed ${seed}${values.full ? ' --full' : ''}\n`,
);
for (const { scenario, outcome, seconds } of results) {
  const verdict =
    outcome.notRun === undefined ? (outcome.failures.length === 0 ? 'held' : 'BROKEN') : 'not run';
  console.log(
    `${scenario.id.padEnd(4)} ${verdict.padEnd(8)} ${seconds.toFixed(1).padStart(6)} s  ${scenario.title}: ${outcome.notRun ?? outcome.counts}`,
  );
}
const isMissing =
  process.env['TOOLCRIB_REQUIRE'] === 'all' && results.some(({ outcome }) => outcome.notRun !== undefined);
// Leftovers of a failed scenario do not keep this process running.
process.exit(isMissing || results.some(({ outcome }) => outcome.failures.length > 0) ? 1 : 0);

async function attempt(scenario: Scenario, startedAt: number): Promise<Outcome> {
  const report = (line: string): void => {
    console.log(`  ${((performance.now() - startedAt) / 1000).toFixed(2).padStart(7)} s  ${line}`);
  };
  const options = {
    seed,
    counts: values.full ? ('full' as const) : ('short' as const),
    report,
    ...(values.case !== undefined && { only: values.case }),
    ...(values.minutes !== undefined && { minutes: Number(values.minutes) }),
    ...(values.phases !== undefined && { phases: values.phases.split(',') }),
  };
  try {
    const what = `${scenario.id} ends, with seed ${seed}`;
    if (!values.controls) return await within(limitMs(), what, scenario.run(options));
    const outcome = await within(limitMs(), what, scenario.control(options));
    const { counts, notRun } = outcome;
    const found = findings(outcome);
    report(`the control found: ${found.join('; ') || 'nothing'}`);
    const isBlind = found.length === 0 && notRun === undefined;
    return {
      counts,
      failures: isBlind ? ['the check finds nothing with the defence off'] : [],
      ...(notRun !== undefined && { notRun }),
    };
  } catch (error) {
    return {
      counts: '',
      failures: [error instanceof Error ? (error.stack ?? error.message) : String(error)],
    };
  }
}

// In full the longest takes hours.
function limitMs(): number {
  return (values.full ? 6 * 60 : 15 + Number(values.minutes ?? 0)) * 60_000;
}

interface Options {
  readonly full: boolean;
  readonly controls: boolean;
  readonly only?: string;
  readonly seed?: string;
  readonly case?: string;
  readonly minutes?: string;
  readonly phases?: string;
}

function readOptions(): Options {
  try {
    const { values: given } = parseArgs({
      options: {
        full: { type: 'boolean', default: false },
        only: { type: 'string' },
        seed: { type: 'string' },
        case: { type: 'string' },
        minutes: { type: 'string' },
        phases: { type: 'string' },
        controls: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (!given.help) return given;
    console.log(help);
    process.exit(0);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`);
    process.exit(2);
  }
}
