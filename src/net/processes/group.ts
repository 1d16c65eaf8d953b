import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../base/clock.ts';
import { Guardian } from './guardian.ts';

/** How long programs may take to end after SIGTERM. */
export const GRACE_MS = 1_000;

/**
 * Ends the processes of a group, first with SIGTERM, then with SIGKILL; also what is left if its first process is gone.
 */
export async function endGroup(id: number): Promise<void> {
  if (!send(id, 'SIGTERM') || (await isGone(id))) return;
  send(id, 'SIGKILL');
  await isGone(id);
}

/** Ends a group with this process at the latest, even if that is killed; the returned function cancels it. */
export function endWithThisProcess(id: number): () => void {
  if (underWay.size === 0) process.on('exit', endAll);
  underWay.add(id);
  guardian.add(id);
  return () => {
    underWay.delete(id);
    guardian.remove(id);
    if (underWay.size === 0) process.off('exit', endAll);
  };
}

const underWay = new Set<number>();
const guardian = new Guardian();

function endAll(): void {
  for (const id of underWay) send(id, 'SIGKILL');
}

async function isGone(id: number): Promise<boolean> {
  const until = systemClock.ticks() + GRACE_MS;
  for (let waitMs = 1; systemClock.ticks() < until; waitMs = Math.min(2 * waitMs, 50)) {
    if (!send(id, 0) || areAllDead(id)) return true;
    await pause(waitMs);
  }
  return false;
}

function send(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}

// Dead processes stay in their group until their parent reaps them, which may never happen in a container.
function areAllDead(group: number): boolean {
  const members = processes()
    .map(standingOf)
    .filter((standing) => standing.group === String(group));
  const states = members.map(({ state }) => state);
  return states.includes('Z') && states.every((state) => state === 'Z' || state === 'X');
}

// Only Linux has /proc; elsewhere the wait is a little longer.
function processes(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function standingOf(pid: string): Readonly<Record<'state' | 'group', string | undefined>> {
  const text = statOf(pid);
  // The name of the program comes before, in parentheses, and may contain spaces and parentheses.
  const [state, , group] = text.slice(text.lastIndexOf(')') + 2).split(' ', 3);
  return { state, group };
}

function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return '';
  }
}
