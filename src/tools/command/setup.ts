import { accessSync, constants, readFileSync, realpathSync, statSync, type Stats } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { createTenantFolders } from '../files/tenant-folders.ts';

const SHELLS: ReadonlySet<string> = new Set([
  'ash',
  'bash',
  'bash-static',
  'busybox',
  'csh',
  'dash',
  'fish',
  'ksh',
  'ksh93',
  'lksh',
  'mksh',
  'nu',
  'posh',
  'pwsh',
  'rbash',
  'sash',
  'sh',
  'tcsh',
  'toybox',
  'yash',
  'zsh',
]);

/** Refuses a program that is missing, cannot be run, is writable by everyone, or is a shell. */
export function checkProgram(name: string, file: string): void {
  const wrong = (what: string): ToolcribError =>
    new ToolcribError('invalid_setup', `commands.${name}.file ${what}`);
  if (!isAbsolute(file)) throw wrong('must be an absolute path, such as /usr/bin/wc.');
  const stats = statOf(file);
  if (!stats?.isFile()) throw wrong('names no file; check the path.');
  if (!isExecutable(file)) throw wrong('may not be executed; give it that permission (chmod +x).');
  if ((stats.mode & 0o002) !== 0)
    throw wrong('can be written by everybody on this machine; take that permission away (chmod o-w).');
  if (isShell(file, stats))
    throw wrong(
      'is a shell, which would run what the model writes; name the program itself, or a script of yours.',
    );
}

/** Finds the folder a tenant's commands run in. */
export type FindFolder = (tenant: string) => Promise<string>;

/** Makes the search for working folders; throws `invalid_setup` for one that cannot be used. */
export function workingFolders(path: string, folder: string): FindFolder {
  const find = createTenantFolders({ option: 'folder', path, folder });
  return async (tenant) => {
    const { base, names } = find(tenant);
    if (names.length === 0) return base;
    const own = join(base, ...names);
    // A link in its place could lead to the folder of another tenant.
    if (statOf(own)?.isDirectory() && (await realpath(own)) === join(await realpath(base), ...names))
      return own;
    throw new ToolcribError(
      'refused',
      'There is no working folder for this tenant; ask the operator to make one.',
    );
  };
}

// By name, and by comparing with the shells the system lists, whatever their names.
function isShell(file: string, { dev, ino }: Stats): boolean {
  if ([file, realpathSync(file)].some((path) => SHELLS.has(basename(path)))) return true;
  const listed = listedShells().map(statOf);
  return listed.some((shell) => shell?.dev === dev && shell.ino === ino);
}

function listedShells(): string[] {
  try {
    return readFileSync('/etc/shells', 'utf8').split('\n').filter(isAbsolute);
  } catch {
    return [];
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
