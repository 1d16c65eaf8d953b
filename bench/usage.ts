import type { ChildProcess } from 'node:child_process';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/** Whether the CPU of another process can be read without asking it. */
export const hasProc = process.platform === 'linux';

/** The CPU time that a process has used so far, in microseconds, all its threads together. */
export async function cpuMicros(child: ChildProcess): Promise<number> {
  if (hasProc) return procCpuMicros(child.pid);
  const reply = once(child, 'message');
  child.send('cpu');
  const [micros] = (await reply) as [number];
  return micros;
}

/** The memory of a process that is resident, in megabytes of 1,000,000 bytes. */
export function residentMb(child: ChildProcess): number {
  if (!hasProc) return (Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)])) * 1024) / 1e6;
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return (Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024) / 1e6;
}

// The kernel reports CPU time in ticks of 1/100 s on every architecture that Node runs on.
const MICROS_PER_TICK = 10_000;

function procCpuMicros(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command's name may hold spaces, so fields are counted from behind its closing parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK;
}
