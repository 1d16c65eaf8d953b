import { hostname } from 'node:os';
import { readStates, type StatesReport } from '../../gateway/upstreams/states-file.ts';
import type { UpstreamState } from '../../gateway/upstreams/state.ts';
import { findPlaces, loadDeployment, type DeploymentFlags } from '../deployment.ts';
import { packageVersion } from '../package-version.ts';
import { standardOutput } from '../output.ts';
import { formatJson, formatTable, printable } from '../table.ts';

/** Options of `toolcrib upstreams`. */
export interface UpstreamsFlags extends DeploymentFlags {
  /** Whether each server is asked now, instead of a running gateway. */
  readonly connect?: boolean;
}

interface Report extends StatesReport {
  readonly by: 'gateway' | 'command';
}

// A program that is fetched at its first start takes its time.
const WITHIN_MS = 30_000;

/** `toolcrib upstreams`: the state of the servers behind a gateway, as the running gateway sees them or asked now. */
export async function upstreams(flags: UpstreamsFlags): Promise<void> {
  const reports = flags.connect ? [await askNow(flags.config)] : await fromGateways(flags.config);
  if (flags.json) standardOutput().write(formatJson({ reports }, 2));
  else standardOutput().write(forPeople(reports, Date.now()));
  if (flags.connect && reports.some(({ upstreams: all }) => all.some(isBad))) process.exitCode = 1;
}

async function fromGateways(config: string): Promise<Report[]> {
  const { database } = await findPlaces(config);
  return readStates(database).map((report) => ({ by: 'gateway', ...report }));
}

async function askNow(config: string): Promise<Report> {
  const { tryUpstreams } = await import('../../gateway/upstreams/try-upstreams.ts');
  const loaded = await loadDeployment(config);
  const { states } = await tryUpstreams(loaded, { withinMs: WITHIN_MS, version: packageVersion() });
  return { by: 'command', pid: process.pid, host: hostname(), at: Date.now(), upstreams: states };
}

function isBad({ state }: UpstreamState): boolean {
  return state === 'failed' || state === 'needs_sign_in';
}

function forPeople(reports: readonly Report[], now: number): string {
  if (reports.length === 0)
    return 'No gateway that runs here has other servers. Ask the servers themselves: toolcrib upstreams --connect\n';
  return reports.map((report) => `${heading(report, now)}\n${table(report, now)}`).join('\n');
}

function heading({ by, pid, host, at }: Report, now: number): string {
  if (by === 'command') return 'Asked now, with every account.';
  const where = host === hostname() ? '' : ` on ${printable(host)}`;
  return `As process ${pid}${where} saw them when something last changed, ${ago(at, now)}.`;
}

function table({ upstreams: states }: Report, now: number): string {
  const rows = states.map((one) => [
    one.name,
    one.degraded ? `${one.state}, degraded` : one.state,
    one.transport,
    one.revision ?? '-',
    String(one.connections),
    one.transport === 'stdio' ? String(one.processes) : '-',
    ...[one.tools, one.prompts, one.resources].map(String),
    one.listedAt === undefined ? '-' : ago(one.listedAt, now),
  ]);
  const columns = ['SERVER', 'STATE', 'TRANSPORT', 'REVISION', 'CONNECTIONS', 'PROCESSES'];
  const lists = ['TOOLS', 'PROMPTS', 'RESOURCES', 'LISTED'];
  const reasons = states.flatMap(({ name, reason, remedy = '' }) =>
    reason === undefined ? [] : [`${name}: ${printable(reason)} ${printable(remedy)}`.trimEnd()],
  );
  return [
    formatTable([...columns, ...lists], rows, 'There are no servers behind it; toolcrib add adds one.'),
    ...reasons.map((line) => `${line}\n`),
  ].join('');
}

function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  const [size, unit] = UNITS.find(([least]) => seconds >= least) ?? [1, 's'];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

const UNITS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
];
