import Module from 'node:module';
import { basename, dirname, relative } from 'node:path';
import { isTenantFolder } from '../../tools/files/tenant-folders.ts';
import { formatPath, type Complaint } from '../../config/complaint.ts';
import type { Conflict } from '../settings/config.ts';
import { stemOf, type ImportGraph } from './import-graph.ts';
import type { LoadedConfig } from '../settings/load-config.ts';
import { packageFolders } from './package-reader.ts';
import { namesOf, realPlace } from './real-place.ts';
import { leadsTo, type Protected, type Reach } from '../settings/reach.ts';
import { writableFolders } from '../settings/tool-reach.ts';

/** A file is not run, because callers could write to a file it imports. */
export class ReachError extends Error {
  readonly conflicts: readonly Conflict[];

  constructor(conflicts: readonly Conflict[]) {
    super(
      conflicts.map(({ path, message, remedy }) => `${formatPath(path)} ${message}; ${remedy}.`).join(' '),
    );
    this.conflicts = conflicts;
  }
}

/**
 * Makes a check that keeps code which callers could write from running: it throws a `ReachError` for imports from a
 * folder they may write to.
 */
export function importCheck({
  config,
  folder,
}: Pick<LoadedConfig, 'config' | 'folder'>): ((graph: ImportGraph) => void) | undefined {
  const offered = writableFolders(config, folder);
  if (offered.length === 0) return undefined;
  return (graph) => {
    const found = [...protectedImports(graph, folder)];
    const conflicts = offered.flatMap(({ path, names }): Conflict[] => {
      const reached = found.find(({ isWithin }) => isWithin(names));
      if (!reached) return [];
      const { what, remedy = 'give it a folder of its own' } = reached;
      return [{ path, message: `would let callers reach ${what}`, remedy, severity: 'error' }];
    });
    if (conflicts.length > 0) throw new ReachError(conflicts);
  };
}

/** The same as complaints about the configuration, one per place. */
export function reachComplaints(
  loaded: Pick<LoadedConfig, 'complain'>,
  problems: readonly { readonly conflicts?: readonly Conflict[] | undefined }[],
): Complaint[] {
  const byPlace = new Map<string, Conflict>();
  for (const conflict of problems.flatMap(({ conflicts = [] }) => conflicts))
    if (!byPlace.has(formatPath(conflict.path))) byPlace.set(formatPath(conflict.path), conflict);
  return Array.from(byPlace.values(), (conflict) => loaded.complain(conflict.path, conflict));
}

interface ProtectedImport extends Protected {
  readonly remedy?: string;
}

function* protectedImports(graph: ImportGraph, folder: string): Generator<ProtectedImport> {
  const { files, places } = graph;
  const nameOf = (file: string): string => relative(folder, file) || '.';
  for (const [index, file] of files.entries())
    yield {
      what:
        index === 0 ? `the module ${nameOf(file)}` : `${nameOf(file)}, which ${nameOf(files[0]!)} imports`,
      isWithin: reachesFile(file),
    };
  for (const { importer, kind, path } of places) {
    const what = `${nameOf(path)}, which ${nameOf(importer)} imports`;
    if (kind === 'at') yield { what, isWithin: reachesFile(path) };
    if (kind === 'below') yield { what, isWithin: reachesBeginning(path) };
    if (kind === 'anywhere')
      yield {
        what: `what ${nameOf(importer)} imports, as the name is made up while it runs`,
        remedy: 'write the name there as text, or at least the folder it begins with',
        isWithin: () => true,
      };
  }
  const packages = graph.packages();
  for (const at of lookedThrough(files, packages))
    yield { what: `packages that modules import (${nameOf(at)})`, isWithin: reachesInto(at) };
  for (const at of EVERYWHERE)
    yield { what: `packages that modules import (${at})`, isWithin: reachesAround(at) };
  for (const at of packages)
    yield { what: `a package that modules import (${nameOf(at)})`, isWithin: reachesAround(at) };
}

// Where Node looks last for packages; missing from its types.
const EVERYWHERE = (Module as unknown as { readonly globalPaths?: readonly string[] }).globalPaths ?? [];

// With any extension, and as a folder too: the loader chooses one of them.
function reachesFile(path: string): Reach {
  const stem = stemOf(basename(path));
  return reachesFrom(realPlace(dirname(path)), (name) =>
    name === undefined ? isTenantFolder(stem) : name === basename(path) || stemOf(name) === stem,
  );
}

function reachesBeginning(prefix: string): Reach {
  if (prefix.endsWith('/')) return reachesAround(prefix.slice(0, -1));
  const start = basename(prefix);
  return reachesFrom(realPlace(dirname(prefix)), (name) => name === undefined || name.startsWith(start));
}

/** Whether a folder contains this one, or is below it by a name that counts. */
function reachesFrom(at: string, counts: (name: string | undefined) => boolean): Reach {
  const place = namesOf(at);
  return (folder) =>
    folder.length <= place.length
      ? leadsTo(folder, place)
      : leadsTo(folder.slice(0, place.length), place) && counts(folder[place.length]);
}

function reachesAround(at: string): Reach {
  return reachesFrom(realPlace(at), () => true);
}

// A folder around this one contains the importing files too, and is checked with them.
function reachesInto(at: string): Reach {
  const place = namesOf(realPlace(at));
  return (folder) => folder.length >= place.length && leadsTo(folder.slice(0, place.length), place);
}

/** All folders in which packages are searched; a missing one may be created later. */
function lookedThrough(files: readonly string[], packages: ReadonlySet<string>): Set<string> {
  const from = new Set([...files.map((file) => dirname(file)), ...packages]);
  return new Set([...from].flatMap((folder) => [folder, realPlace(folder)]).flatMap(packageFolders));
}
