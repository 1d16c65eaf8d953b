import { openSync, readdirSync, readFileSync } from 'node:fs';

/** What a program gets as one descriptor. */
export type StdioEntry = 'ignore' | 'pipe' | 'ipc' | number;

/** Descriptors for a program, with every descriptor this process itself inherited replaced by /dev/null. */
export function coverInherited(stdio: readonly StdioEntry[]): StdioEntry[] {
  const covered = [...stdio];
  // Descriptors this process opens are closed on exec, so only those it inherited remain.
  for (const descriptor of (inherited ??= findInherited())) {
    if (descriptor < stdio.length) continue;
    while (covered.length < descriptor) covered.push('ignore');
    // Beyond the first three, 'ignore' would leave the descriptor open.
    covered[descriptor] = nowhere ??= openSync('/dev/null', 'r');
  }
  return covered;
}

let inherited: readonly number[] | undefined;
let nowhere: number | undefined;

const CLOSE_ON_EXEC = 0o2_000_000;

// Only Linux has /proc; macOS passes on only what is asked for.
function findInherited(): number[] {
  return (unlessAbsent(() => readdirSync('/proc/self/fd')) ?? [])
    .map(Number)
    .filter(isHandedOn)
    .toSorted((a, b) => a - b);
}

function isHandedOn(descriptor: number): boolean {
  // The descriptor used to read the list is closed already.
  const text = unlessAbsent(() => readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'));
  const flags = text?.split('\n').find((line) => line.startsWith('flags:'));
  if (flags === undefined) return false;
  return (Number.parseInt(flags.slice('flags:'.length).trim(), 8) & CLOSE_ON_EXEC) === 0;
}

// Other errors, such as running out of descriptors, must not be read as an empty list.
function unlessAbsent<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
