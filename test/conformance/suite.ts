import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { within } from '../within.ts';
import { startFixture, type Served } from './programs.ts';

/** One thing the suite looked at. */
export interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly description: string;
  readonly errorMessage?: string;
}

/** One scenario of the suite with everything it looked at. */
export interface Scenario {
  readonly name: string;
  readonly checks: readonly Check[];
}

/** One run of the suite against a fresh server. */
export interface Leg {
  readonly title: string;
  readonly scenarios: readonly Scenario[];
  /** The scenarios a revision requires, in a leg that runs its frozen set. */
  readonly required: readonly string[];
}

/** A scenario for clients, and the revision it is run for. */
export type ClientScenario = readonly [name: string, revision: string | undefined];

const REVISIONS = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];
const FROZEN = ['2025-11-25', '2026-07-28'];
// This looks at nothing: the suite has no test for task notifications yet.
const SKIPS = /^tasks-status-notifications$/;

const manifest = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
const { version, bin } = JSON.parse(await readFile(manifest, 'utf8'));

/** The version of the suite. */
export const suiteVersion: string = version;

/** What is run for a leg: its title, and the part of the suite. */
type Selection = readonly [title: string, ...flags: string[]];

// The sets of both wires.
const frozen: readonly Selection[] = FROZEN.map((revision) => [
  `required by ${revision}`,
  '--requirements',
  revision,
]);

// Extensions are on no revision's timeline; among the server suites only this one has the tasks scenarios.
const extensions: Selection = ['pending and extensions', '--suite', 'pending'];

/** Runs every leg, each against a fresh server. */
export function runSuite(): Promise<readonly Leg[]> {
  const whole = REVISIONS.map((revision): Selection => [
    `all of ${revision}`,
    '--suite',
    'all',
    '--spec-version',
    revision,
  ]);
  return inPairs([...frozen, extensions, ...whole], async (selection) => {
    const fixture = await startFixture();
    try {
      return await runLeg(fixture, selection);
    } finally {
      await fixture.stop();
    }
  });
}

/** Does the work for each item, two at a time: the suite mostly waits. */
export async function inPairs<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const waiting = [...items.entries()];
  const take = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) results[next[0]] = await work(next[1]);
  };
  await Promise.all([take(), take()]);
  return results;
}

/** Runs the sets of both wires against one server; the newer one has the scenarios of extensions too. */
export async function runWires(start: Promise<Served>): Promise<readonly Leg[]> {
  const served = await start;
  try {
    const legs: Leg[] = [];
    for (const selection of frozen) legs.push(await runLeg(served, selection));
    return legs;
  } finally {
    await served.stop();
  }
}

/** Runs one scenario against a server. */
export async function runScenario(start: Promise<Served>, name: string, revision: string): Promise<Scenario> {
  const served = await start;
  try {
    const leg = await runLeg(served, [name, '--scenario', name, '--spec-version', revision]);
    return leg.scenarios[0]!;
  } finally {
    await served.stop();
  }
}

/** What keeps a scenario from passing; a warning counts, and so does having looked at nothing. */
export function problemsOf({ name, checks }: Scenario): readonly string[] {
  const maySkip = SKIPS.test(name);
  const bad = checks.filter((check) => isBad(check) || (check.status === 'SKIPPED' && !maySkip));
  if (bad.length > 0) return bad.map((check) => describe(name, check));
  return maySkip || checks.some(({ status }) => status === 'SUCCESS') ? [] : [`${name}: nothing was checked`];
}

function isBad({ status }: Check): boolean {
  return status === 'FAILURE' || status === 'WARNING';
}

function describe(name: string, { id, status, description, errorMessage }: Check): string {
  return `${name}: ${id} ${status}: ${errorMessage ?? description}`;
}

/** Runs a part of the suite against a server. */
async function runLeg({ url }: Served, [title, ...flags]: Selection): Promise<Leg> {
  const output = await mkdtemp(join(tmpdir(), 'toolcrib-conformance-'));
  try {
    const baseline = join(output, 'empty.yml');
    // With a baseline, even an empty one, the suite's own verdict takes warnings into account.
    await writeFile(baseline, 'server: []\nclient: []\n');
    const results = join(output, 'results');
    const where = ['--url', url, '--expected-failures', baseline, '-o', results];
    const log = await runCommand(['server', ...where, ...flags]);
    const required = flags[0] === '--requirements' ? await listRequired(flags[1]!) : [];
    return { title, required, scenarios: await readScenarios(results, log) };
  } finally {
    await rm(output, { recursive: true });
  }
}

/** Runs the suite; its exit code is not used, because it leaves out what a revision does not require. */
async function runCommand(args: readonly string[]): Promise<string> {
  const hook = new URL('glob-hook.mjs', import.meta.url).href;
  const entry = join(dirname(manifest), bin.conformance);
  const child = spawn(process.execPath, ['--import', hook, entry, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const what = `the suite ends with ${args.join(' ')}`;
  return within(120_000, what, text(child.stdout)).finally(() => child.kill('SIGKILL'));
}

/** Every scenario for clients with each revision it is for; those of extensions are for none. */
export async function listClientScenarios(): Promise<readonly ClientScenario[]> {
  const listing = await runCommand(['list', '--client']);
  return [...listing.matchAll(/^ +- (\S+) \[([^\]]+)\]$/gm)].flatMap(([, name = '', revisions = '']) =>
    revisions.split(',').map((revision) => [name, revision === 'extension' ? undefined : revision] as const),
  );
}

async function listRequired(revision: string): Promise<readonly string[]> {
  const listing = await runCommand(['list', '--requirements', revision]);
  const servers = /^Server scenarios.*\n((?: +- .+\n)+)/m.exec(listing)?.[1] ?? '';
  return [...servers.matchAll(/- (\S+)/g)].map((match) => match[1]!);
}

async function readScenarios(results: string, log: string): Promise<readonly Scenario[]> {
  const headings = [...log.matchAll(/^=== Running scenario: (\S+) ===$/gm)];
  // One scenario alone has no heading.
  const alone = headings.length > 0 ? [] : log.matchAll(/^Running client scenario '(\S+)' against server/gm);
  const ran = [...headings, ...alone].map((match) => match[1]!);
  if (ran.length === 0) throw new Error(`The suite ran nothing:\n${log}`);
  const folders = await readdir(results);
  return Promise.all(
    ran.map(async (name) => {
      const own = folders.find((each) => /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(each)?.[1] === name);
      const checks =
        own && (await readFile(join(results, own, 'checks.json'), 'utf8').catch(() => undefined));
      return { name, checks: checks ? JSON.parse(checks) : [] };
    }),
  );
}
