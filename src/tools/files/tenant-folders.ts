import { statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { isSafeName } from './jail-path.ts';

/** A folder of the operator, and names to follow from there; links among those may come from a tenant. */
export interface TenantFolder {
  readonly base: string;
  readonly names: readonly string[];
}

/** Finds the folder of a tenant by its id; throws `refused` for an id that cannot be a folder name. */
export type FindTenantFolder = (tenant: string) => TenantFolder;

/** A configured folder. */
export interface TenantFolderOptions {
  /** The name of the option, for error messages. */
  readonly option: string;
  /** The path; one folder in it may be `{tenant}`. */
  readonly path: string;
  /** What a relative path is relative to. */
  readonly folder: string;
}

/** Reads a path that may contain `{tenant}`; throws `invalid_setup` if it cannot be used. */
export function createTenantFolders({ option, path, folder }: TenantFolderOptions): FindTenantFolder {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  const at = parts.indexOf(TENANT);
  const below = at === -1 ? [] : parts.slice(at + 1);
  if (parts.some((part, index) => index !== at && part.includes(TENANT)))
    throw wrong(`${option} may have ${TENANT} only once, and only as the whole name of a folder.`);
  if (below.includes('..')) throw wrong(`${option} must not go up again (..) after ${TENANT}.`);
  if (at === -1) {
    const only = { base: requireFolder(option, path, folder), names: [] };
    return () => only;
  }
  const above = `${isAbsolute(path) ? '/' : './'}${parts.slice(0, at).join('/')}`;
  const base = requireFolder(`The folder in front of ${TENANT} in ${option}`, above, folder);
  return (tenant) => {
    if (!isTenantFolder(tenant))
      throw new ToolcribError(
        'refused',
        'The id of your tenant cannot be the name of a folder; ask the operator for another one.',
      );
    return { base, names: [tenant, ...below] };
  };
}

/** Stands for the id of the calling tenant. */
export const TENANT = '{tenant}';

// Every system reads these as one plain name.
const SAFE_TENANT = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Whether the id of a tenant may be used as this folder name. */
export function isTenantFolder(name: string): boolean {
  return SAFE_TENANT.test(name) && isSafeName(name, { hidden: false });
}

function requireFolder(what: string, path: string, folder: string): string {
  const base = resolve(folder, path);
  if (isFolder(base)) return base;
  throw wrong(`${what} ("${path}") is not a folder: create it or name another.`);
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function wrong(text: string): ToolcribError {
  return new ToolcribError('invalid_setup', text);
}
