import { statSync } from 'node:fs';
import { basename, dirname, isAbsolute } from 'node:path';
import type { UpstreamEntry } from '../../config/servers.ts';
import type { Path } from '../../config/yaml-text.ts';
import { findProgram } from '../upstreams/command-line.ts';
import type { Conflict } from './config.ts';

type LocalEntry = Extract<UpstreamEntry, { readonly command: string }>;

/** Finds servers whose program another user could choose or replace. */
export function upstreamConflicts(servers: Readonly<Record<string, UpstreamEntry>>): Conflict[] {
  return Object.entries(servers).flatMap(([name, entry]) =>
    'command' in entry && !entry.disabled ? programConflicts(['mcpServers', name], entry) : [],
  );
}

const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'fish', 'cmd.exe', 'powershell', 'pwsh']);
const WORLD_WRITABLE = 0o002;
const STICKY = 0o1000;

function programConflicts(path: Path, { command, args, sandbox, limits }: LocalEntry): Conflict[] {
  const line = [...sandbox, command, ...args];
  const shell = line.findIndex((word) => SHELLS.has(basename(word)));
  if (shell >= 0 && line.slice(shell + 1).some((word) => /^-[a-z]*c$/i.test(word)))
    return [
      {
        path: [...path, 'command'],
        message: 'hands a line to a shell, which reads more into it than one program',
        remedy: 'name the program itself, with its arguments as a list',
        severity: 'error',
      },
    ];
  return [
    ...fileConflicts([...path, 'command'], command),
    ...(sandbox[0] === undefined ? [] : fileConflicts([...path, 'sandbox', 0], sandbox[0])),
    ...(Object.keys(limits).length === 0 ? [] : fileConflicts([...path, 'limits'], 'prlimit')),
  ];
}

function fileConflicts(path: Path, command: string): Conflict[] {
  if (command.includes('/') && !isAbsolute(command))
    return [
      {
        path,
        message: 'is a relative path, which depends on where the server is started',
        remedy: 'write the absolute path',
        severity: 'error',
      },
    ];
  const file = findProgram(command);
  if (file === undefined)
    return [
      {
        path,
        message: 'names a program that is not there',
        remedy: 'install it, or correct the path',
        severity: 'warning',
      },
    ];
  if (!isReplaceable(file)) return [];
  const message = 'names a program that every user of this machine can replace';
  return [{ path, message, remedy: 'take that permission away from others', severity: 'error' }];
}

// A file can be replaced by every user who may write it or its folder.
function isReplaceable(file: string): boolean {
  const [own, folder] = [file, dirname(file)].map((place) => statSync(place).mode);
  if ((own! & WORLD_WRITABLE) !== 0) return true;
  return (folder! & WORLD_WRITABLE) !== 0 && (folder! & STICKY) === 0;
}
