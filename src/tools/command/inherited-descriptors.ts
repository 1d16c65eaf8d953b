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
  return (unlessAbsent(() => readdirSync('/proc/self/fd')) ?? [])
    .map(Number)
    .filter(isHandedOn)
    .toSorted((a, b) => a - b);
}

function isHandedOn(descriptor: number): boolean {
  // The one the list was read through is closed already.
  const text = unlessAbsent(() => readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'));
  const flags = text?.split('\n').find((line) => line.startsWith('flags:'));
  if (flags === undefined) return false;
  return (Number.parseInt(flags.slice('flags:'.length).trim(), 8) & CLOSE_ON_EXEC) === 0;
}

// What cannot be read for another reason, such as that descriptors have run out, must not pass for there being none.
function unlessAbsent<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
