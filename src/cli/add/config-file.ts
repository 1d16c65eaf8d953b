import { stringify } from 'yaml';
import { ToolcribError } from '../../base/errors.ts';
import { readUpstreamEntry } from '../../config/servers.ts';
import { upstreamConflicts } from '../../gateway/settings/upstream-conflicts.ts';
import { readUserFile, writeUserFile, type UserFile } from '../link/user-file.ts';
import { printable, printableLines } from '../table.ts';
import type { NewEntry, Proposal } from './new-entry.ts';
import { serverNames, withServers } from './write-yaml.ts';

/** Refuses a name or an entry that the configuration would not take. */
export function checkProposal(proposal: Proposal): void {
  const problem = problemOf(proposal);
  if (problem !== undefined) throw new ToolcribError('invalid_setup', problem);
}

/** Why the configuration would not take a name or an entry; with it, nothing else in the file would work either. */
export function problemOf({ name, entry }: Proposal): string | undefined {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/.test(name) || name.includes('__'))
    return `"${printable(name).slice(0, 40)}" cannot be the name of a server; choose one with --name: up to 32 letters, digits, "-" and single "_".`;
  // Variables are filled in later, so an address that is one cannot be checked yet.
  const isOpen = 'url' in entry && entry.url.startsWith('${');
  const { read, problems } = readUpstreamEntry(name, isOpen ? { ...entry, url: 'http://localhost' } : entry);
  const conflicts = read ? upstreamConflicts({ [name]: read }).filter(isError) : problems;
  const [first] = conflicts;
  if (!first) return undefined;
  const place = first.path.slice(read ? 2 : 0).join('.');
  const remedy = first.remedy === undefined ? '' : `; ${first.remedy}`;
  return printable(`"${name}" cannot be used: ${place === '' ? 'it' : place} ${first.message}${remedy}.`);
}

function isError({ severity }: { readonly severity: string }): boolean {
  return severity === 'error';
}

/** The text that will be written, and the steps left to the operator, for a terminal. */
export function describeProposal({ name, entry, variables, warnings }: Proposal): string {
  const lines = yamlOf(name, entry)
    .split('\n')
    .map((line) => `  ${line}`);
  if ('command' in entry)
    lines.push('It is a program that runs on this machine with the rights of Toolcrib.');
  for (const { name: variable, what } of variables)
    lines.push(`Set ${variable} where Toolcrib runs: ${what}.${isSet(variable) ? SET : ''}`);
  lines.push(...warnings.map((warning) => `Warning: ${warning}`));
  return `${printableLines(lines.join('\n'))}\n`;
}

// The author of a server's description chooses the names of variables, and could ask for a key of something else.
const SET = ' It is set here already: what it holds goes to this server.';

function isSet(name: string): boolean {
  return (process.env[name] ?? '') !== '';
}

/** Writes servers into a configuration, which is made if there is none. */
export async function writeServers(file: UserFile, proposals: readonly Proposal[]): Promise<void> {
  const servers = Object.fromEntries(proposals.map(({ name, entry }) => [name, entry]));
  const text = about(file, () => withServers(file.text ?? '', servers));
  await writeUserFile(file.text === undefined ? { ...file, mode: 0o644 } : file, text);
}

/** The names of the servers that a configuration has. */
export function namesIn(file: UserFile): readonly string[] {
  return about(file, () => serverNames(file.text ?? ''));
}

// Says which file it is about.
function about<T>({ file }: UserFile, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    throw new ToolcribError(error.code, `${file} stays as it is. ${error.message}`, { cause: error });
  }
}

/** The configuration that a command adds to. */
export function readConfigFile(path: string): Promise<UserFile> {
  return readUserFile(path);
}

function yamlOf(name: string, entry: NewEntry): string {
  return stringify({ [name]: entry }, { lineWidth: 0 }).trimEnd();
}
