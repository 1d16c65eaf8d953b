import { openSync, readdirSync, readFileSync } from 'node:fs';

/** What a program gets in the place of one descriptor. */
export type StdioEntry = 'ignore' | 'pipe' | 'ipc' | number;

/** Descriptors for a program, such that it gets none that this process was started with: what it would inherit leads nowhere. */
export function coverInherited(stdio: readonly StdioEntry[]): StdioEntry[] {
  const covered = [...stdio];
  // What this process opens itself is closed for programs, so what was there at the start is all there is.
  for (const descriptor of (inherited ??= findInherited())) {
    if (descriptor < stdio.length) continue;
    while (covered.length < descriptor) covered.push('ignore');
    // Beyond the first three, 'ignore' leaves what is there.
    covered[descriptor] = nowhere ??= openSync('/dev/null', 'r');
  }
  return covered;
}

let inherited: readonly number[] | undefined;
let nowhere: number | undefined;

const CLOSE_ON_EXEC = 0o2_000_000;

// Only Linux tells; macOS hands on nothing that is not asked for.
function findInherited(): number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter(isHandedOn)
      .toSorted((a, b) => a - b);
  } catch {
    return [];
  }
}

function isHandedOn(descriptor: number): boolean {
  try {
    const lines = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1').split('\n');
    const flags = lines.find((line) => line.startsWith('flags:'))?.slice('flags:'.length);
    return flags !== undefined && (Number.parseInt(flags.trim(), 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // The one the list was read through is closed already.
    return false;
  }
}
