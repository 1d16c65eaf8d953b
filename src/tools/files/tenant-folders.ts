import { statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { isSafeName } from './jail-path.ts';

/** A folder of the operator, and names to follow from there; links among those may be a tenant's doing. */
export interface TenantFolder {
  readonly base: string;
  readonly names: readonly string[];
}

/** Finds the folder of a tenant, by its id; throws `refused` for an id that is no name for a folder. */
export type FindTenantFolder = (tenant: string) => TenantFolder;

/** How a folder is written down. */
export interface TenantFolderOptions {
  /** What the option is called, for complaints. */
  readonly option: string;
  /** The path; `{tenant}` may be the name of one folder in it. */
  readonly path: string;
  /** What a relative path is relative to. */
  readonly folder: string;
}

/** Reads a path that may have `{tenant}` in it; throws `invalid_setup` for one that cannot be used. */
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
        'The id of your tenant is no name for a folder; ask the operator for another one.',
      );
    return { base, names: [tenant, ...below] };
  };
}

/** What stands for the id of the tenant that calls. */
export const TENANT = '{tenant}';

// No system reads one of these as anything but one name.
const SAFE_TENANT = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Whether the id of a tenant may stand for a folder of this name. */
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
