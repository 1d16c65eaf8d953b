import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectFolder } from '../machine.ts';
import { startProcess } from '../process.ts';
import { progress } from '../progress.ts';
import { figure, type Goal } from '../report.ts';
import { echoText } from '../requests.ts';
import { hasProc } from '../usage.ts';

const RUNS = 20;

/** Measures the CPU time of one `toolcrib call` from its start to its end, beside that of an empty process. */
export async function startGoals(url: string): Promise<Goal[]> {
  if (!hasProc) return [];
  const command = join(projectFolder, 'dist', 'cli', 'main.js');
  const byHand = fileURLToPath(new URL('../clients/round-trips.js', import.meta.url));
  const kinds = {
    empty: ['-e', '0'],
    trips: [byHand, url],
    call: [command, 'call', url, 'echo', `text=${echoText}`],
  };
  const spent = { empty: 0, trips: 0, call: 0 };
  for (let run = 0; run < RUNS; run++) {
    for (const kind of ['empty', 'trips', 'call'] as const) spent[kind] += await cpuOf(kinds[kind]);
    progress(`start of the client ${run + 1}/${RUNS}`);
  }
  const [empty, trips, call] = [spent.empty / RUNS, spent.trips / RUNS, spent.call / RUNS];
  const parts = `${figure(call)} ms; node -e 0 ${figure(empty)} ms; with the same requests ${figure(trips)} ms`;
  return [
    {
      what: 'toolcrib call without its round trips ÷ node -e 0',
      measured: (call - (trips - empty)) / empty,
      bound: 'at most',
      goal: 3,
      unit: '×',
      beside: parts,
    },
  ];
}

async function cpuOf(args: readonly string[]): Promise<number> {
  const before = childrenMs();
  const [code] = (await once(startProcess(process.execPath, args, 'ignore'), 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}.`);
  return childrenMs() - before;
}

// What processes used that have ended, in ticks of 1/100 s: the sum of many is exact enough.
function childrenMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}
