import type { ChildProcess } from 'node:child_process';
import { answersOf } from '../answers.ts';
import type { Bench } from '../measure.ts';
import { median } from '../median.ts';
import { stopProcess } from '../process.ts';
import { progress } from '../progress.ts';
import { count, figure, type Goal, type PartResult } from '../report.ts';
import type { Settings } from '../settings.ts';
import { callOnce, pipeline } from '../stdio-load.ts';
import { startStdioTarget, type TargetSpec, withTargets } from '../target-process.ts';
import { cpuMicros } from '../usage.ts';
import { verifyResult } from '../verify.ts';

/** Compares pipelined calls over standard input and output with a loop that parses and writes the same lines. */
export async function stdioPart({ settings }: Bench): Promise<PartResult> {
  const answers = await withTargets(
    [{ name: 'toolcrib', file: 'toolcrib', options: { tools: 10 } }],
    async ([toolcrib]) => {
      if (!toolcrib) throw new Error('toolcrib was not started.');
      return answersOf(toolcrib);
    },
  );
  const children = specsWith(answers).map((spec) => ({ name: spec.name, child: startStdioTarget(spec) }));
  try {
    await verify(children);
    return resultOf(await rounds(children, settings), settings);
  } finally {
    await Promise.all(children.map(({ child }) => stopProcess(child)));
  }
}

interface StdioTarget {
  readonly name: string;
  readonly child: ChildProcess;
}

interface StdioFigures {
  readonly name: string;
  readonly cpuMicros: number;
  readonly perSecond: number;
}

function specsWith(answers: string): TargetSpec[] {
  return [
    { name: 'bare, a write per answer', file: 'bare-stdio', options: { tools: 10, answers, write: 'line' } },
    {
      name: 'bare, a write per chunk read',
      file: 'bare-stdio',
      options: { tools: 10, answers, write: 'chunk' },
    },
    { name: 'toolcrib', file: 'toolcrib-stdio', options: { tools: 10 } },
  ];
}

async function verify(targets: readonly StdioTarget[]): Promise<void> {
  const lines = await Promise.all(targets.map(({ child }) => callOnce(child)));
  for (const [index, line] of lines.entries()) {
    verifyResult(targets[index]?.name ?? '', 'echo', line);
    if (line !== lines[0])
      throw new Error(`The bare loop does not write what toolcrib writes:\n${lines[0]}${line}`);
  }
}

async function rounds(targets: readonly StdioTarget[], settings: Settings): Promise<StdioFigures[]> {
  const load = { calls: settings.stdioCalls, window: settings.stdioWindow };
  for (const { name, child } of targets) await pipeline(name, child, load);
  const seen = targets.map(({ name }) => ({ name, cpu: [] as number[], rate: [] as number[] }));
  for (let round = 0; round < settings.rounds; round++) {
    for (const [index, { name, child }] of targets.entries()) {
      const before = await cpuMicros(child);
      const seconds = await pipeline(name, child, load);
      const micros = ((await cpuMicros(child)) - before) / load.calls;
      progress(`round ${round + 1}/${settings.rounds} ${name}: ${micros.toFixed(1)} µs`);
      seen[index]?.cpu.push(micros);
      seen[index]?.rate.push(load.calls / seconds);
    }
  }
  return seen.map(({ name, cpu, rate }) => ({ name, cpuMicros: median(cpu), perSecond: median(rate) }));
}

function resultOf(figures: readonly StdioFigures[], { stdioCalls, stdioWindow }: Settings): PartResult {
  const [perLine, perChunk, ours] = figures;
  if (!perLine || !perChunk || !ours) throw new Error('Not every stdio target was measured.');
  return {
    title: '4. stdio',
    about: `${count(stdioCalls)} calls of \`echo\` a round, ${stdioWindow} under way at once. The bare loops split lines, parse each and write the same JSON.`,
    table: {
      columns: ['Target', 'CPU µs', 'calls/s'],
      rows: figures.map(({ name, cpuMicros: micros, perSecond }) => [
        name,
        figure(micros),
        figure(perSecond),
      ]),
    },
    goals: [goalOf(perLine, perChunk, ours)],
  };
}

function goalOf(perLine: StdioFigures, perChunk: StdioFigures, ours: StdioFigures): Goal {
  const byRate = figure(ours.perSecond / perLine.perSecond);
  const byChunk = figure(perChunk.cpuMicros / ours.cpuMicros);
  return {
    what: `${perLine.name} ÷ toolcrib`,
    measured: perLine.cpuMicros / ours.cpuMicros,
    bound: 'at least',
    goal: 0.5,
    unit: '×',
    beside: `${byRate} × by calls/s; ${byChunk} × with a write per chunk`,
  };
}
