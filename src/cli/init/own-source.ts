import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseJson } from '../../base/parse-json.ts';

/** Where a copy of this package came from, written as a dependency; `undefined` when that is the registry. */
export function ownSource(folder: string): string | undefined {
  const copy = resolve(folder);
  const packages = dirname(copy);
  if (basename(packages) !== 'node_modules') return `file:${copy}`;
  const source = installedFrom(join(packages, '.package-lock.json'));
  if (source === undefined || /^https?:/.test(source)) return undefined;
  // npm writes such a path relative to the project.
  return source.startsWith('file:')
    ? `file:${resolve(packages, '..', source.slice('file:'.length))}`
    : source;
}

interface InstalledPackages {
  readonly packages?: Readonly<Record<string, { readonly resolved?: string } | undefined>>;
}

function installedFrom(lock: string): string | undefined {
  if (!existsSync(lock)) return undefined;
  const { packages } = parseJson(readFileSync(lock, 'utf8')) as InstalledPackages;
  return packages?.['node_modules/toolcrib']?.resolved;
}
