import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';

/** Starts a process that ends, at the latest, when the bench does. */
export function startProcess(command: string, args: readonly string[], stdio: StdioOptions): ChildProcess {
  const child = spawn(command, args, { stdio, env: { ...process.env, NODE_ENV: 'production' } });
  running.add(child);
  child.once('exit', () => running.delete(child));
  child.once('error', () => running.delete(child));
  return child;
}

/** Ends a process and waits until it is gone. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Ends every process still running, whichever way the bench ends. */
export function stopProcessesOnExit(): void {
  process.on('exit', () => {
    for (const child of running) child.kill('SIGKILL');
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
}

const running = new Set<ChildProcess>();
