import { answersOf } from '../answers.ts';
import { type Deployment, makeDeployment } from '../deployment.ts';
import { type Bench, measure } from '../measure.ts';
import { median } from '../median.ts';
import { type Latencies, runPaced } from '../paced-load.ts';
import { progress } from '../progress.ts';
import { count, figure, type Goal, type PartResult } from '../report.ts';
import { type BenchRequest, callRequest, withKeys } from '../requests.ts';
import { type HttpTarget, type ServedSpec, type TargetSpec, withTargets } from '../target-process.ts';
import { verifyCall } from '../verify.ts';

/** Shows what governing and recording add to the time an answer takes while the server has room. */
export async function governedPacePart(bench: Bench): Promise<PartResult> {
  const governed = await governedSpecs();
  const { perSecond, lines } = await withTargets([PLAIN, ...governed.map(({ spec }) => spec)], (targets) => {
    const [plain, ...rest] = targets;
    if (!plain) throw new Error('Not every target was started.');
    return measureAll(
      plain,
      rest.map((target, index) => ({ target, request: governed[index]!.request })),
      bench,
    );
  });
  return {
    title: '10. Latency while there is room',
    about:
      'One `tools/call` of `echo` at a steady pace over 64 connections, sent by a generator of our own that counts in microseconds; an answer is timed from ' +
      'the moment its request was due. Half load is half of what the gateway with everything on answers at most, with effects or without. The two lines at ' +
      `${count(RECORD_PACE)} calls/s have every stage up to \`audit\`, whose rows go to SQLite, or nowhere.`,
    table: {
      columns: ['Target', 'calls/s', 'p50 ms', 'p99 ms'],
      rows: lines.map(({ name, pace, p50Ms, p99Ms }) => [name, ...[pace, p50Ms, p99Ms].map(figure)]),
    },
    goals: goalsOf(perSecond, lines),
  };
}

const RECORD_PACE = 2000;
const PLAIN: TargetSpec = { name: 'toolcrib, no stage', file: 'toolcrib', options: { tools: 10 } };

interface Governed {
  readonly spec: TargetSpec | ServedSpec;
  readonly request: BenchRequest;
}

async function governedSpecs(): Promise<Governed[]> {
  const echo = callRequest('echo', '2026-07-28');
  const make = (readOnly: boolean): Promise<Deployment> => makeDeployment({ tools: { tools: 10, readOnly } });
  const served = (name: string, { config, keys }: Deployment): Governed => ({
    spec: { name, config },
    request: withKeys(echo, keys),
  });
  const audited = (name: string, { folder, keys }: Deployment, journal?: 'memory'): Governed => ({
    spec: {
      name,
      file: 'governed-steps',
      options: { tools: 10, deployment: folder, ...(journal && { journal }) },
    },
    request: withKeys(echo, keys),
  });
  return [
    served('everything on', await make(true)),
    served('everything on, a tool with effects', await make(false)),
    audited('audit in SQLite', await make(true)),
    audited('audit to nowhere', await make(true), 'memory'),
  ];
}

interface Paced {
  readonly target: HttpTarget;
  readonly request: BenchRequest;
}

interface PacedLine extends Latencies {
  readonly name: string;
  readonly pace: number;
}

interface Measured {
  readonly perSecond: readonly number[];
  readonly lines: readonly PacedLine[];
}

async function measureAll(plain: HttpTarget, governed: readonly Paced[], bench: Bench): Promise<Measured> {
  const [everything, effects, recorded, unrecorded] = governed;
  if (!everything || !effects || !recorded || !unrecorded) throw new Error('Not every target was started.');
  for (const { target, request } of governed) await verifyCall(target, 'echo', request);
  const options = { tools: 10, answers: await answersOf(plain) };
  return withTargets([{ name: 'bare node:http', file: 'bare', options }], async ([bare]) => {
    if (!bare) throw new Error('The bare target was not started.');
    const most = await measure(
      [everything, effects].map(({ target, request }) => ({ name: target.name, target, request })),
      bench,
    );
    const [half = 0, halfWithEffects = 0] = most.map((figures) => Math.round(figures.perSecond / 2));
    const open = { target: bare, request: callRequest('echo', '2026-07-28') };
    const lines = [
      ...(await pacedLines([open, everything], half, bench)),
      ...(await pacedLines([effects], halfWithEffects, bench)),
      ...(await pacedLines([recorded, unrecorded], RECORD_PACE, bench)),
    ];
    return { perSecond: most.map((figures) => figures.perSecond), lines };
  });
}

async function pacedLines(all: readonly Paced[], pace: number, { settings }: Bench): Promise<PacedLine[]> {
  const { connections, rounds, roundSeconds, leadInSeconds } = settings;
  const seen = all.map(() => [] as Latencies[]);
  for (let round = 0; round < rounds; round++) {
    for (const [index, { target, request }] of all.entries()) {
      const load = { url: target.url, request, connections, perSecond: pace };
      await runPaced({ ...load, seconds: leadInSeconds });
      const latencies = await runPaced({ ...load, seconds: roundSeconds });
      progress(`round ${round + 1}/${rounds} ${target.name} at ${pace}/s: ${latencies.p50Ms.toFixed(3)} ms`);
      seen[index]?.push(latencies);
    }
  }
  return all.map(({ target }, index) => {
    const own = seen[index] ?? [];
    return {
      name: target.name,
      pace,
      requests: own.reduce((sum, { requests }) => sum + requests, 0),
      p50Ms: median(own.map(({ p50Ms }) => p50Ms)),
      p99Ms: median(own.map(({ p99Ms }) => p99Ms)),
    };
  });
}

function goalsOf([everything = 0, effects = 0]: readonly number[], lines: readonly PacedLine[]): Goal[] {
  const [bare, governed, withEffects, recorded, unrecorded] = lines;
  if (!bare || !governed || !withEffects || !recorded || !unrecorded)
    throw new Error('Not all was measured.');
  return [
    {
      what: 'p50 that everything on adds to bare, at half load',
      measured: governed.p50Ms - bare.p50Ms,
      bound: 'at most',
      goal: 1.5,
      unit: 'ms',
      beside: `${figure(withEffects.p50Ms - bare.p50Ms)} ms with effects`,
    },
    {
      what: 'audited calls, sustained',
      measured: everything,
      bound: 'at least',
      goal: 5000,
      unit: 'calls/s',
      beside: `${figure(effects)} calls/s with effects`,
    },
    {
      what: 'p50 that SQLite adds to a record that goes nowhere',
      measured: recorded.p50Ms - unrecorded.p50Ms,
      bound: 'at most',
      goal: 0.5,
      unit: 'ms',
    },
    {
      what: 'p99 that SQLite adds to a record that goes nowhere',
      measured: recorded.p99Ms - unrecorded.p99Ms,
      bound: 'at most',
      goal: 5,
      unit: 'ms',
    },
  ];
}
