import { readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { complaintError } from '../../config/complaint.ts';
import { readEntry, type ReadEntry } from '../../config/foreign-entry.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import { withoutComments } from './json-with-comments.ts';
import { clientFiles } from './client-files.ts';
import { settingsFolder } from './places.ts';

/** Where servers may be named. */
export interface ServerFile {
  readonly file: string;
  /** Whose file it is: a project's may come from anybody. */
  readonly owner: 'user' | 'project';
}

/** A server that a file names. */
export interface NamedServer extends ReadEntry, ServerFile {
  readonly name: string;
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

/** The servers that a file names; none if there is no such file. */
export async function readServerFile({ file, owner }: ServerFile): Promise<readonly NamedServer[]> {
  const readsFiles = /\.ya?ml$/.test(file);
  const folder = projectFolder(file);
  const entries = await readWrittenServers(file);
  return entries.map(({ name, entry }) => ({
    name,
    file,
    owner,
    ...readEntry({ entry, folder, readsFiles }),
  }));
}

/** A server as a file has it, nothing filled in. */
export interface WrittenServer {
  readonly name: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

/** The servers that a file names, as they are written; none if there is no such file. */
export async function readWrittenServers(file: string): Promise<readonly WrittenServer[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw new ToolcribError('invalid_setup', `${file} cannot be read (${code ?? 'unknown reason'}).`, {
      cause,
    });
  }
  const entries = Object.entries(entriesIn(await parse(text, file)));
  return entries.flatMap(([name, entry]) => (isObject(entry) ? [{ name, entry }] : []));
}

// Settings of editors are in a folder of the project.
function projectFolder(file: string): string {
  const folder = dirname(resolve(file));
  return /^\.(?:vscode|cursor|codex)$/.test(basename(folder)) ? dirname(folder) : folder;
}

async function parse(text: string, file: string): Promise<unknown> {
  if (/\.ya?ml$/.test(file)) {
    const { YamlText } = await import('../../config/yaml-text.ts');
    const yaml = new YamlText(text, file);
    const problems = yaml.problems();
    if (problems.length > 0) throw complaintError(problems);
    return yaml.value();
  }
  try {
    return file.endsWith('.toml')
      ? (await import('smol-toml')).parse(text)
      : parseJson(withoutComments(text));
  } catch (cause) {
    const format = file.endsWith('.toml') ? 'TOML' : 'JSON';
    throw new ToolcribError('invalid_setup', `${file} is not ${format}; correct it.`, { cause });
  }
}

const MEMBERS = ['mcpServers', 'servers', 'mcp_servers', 'mcp'];

function entriesIn(content: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(content)) return {};
  const found = MEMBERS.map((member) => content[member]).find(isObject) ?? {};
  // Claude Code keeps what was added for one project beside what is there for all.
  const projects = content['projects'];
  const here = isObject(projects) ? projects[process.cwd()] : undefined;
  const more = isObject(here) && isObject(here['mcpServers']) ? here['mcpServers'] : {};
  return { ...found, ...more };
}
