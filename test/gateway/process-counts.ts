import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Whether a process runs, and is not only waiting to be noticed as dead. */
export function isAlive(pid: number): boolean {
  const state = standingOf(pid)?.state;
  return state !== undefined && state !== 'Z' && state !== 'X';
}

/** The children of a process, and how many of them are dead and were never noticed. */
export function childrenOf(parent: number): { readonly alive: number[]; readonly zombies: number } {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => standingOf(pid)?.parent === parent);
  const alive = children.filter(isAlive);
  return { alive, zombies: children.length - alive.length };
}

/** The words a process was started with. */
export function commandOf(pid: number): readonly string[] {
  try {
    return readFileSync(join('/proc', String(pid), 'cmdline'), 'utf8')
      .split('\0')
      .slice(0, -1);
  } catch {
    return [];
  }
}

function standingOf(pid: number): { readonly state: string; readonly parent: number } | undefined {
  try {
    const text = readFileSync(join('/proc', String(pid), 'stat'), 'latin1');
    // The name of the program comes before, in parentheses, and may contain both.
    const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ', 2);
    return { state: state!, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
