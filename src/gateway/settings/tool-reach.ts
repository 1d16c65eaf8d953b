import { resolve, sep } from 'node:path';
import { TENANT } from '../../tools/files/tenant-folders.ts';
import type { Config, Conflict } from './config.ts';
import { filePattern } from '../modules/files.ts';
import { namesOf, realPlace } from '../modules/real-place.ts';
import type { Path } from '../../config/yaml-text.ts';
import {
  leadsTo,
  protectedFile,
  protectedFolder,
  type HeldFile,
  type Name,
  type Protected,
  type Reach,
} from './reach.ts';
import { scriptFiles, programFiles } from './program-files.ts';
import { readyEntries } from './ready-entries.ts';

/** The files that ready-made tools offer, and those that they must not reach. */
export interface ReachSettings {
  readonly config: Config;
  readonly folder: string;
  readonly held: readonly HeldFile[];
}

/** Finds ready-made tools through which callers could read or change the server's own files. */
export function reachConflicts(settings: ReachSettings): Conflict[] {
  return [...folderConflicts(settings), ...databaseConflicts(settings)];
}

/** A folder whose files a tool offers. */
interface OfferedFolder {
  readonly path: Path;
  readonly text: string;
  readonly isWritable: boolean;
}

/** A folder callers may write to, and its place in the configuration. */
export interface WritableFolder {
  readonly path: Path;
  readonly names: readonly Name[];
}

/** The folders that ready-made tools let callers write to. */
export function writableFolders({ tools }: Config, folder: string): WritableFolder[] {
  return offeredFolders(tools.ready)
    .filter(({ isWritable }) => isWritable)
    .map(({ path, text }) => ({ path, names: namesOfFolder(text, folder) }));
}

function folderConflicts({ config, folder, held }: ReachSettings): Conflict[] {
  const offered = offeredFolders(config.tools.ready);
  if (offered.length === 0) return [];
  const unreadable = held.map(protectedFile);
  const unwritable = [
    ...unreadable,
    ...protectedCode(config.tools, folder),
    ...protectedSkills(config.skills, folder),
    ...programFiles(config),
  ];
  return offered.flatMap(({ path, text, isWritable }) => {
    const names = namesOfFolder(text, folder);
    const found = (isWritable ? unwritable : unreadable).find(({ isWithin }) => isWithin(names));
    if (!found) return [];
    const message = `would let callers reach ${found.what}`;
    return [{ path, message, remedy: 'give it a folder of its own', severity: 'error' }];
  });
}

function offeredFolders(ready: Config['tools']['ready']): OfferedFolder[] {
  const offered: OfferedFolder[] = [];
  for (const { path, options } of readyEntries(ready, 'file_operations')) {
    const { root, rootsByTenant = {}, write: isWritable } = options;
    if (root !== undefined) offered.push({ path: [...path, 'root'], text: root, isWritable });
    for (const [tenant, text] of Object.entries(rootsByTenant))
      offered.push({ path: [...path, 'rootsByTenant', tenant], text, isWritable });
  }
  const { run_command: programs } = ready;
  // Only if callers choose among the files: what else a program does is up to the operator.
  const choosing = Object.values(programs?.commands ?? {}).filter(
    ({ arguments: given, rest }) => rest?.path || given.some(({ path: isPath }) => isPath),
  );
  if (programs && choosing.length > 0) {
    const isWritable = choosing.some(({ readOnly }) => !readOnly);
    const path = ['tools', 'ready', 'run_command', 'folder'];
    offered.push({ path, text: programs.folder, isWritable });
  }
  return offered;
}

function namesOfFolder(text: string, folder: string): Name[] {
  const names = namesOf(resolve(folder, text));
  const at = names.indexOf(TENANT);
  const fixed = at < 0 ? names : names.slice(0, at);
  // From the tenant's name on, tools follow no links.
  const rest = names.slice(fixed.length).map((name) => (name === TENANT ? undefined : name));
  return [...namesOf(realPlace(sep + fixed.join(sep))), ...rest];
}

// A caller that can write here decides what the server runs.
function protectedCode({ modules, openapi, ready }: Config['tools'], folder: string): Protected[] {
  const descriptions = (Array.isArray(openapi) ? openapi : [openapi]).map((entry) => ({
    file: resolve(folder, typeof entry === 'string' ? entry : entry.file),
    what: 'an OpenAPI description (tools.openapi)',
  }));
  const programs = Object.entries(ready.run_command?.commands ?? {}).map(([name, { file }]) => ({
    file: resolve(folder, file),
    what: `a program (tools.ready.run_command.commands.${name}.file)`,
  }));
  const run = ready.run_command;
  // In the folder of a tenant, paths lead somewhere else for each.
  const cwd = run && !run.folder.includes(TENANT) ? { cwd: resolve(folder, run.folder) } : {};
  const scripts = Object.entries(run?.commands ?? {}).flatMap(([name, { file: command, args }]) =>
    scriptFiles(`tools.ready.run_command.commands.${name}`, { command, args, ...cwd }),
  );
  return [
    ...scripts,
    ...modules.map((text, index) => protectedModules(text, folder, `modules (tools.modules[${index}])`)),
    ...[...descriptions, ...programs].map(protectedFile),
  ];
}

// What one caller writes there, the models of all others read as instructions.
function protectedSkills(skills: Config['skills'], folder: string): Protected[] {
  return [skills].flat().map((text, index) => {
    const what = Array.isArray(skills) ? `skills (skills[${index}])` : 'skills (skills)';
    return protectedFolder({ file: resolve(folder, text), what });
  });
}

function protectedModules(text: string, baseDir: string, what: string): Protected {
  const pattern = filePattern(text, baseDir);
  const start = namesOf(realPlace(pattern.folder));
  const isWithin: Reach = (folder) =>
    folder.length <= start.length
      ? leadsTo(folder, start)
      : leadsTo(folder.slice(0, start.length), start) && pattern.looksInto(folder.slice(start.length));
  return { what, isWithin };
}

function databaseConflicts({ config, folder, held }: ReachSettings): Conflict[] {
  const { ready } = config.tools;
  const urls: (readonly [path: Path, url: string | undefined])[] = [
    ...readyEntries(ready, 'query_database').map(
      ({ path, options }) => [[...path, 'url'], options.url] as const,
    ),
    ...readyEntries(ready, 'query_sql').flatMap(({ path, options: { url, urlByTenant = {} } }) => [
      [[...path, 'url'], url] as const,
      ...Object.entries(urlByTenant).map(([tenant, one]) => [[...path, 'urlByTenant', tenant], one] as const),
    ]),
  ];
  return urls.flatMap(([at, url]) => {
    if (!url?.startsWith('sqlite:')) return [];
    const file = realPlace(resolve(folder, url.slice('sqlite:'.length)));
    const holder = held.find((one) => realPlace(one.file) === file);
    if (!holder) return [];
    const message = `names a file that is needed for ${holder.what}`;
    return [{ path: at, message, remedy: 'name a database of its own', severity: 'error' }];
  });
}
