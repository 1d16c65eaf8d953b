import { parseArgs } from 'node:util';
import { scenarios } from './scenarios.ts';
import type { Outcome, Scenario } from './scenario.ts';

const { values } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    only: { type: 'string' },
    seed: { type: 'string' },
    controls: { type: 'boolean', default: false },
  },
});
const seed = values.seed === undefined ? Date.now() % 1_000_000_000 : Number(values.seed);
const wanted = values.only?.toUpperCase().split(',');
const chosen = scenarios.filter(({ id }) => !wanted || wanted.includes(id));
const unknown = wanted?.filter((id) => !scenarios.some((scenario) => scenario.id === id)) ?? [];
if (!Number.isInteger(seed) || unknown.length > 0) {
  const ids = scenarios.map(({ id }) => id).join(', ');
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
process.exitCode = isMissing || results.some(({ outcome }) => outcome.failures.length > 0) ? 1 : 0;

async function attempt(scenario: Scenario, startedAt: number): Promise<Outcome> {
  const report = (line: string): void => {
    console.log(`  ${((performance.now() - startedAt) / 1000).toFixed(2).padStart(7)} s  ${line}`);
  };
  const options = { seed, counts: values.full ? ('full' as const) : ('short' as const), report };
  try {
    if (!values.controls) return await scenario.run(options);
    const { counts, failures, notRun } = await scenario.control(options);
    report(`the control found: ${failures.join('; ') || 'nothing'}`);
    const isBlind = failures.length === 0 && notRun === undefined;
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
