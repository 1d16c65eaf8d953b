import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findLoadGenerator } from './find-load-generator.ts';
import { describeMachine, projectFolder } from './machine.ts';
import type { Bench } from './measure.ts';
import { helpText, parseOptions, type RunOptions } from './options.ts';
import { parts } from './parts.ts';
import { stopProcessesOnExit } from './process.ts';
import { progress } from './progress.ts';
import { partToMarkdown } from './report.ts';
import { fullRun, quickRun } from './settings.ts';

const partNames = Object.keys(parts);

const intro =
  'Written by `npm run bench` in one run on one machine. The figure to look at is the CPU time of the server process for one request: ' +
  'it depends less than requests per second on what else the machine is doing. How two compare is the median over the rounds, each compared with itself.';

try {
  const options = parseOptions(process.argv.slice(2), partNames);
  if (options.help) process.stdout.write(helpText(partNames));
  else await run(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function run({ quick, only }: RunOptions): Promise<void> {
  stopProcessesOnExit();
  const bench: Bench = { settings: quick ? quickRun : fullRun, load: findLoadGenerator() };
  const report = [`# Benchmark results\n`, `${intro}\n`, `${describeMachine(bench.load, bench.settings)}\n`];
  process.stdout.write(`${report.at(-1)}\n`);
  for (const name of partNames.filter((part) => only.includes(part))) {
    progress(`part: ${name}`);
    const section = partToMarkdown(await runPart(name, bench));
    process.stdout.write(`\n${section}\n`);
    report.push(section);
  }
  if (quick || partNames.some((name) => !only.includes(name))) return;
  const file = join(projectFolder, 'bench', 'RESULTS.md');
  writeFileSync(file, report.join('\n'));
  progress(`written to ${file}`);
}

async function runPart(name: string, bench: Bench): ReturnType<NonNullable<(typeof parts)[string]>> {
  const part = parts[name];
  if (part === undefined) throw new Error(`No part is called ${name}.`);
  return part(bench);
}
