import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { bareLike } from '../answers.ts';
import { type Deployment, makeDeployment } from '../deployment.ts';
import { countInstalledPackages } from '../machine.ts';
import type { Bench } from '../measure.ts';
import { median } from '../median.ts';
import { startProcess, stopProcess } from '../process.ts';
import { progress } from '../progress.ts';
import { figure, type Goal, type PartResult } from '../report.ts';
import { type BenchRequest, callRequest, pingRequest, post, withKeys } from '../requests.ts';
import {
  type HttpTarget,
  startCommand,
  startHttpTarget,
  type TargetSpec,
  withTargets,
} from '../target-process.ts';
import { residentMb } from '../usage.ts';
import { verifyCall } from '../verify.ts';

/** Measures the time to the first answer, the memory of an idle server and what an installation brings along. */
export async function startPart({ settings }: Bench): Promise<PartResult> {
  const bare = await withTargets([toolcribSpec], async ([toolcrib]) => {
    if (!toolcrib) throw new Error('toolcrib was not started.');
    return bareLike(toolcrib);
  });
  const specs = [bare, toolcribSpec, { name: 'official SDK v2', file: 'sdk', options: { tools: 10 } }];
  const node = { name: 'node -e 0', samples: [] as Sample[] };
  const starts = [...specs.map(startOf), ...commandStarts(await makeDeployment({ rules: 5 }))];
  const servers = starts.map((start) => ({ name: start.name, start, samples: [] as Sample[] }));
  for (let run = 0; run < settings.startRuns; run++) {
    node.samples.push({ startMs: await emptyProcessMs(), idleMb: await idleProcessMb() });
    for (const { start, samples } of servers) samples.push(await serverSample(start));
    progress(`start ${run + 1}/${settings.startRuns}`);
  }
  return resultOf([node, ...servers], settings.startRuns);
}

/** A way to start a server, and to see that it answers. */
interface Start {
  readonly name: string;
  readonly begin: () => Promise<HttpTarget>;
  readonly verify: (target: HttpTarget) => Promise<void>;
}

function startOf(spec: TargetSpec): Start {
  return {
    name: spec.name,
    begin: () => startHttpTarget(spec),
    verify: async (target) => void (await verifyCall(target, 'echo', callRequest('echo', '2026-07-28'))),
  };
}

const GOVERNED = 'toolcrib serve, everything on, ready';

function commandStarts({ config, keys }: Deployment): Start[] {
  const ping = pingRequest();
  const start = (name: string, args: readonly string[], request: BenchRequest): Start => ({
    name,
    begin: () => startCommand(name, ['serve', '--listen', '127.0.0.1:0', ...args]),
    verify: (target) => verifyPing(target, request),
  });
  const governed = start('toolcrib serve, everything on', ['--config', config], withKeys(ping, keys));
  return [
    start('toolcrib serve, without a file', [], ping),
    { ...governed, name: GOVERNED, verify: verifyReady },
    governed,
  ];
}

async function verifyReady({ name, url }: HttpTarget): Promise<void> {
  const { status } = await fetch(new URL('/readyz', url));
  if (status !== 200) throw new Error(`${name} is not ready: ${status}.`);
}

async function verifyPing({ name, url }: HttpTarget, request: BenchRequest): Promise<void> {
  const { status, body } = await post(url, request);
  if (status !== 200 || !body.includes('pong')) throw new Error(`${name} answered wrongly: ${body}`);
}

const toolcribSpec: TargetSpec = { name: 'toolcrib', file: 'toolcrib', options: { tools: 10 } };

// Long enough for what a server does right after its first answer to be over.
const IDLE_MS = 300;

interface Sample {
  readonly startMs: number;
  readonly idleMb: number;
}

interface Samples {
  readonly name: string;
  readonly samples: readonly Sample[];
}

async function emptyProcessMs(): Promise<number> {
  const start = performance.now();
  await once(startProcess(process.execPath, ['-e', '0'], 'ignore'), 'exit');
  return performance.now() - start;
}

async function idleProcessMb(): Promise<number> {
  const child = startProcess(process.execPath, ['-e', 'setInterval(() => {}, 1e9)'], 'ignore');
  await sleep(IDLE_MS);
  const idleMb = residentMb(child);
  await stopProcess(child);
  return idleMb;
}

async function serverSample({ begin, verify }: Start): Promise<Sample> {
  const start = performance.now();
  const target = await begin();
  await verify(target);
  const startMs = performance.now() - start;
  await sleep(IDLE_MS);
  const idleMb = residentMb(target.child);
  await stopProcess(target.child);
  return { startMs, idleMb };
}

function resultOf(all: readonly Samples[], runs: number): PartResult {
  const medians = all.map(({ name, samples }) => ({
    name,
    startMs: median(samples.map(({ startMs }) => startMs)),
    idleMb: median(samples.map(({ idleMb }) => idleMb)),
  }));
  const [node, , ours] = medians;
  const governed = medians.find(({ name }) => name === GOVERNED);
  if (!node || !ours || !governed) throw new Error('Not every start was measured.');
  return {
    title: '5. Start, memory and installation',
    about:
      `Medians of ${runs} starts. The time runs from spawning the process to its first correct answer over HTTP, for \`node -e 0\` to its end. ` +
      'Memory is what is resident after that call. `toolcrib serve` has the ready-made tools; without a file it keeps its record in memory, with ' +
      'everything on it has API keys, five access rules without conditions and an SQLite store that exists already; *ready* is when `/readyz` says so, before a first call has loaded what checks its arguments.',
    table: {
      columns: ['Process', 'start ms', '÷ node', 'idle MB', 'above node MB'],
      rows: medians.map(({ name, startMs, idleMb }) => [
        name,
        ...[startMs, startMs / node.startMs, idleMb, idleMb - node.idleMb].map(figure),
      ]),
    },
    goals: [...goalsOf(node, ours), ...governedGoals(node, governed)],
  };
}

function goalsOf(node: Sample, ours: Sample): Goal[] {
  return [
    {
      what: 'start to first answer ÷ node -e 0',
      measured: ours.startMs / node.startMs,
      bound: 'at most',
      goal: 2.5,
      unit: '×',
    },
    {
      what: 'idle memory above an idle node',
      measured: ours.idleMb - node.idleMb,
      bound: 'at most',
      goal: 45,
      unit: 'MB',
    },
    {
      what: 'npm ci --omit=dev',
      measured: countInstalledPackages(),
      bound: 'at most',
      goal: 15,
      unit: 'packages',
    },
  ];
}

function governedGoals(node: Sample, governed: Sample): Goal[] {
  return [
    {
      what: 'everything on: start to ready ÷ node -e 0',
      measured: governed.startMs / node.startMs,
      bound: 'at most',
      goal: 3,
      unit: '×',
    },
    {
      what: 'everything on: idle memory above an idle node',
      measured: governed.idleMb - node.idleMb,
      bound: 'at most',
      goal: 70,
      unit: 'MB',
    },
  ];
}
