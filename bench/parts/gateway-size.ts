import { readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Deployment, makeDeployment } from '../deployment.ts';
import { type Bench, cpuRatio, type Figures, measure } from '../measure.ts';
import { median } from '../median.ts';
import { count, figure, type PartResult } from '../report.ts';
import { type BenchRequest, callRequest, discoverRequest, listRequest, post, withKeys } from '../requests.ts';
import { type HttpTarget, withTargets } from '../target-process.ts';
import { cpuMicros, residentMb } from '../usage.ts';
import { verifyCall } from '../verify.ts';

/** Shows what many servers behind a gateway cost, used and unused. */
export async function gatewaySizePart(bench: Bench): Promise<PartResult> {
  const options = { tools: PER_SERVER, readOnly: true };
  return withTargets([{ name: 'upstream', file: 'toolcrib', options }], async ([upstream]) => {
    if (!upstream) throw new Error('The upstream was not started.');
    const [one, many, unused] = await Promise.all(
      [1, MANY, IDLE].map((size) => makeDeployment({ servers: serversAt(upstream.url, size) })),
    );
    if (!one || !many || !unused) throw new Error('Not every deployment was made.');
    const specs = [one, many, unused].map(({ config }, index) => ({ name: NAMES[index]!, config }));
    return withTargets(specs, (targets) => measureAll(targets, [one, many, unused], bench));
  });
}

const MANY = 100;
const PER_SERVER = 100;
const IDLE = 1_000;
const NAMES = [
  '1 server',
  `${MANY} servers with ${PER_SERVER} tools each`,
  `${count(IDLE)} servers, none used`,
];
const LISTS = 50;
const REQUESTS = 5_000;
const QUIET_SECONDS = 3;

function serversAt(url: string, size: number): Record<string, { url: string; trust: 'trusted' }> {
  return Object.fromEntries(
    Array.from({ length: size }, (_, index) => [`s${index}`, { url, trust: 'trusted' as const }]),
  );
}

async function measureAll(
  targets: readonly HttpTarget[],
  deployments: readonly Deployment[],
  bench: Bench,
): Promise<PartResult> {
  const [one, many, unused] = targets;
  if (!one || !many || !unused) throw new Error('Not every target was started.');
  const [ofOne, ofUnused] = [await quiet(one, deployments[0]!), await quiet(unused, deployments[2]!)];
  const echo = callRequest('echo', '2026-07-28');
  const calls = [echo, named(echo, 's0__echo'), echo].map((request, index) =>
    withKeys(request, deployments[index]!.keys),
  );
  const list = withKeys(listRequest(), deployments[1]!.keys);
  await post(many.url, list);
  await verifyCall(one, 'echo', calls[0]!);
  await verifyCall(many, 'echo', calls[1]!);
  const listMs = await timeOf(many.url, list);
  const [small, large] = await measure(
    [one, many].map((target, index) => ({ name: target.name, target, request: calls[index]! })),
    bench,
  );
  if (!small || !large) throw new Error('Not every call was measured.');
  return report({ small, large, listMs, ofOne, ofUnused });
}

interface Found {
  readonly small: Figures;
  readonly large: Figures;
  readonly listMs: number;
  readonly ofOne: Quiet;
  readonly ofUnused: Quiet;
}

function report({ small, large, listMs, ofOne, ofUnused }: Found): PartResult {
  return {
    title: '14. Many servers behind a gateway',
    about:
      `A gateway with every stage on; all entries lead to one server over HTTP. A list is the first page of \`tools/list\` from what is known, the median of ${LISTS}, sent one by one. ` +
      `What is unused is looked at for ${QUIET_SECONDS} seconds, after ${count(REQUESTS)} requests that need no tool: memory, sockets and CPU.`,
    table: {
      columns: ['Gateway', 'CPU µs a call', 'list ms', 'MB', 'sockets', 'idle CPU ms/s'],
      rows: [
        [NAMES[0]!, figure(small.cpuMicros), '', ...quietCells(ofOne)],
        [NAMES[1]!, figure(large.cpuMicros), figure(listMs), '', '', ''],
        [NAMES[2]!, '', '', ...quietCells(ofUnused)],
      ],
    },
    goals: [
      { what: 'a list from what is known', measured: listMs, bound: 'at most', goal: 5, unit: 'ms' },
      {
        what: `a call: ${NAMES[1]} ÷ 1 server`,
        measured: cpuRatio([large], [small]),
        bound: 'at most',
        goal: 1.15,
        unit: '×',
      },
      {
        what: `memory of ${count(IDLE)} unused servers`,
        measured: ofUnused.mb - ofOne.mb,
        bound: 'at most',
        goal: 15,
        unit: 'MB',
        beside: `${ofUnused.sockets - ofOne.sockets} more sockets`,
      },
    ],
  };
}

interface Quiet {
  readonly mb: number;
  readonly sockets: number;
  readonly cpuMs: number;
}

function quietCells({ mb, sockets, cpuMs }: Quiet): string[] {
  return [figure(mb), String(sockets), figure(cpuMs)];
}

function named({ headers, body }: BenchRequest, name: string): BenchRequest {
  return {
    headers: { ...headers, 'mcp-name': name },
    body: body.replace('"name":"echo"', `"name":${JSON.stringify(name)}`),
  };
}

async function timeOf(url: string, request: BenchRequest): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < LISTS; turn++) {
    const start = performance.now();
    const { status } = await post(url, request);
    if (status !== 200) throw new Error(`A list was answered with ${status}.`);
    times.push(performance.now() - start);
  }
  return median(times);
}

// What only the start left behind is gone once a server has answered for a while, so both do that first.
async function quiet({ child, url }: HttpTarget, { keys }: Deployment): Promise<Quiet> {
  const discover = withKeys(discoverRequest(), keys);
  for (let turn = 0; turn < REQUESTS; turn++) {
    const { status } = await post(url, discover);
    if (status !== 200) throw new Error(`A request was answered with ${status}.`);
  }
  const before = await cpuMicros(child);
  await sleep(QUIET_SECONDS * 1000);
  const used = (await cpuMicros(child)) - before;
  return { mb: residentMb(child), sockets: socketsOf(child.pid), cpuMs: used / 1000 / QUIET_SECONDS };
}

// Only Linux tells; elsewhere there is nothing to compare.
function socketsOf(pid: number | undefined): number {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).filter((name) => isSocket(`${folder}/${name}`)).length;
  } catch {
    return 0;
  }
}

function isSocket(file: string): boolean {
  try {
    return readlinkSync(file).startsWith('socket:');
  } catch {
    return false;
  }
}
