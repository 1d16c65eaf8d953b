import { closeSync, constants, openSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { DESCRIPTORS, O_PATH } from './jail.ts';
import { createTenantFolders, type FindTenantFolder } from './tenant-folders.ts';

/** The configured roots: one for everybody, or one per tenant. */
export interface RootOptions {
  readonly root?: string;
  readonly rootsByTenant?: Readonly<Record<string, string>>;
  /** What relative paths are relative to. */
  readonly folder: string;
}

/** Reads the configured roots, and refuses what cannot work on this machine; a tenant without a root has no default. */
export function createRoots({ root, rootsByTenant, folder }: RootOptions): FindTenantFolder {
  requireDescriptors(DESCRIPTORS);
  if (root !== undefined) return readRoot('root', root, folder);
  const roots = new Map(
    Object.entries(rootsByTenant ?? {}).map(([tenant, path]) => [
      tenant,
      readRoot(`rootsByTenant.${tenant}`, path, folder),
    ]),
  );
  return (tenant) => {
    const find = roots.get(tenant);
    if (find) return find(tenant);
    throw new ToolcribError('refused', 'No folder is set up for your tenant; ask the operator.');
  };
}

/** Refuses a system where files cannot be opened through held descriptors. */
export function requireDescriptors(folder: string): void {
  if (process.platform === 'linux' && isUsable(folder)) return;
  throw new ToolcribError(
    'invalid_setup',
    `file_operations works on Linux where ${folder} is mounted and belongs to the process, and nowhere else: take it out here.`,
  );
}

function isUsable(descriptors: string): boolean {
  const held = openSync('/', O_PATH | constants.O_DIRECTORY);
  try {
    return statSync(`${descriptors}/${held}/.`).isDirectory();
  } catch {
    return false;
  } finally {
    closeSync(held);
  }
}

function readRoot(option: string, path: string, folder: string): FindTenantFolder {
  if (resolve(folder, path) === '/')
    throw new ToolcribError('invalid_setup', `${option} must not be the whole machine ("/"): name a folder.`);
  return createTenantFolders({ option, path, folder });
}
