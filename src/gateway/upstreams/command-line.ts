import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { UpstreamEntry } from '../../config/servers.ts';

/** An upstream that is a program. */
export type LocalEntry = Extract<UpstreamEntry, { readonly command: string }>;

/** The command line for an entry: limits first, then the sandbox, then the program. */
export function commandLine(entry: LocalEntry): readonly [string, ...string[]] {
  const { command, args, sandbox, limits } = entry;
  const flags = Object.entries(limits).flatMap(([name, value]) =>
    value === undefined ? [] : [LIMITS[name as keyof typeof limits](value)],
  );
  const inner = [...sandbox, command, ...args];
  const [first, ...rest] = flags.length > 0 ? ['prlimit', ...flags, '--', ...inner] : inner;
  return [findProgram(first!) ?? first!, ...rest];
}

/** The file a program is started from: an absolute path as it is, a bare name where `PATH` has it. */
export function findProgram(command: string): string | undefined {
  if (isAbsolute(command)) return isProgram(command) ? command : undefined;
  if (command.includes('/')) return undefined;
  // Folders that are not absolute would depend on where the server was started.
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, command)).find(isProgram);
}

const LIMITS: Readonly<Record<keyof LocalEntry['limits'], (value: number) => string>> = {
  memoryMb: (value) => `--as=${value * 1_048_576}`,
  cpuSeconds: (value) => `--cpu=${value}`,
  openFiles: (value) => `--nofile=${value}`,
  processes: (value) => `--nproc=${value}`,
};

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
