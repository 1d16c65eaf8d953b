import { readFileSync } from 'node:fs';

/** Whether the process with this name still runs. */
export function isRunning(holder: string, own: string): boolean {
  if (holder === own) return true;
  const pid = Number(holder.split('.')[0]);
  // Our own process id under another name belonged to an earlier process.
  if (!Number.isInteger(pid) || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !isZombie(pid);
}

// A killed process keeps its id until its parent reaps it, which never happens in many containers.
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The state follows the name, which is in parentheses and may contain parentheses.
    return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    // Only Linux has /proc.
    return false;
  }
}
