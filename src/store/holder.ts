/** Whether the process behind a name still runs. */
export function isRunning(holder: string, own: string): boolean {
  if (holder === own) return true;
  const pid = Number(holder.split('.')[0]);
  // Our own id under another name is that of somebody before us.
  if (!Number.isInteger(pid) || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
