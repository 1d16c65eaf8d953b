import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { complaintError, formatComplaint } from '../../config/complaint.ts';
import { readEntry, type ReadEntry } from '../../config/foreign-entry.ts';
import { readRegularFile } from '../../config/read-regular-file.ts';
import { valueAt } from '../../config/describe-issue.ts';
import type { Path } from '../../config/yaml-text.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { clientFiles } from './client-files.ts';
import { settingsFolder } from './places.ts';
import { readOwnEntry } from './own-entry.ts';
import { readFileText, type FileText } from './file-text.ts';

/** Where servers may be named. */
export interface ServerFile {
  readonly file: string;
  /** Whose file it is: a project's may come from anybody. */
  readonly owner: 'user' | 'project';
}

/** A server that a file names. */
export interface NamedServer extends ReadEntry, ServerFile {
  readonly name: string;
  /** Why it cannot be used, with file, line and column; a line for each reason. */
  readonly problem?: string;
}

/** The files that are looked into, in this order: a project cannot take a name of the user's own over. */
export function serverFiles(): readonly ServerFile[] {
  const own = [join(settingsFolder(), 'toolcrib/toolcrib.yaml'), ...clientFiles().map(({ file }) => file)];
  const project = [
    'toolcrib.yaml',
    '.mcp.json',
    '.cursor/mcp.json',
    '.vscode/mcp.json',
    '.codex/config.toml',
    'opencode.json',
  ];
  return [
    ...own.map((file) => ({ file, owner: 'user' as const })),
    ...project.map((file) => ({ file, owner: 'project' as const })),
  ];
}

/** Where servers are looked for: everywhere, or in the file that was named, which has to be there. */
export function filesToRead(from: string | undefined): readonly ServerFile[] {
  if (from === undefined) return serverFiles();
  if (!existsSync(from))
    throw new ToolcribError('invalid_setup', `${from} does not exist; name a file with servers with --from.`);
  return [{ file: from, owner: 'project' }];
}

/** The servers that a file names; none if there is no such file. */
export async function readServerFile({ file, owner }: ServerFile): Promise<readonly NamedServer[]> {
  const source = sourceOf(file);
  if (source === undefined) return [];
  const text = await readFileText(source, file);
  const isOwn = /\.ya?ml$/.test(file);
  const folder = projectFolder(file);
  const found: NamedServer[] = [];
  for (const { path, entries } of await sectionsIn(text))
    for (const [name, entry] of Object.entries(entries)) {
      const written = { entry, folder, readsFiles: isOwn };
      const read = isOwn ? await readOwnEntry(name, written) : readEntry(written);
      const complaints = read.problems.map((problem) =>
        text.complain([...path, name, ...problem.path], problem),
      );
      const problem = (await Promise.all(complaints)).map(formatComplaint).join('\n');
      found.push({ ...read, name, file, owner, ...(problem !== '' && { problem }) });
    }
  return found;
}

/** A server as a file has it, nothing filled in. */
export interface WrittenServer {
  readonly name: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

/** The servers that a file names, as they are written; none if there is no such file. */
export async function readWrittenServers(file: string): Promise<readonly WrittenServer[]> {
  const source = sourceOf(file);
  if (source === undefined) return [];
  const sections = await sectionsIn(await readFileText(source, file));
  return sections.flatMap(({ entries }) =>
    Object.entries(entries).flatMap(([name, entry]) => (isObject(entry) ? [{ name, entry }] : [])),
  );
}

const MAX_FILE_BYTES = 64 * 1_048_576;

function sourceOf(file: string): string | undefined {
  try {
    return readRegularFile(file, MAX_FILE_BYTES);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new ToolcribError('invalid_setup', `${file} cannot be read (${code ?? 'unknown reason'}).`, {
      cause,
    });
  }
}

/** The folder of the project that a file is of: settings of editors are in a folder below it. */
export function projectFolder(file: string): string {
  const folder = dirname(resolve(file));
  return /^\.(?:vscode|cursor|codex)$/.test(basename(folder)) ? dirname(folder) : folder;
}

const MEMBERS = ['mcpServers', 'servers', 'mcp_servers', 'mcp'];

interface Section {
  readonly path: Path;
  readonly entries: Readonly<Record<string, unknown>>;
}

async function sectionsIn(text: FileText): Promise<readonly Section[]> {
  const { value } = text;
  if (!isObject(value)) return [];
  const member = MEMBERS.find((each) => value[each] !== undefined && value[each] !== null);
  // Claude Code keeps servers of one project in the same file as those of all projects.
  const here = ['projects', process.cwd(), 'mcpServers'];
  const sections: Section[] = [];
  for (const path of [here, ...(member === undefined ? [] : [[member]])]) {
    const entries = valueAt(value, path);
    if (isObject(entries)) sections.push({ path, entries });
    else if (entries !== undefined)
      throw complaintError([await text.complain(path, { message: 'must be a group of servers by name' })]);
  }
  return sections;
}
