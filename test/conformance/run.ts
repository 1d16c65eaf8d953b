import { readFile, writeFile } from 'node:fs/promises';
import { POLLING, startBehindGateway } from './gateway.ts';
import { inPairs, problemsOf, runSuite, runWires, suiteVersion, type Leg, type Scenario } from './suite.ts';

const ways = ['http', 'stdio'] as const;
const legs = await runSuite();
const behind = await inPairs(ways, async (way) =>
  (await runWires(startBehindGateway('toolcrib', way))).map((leg) => ({
    ...leg,
    title: `${leg.title} behind a gateway (${way})`,
    scenarios: leg.scenarios.filter(({ name }) => name !== POLLING),
  })),
);
const all = [...legs, ...behind.flat()];
console.table(all.map(rowOf));
const problems = all.flatMap(({ title, scenarios }) =>
  scenarios.flatMap(problemsOf).map((problem) => `${title}: ${problem}`),
);
for (const problem of problems) console.log(problem);
if (process.argv.includes('--write')) await writeScore();
if (problems.length > 0) process.exitCode = 1;

function rowOf({ title, scenarios, required }: Leg): Record<string, string | number> {
  const checks = scenarios.flatMap((scenario) => scenario.checks);
  const count = (status: string): number => checks.filter((check) => check.status === status).length;
  return {
    leg: title,
    scenarios: score(scenarios),
    required: required.length === 0 ? '' : score(scenarios.filter(({ name }) => required.includes(name))),
    passed: count('SUCCESS'),
    failed: count('FAILURE'),
    warnings: count('WARNING'),
    skipped: count('SKIPPED'),
  };
}

function score(scenarios: readonly Scenario[]): string {
  return `${scenarios.filter((scenario) => problemsOf(scenario).length === 0).length}/${scenarios.length}`;
}

async function writeScore(): Promise<void> {
  const readme = new URL('../../README.md', import.meta.url);
  const before = await readFile(readme, 'utf8');
  const after = before.replace(
    /(<!-- conformance:start -->)[^]*(<!-- conformance:end -->)/,
    (_all, start, end) => `${start}\n${scoreLine()}\n${end}`,
  );
  if (after === before && !before.includes(scoreLine()))
    throw new Error('README.md has no place for the score.');
  await writeFile(readme, after);
}

function scoreLine(): string {
  const alone = scoresOf(legs.filter(({ required }) => required.length > 0));
  const [first, ...others] = new Set(behind.map(scoresOf));
  const same = first === alone && others.length === 0;
  const through = same ? 'the same' : [first, ...others].join(' and ');
  return [
    `Official conformance suite ${suiteVersion}, warnings counted as failures:`,
    `${alone};`,
    `behind a gateway, over HTTP and stdio, ${through}.`,
  ].join('\n');
}

function scoresOf(run: readonly Leg[]): string {
  const required = run.map(
    (leg) => `${rowOf(leg)['required']} of ${/required by (\S+)/.exec(leg.title)![1]}`,
  );
  const { scenarios } = run.at(-1)!;
  const tasks = scenarios.filter(isTaskScenario);
  const skills = scenarios.filter(({ name }) => name.startsWith('sep-2640-'));
  return `${required.join(', ')}, ${score(tasks)} of the Tasks and ${score(skills)} of the Skills extension`;
}

// The suite has nothing to say on notifications yet, so that scenario is no merit.
function isTaskScenario({ name }: Scenario): boolean {
  return name.startsWith('tasks-') && name !== 'tasks-status-notifications';
}
