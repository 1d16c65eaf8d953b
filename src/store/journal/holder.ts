import { readFileSync } from 'node:fs';

/** Whether the process behind a name still runs. */
export function isRunning(holder: string, own: string): boolean {
  if (holder === own) return true;
  const pid = Number(holder.split('.')[0]);
  // Our own id under another name is that of somebody before us.
  if (!Number.isInteger(pid) || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !isZombie(pid);
}

// A process that was killed keeps its number until its parent takes note, which in many containers nobody ever does.
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The state comes after the name, which is in parentheses and may hold some itself.
    return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    // Only Linux tells.
    return false;
  }
}
