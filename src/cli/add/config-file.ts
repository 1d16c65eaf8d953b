import { stringify } from 'yaml';
import { ToolcribError } from '../../base/errors.ts';
import { readServerEntry } from '../../config/servers.ts';
import { readUserFile, writeUserFile, type UserFile } from '../link/user-file.ts';
import { printable, printableLines } from '../table.ts';
import type { NewEntry, Proposal } from './new-entry.ts';
import { withServers } from './write-yaml.ts';

/** Refuses a name or an entry that the configuration would not take. */
export function checkProposal({ name, entry }: Proposal): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/.test(name) || name.includes('__'))
    throw new ToolcribError(
      'invalid_setup',
      `"${printable(name).slice(0, 40)}" cannot be the name of a server; choose one with --name: up to 32 letters, digits, "-" and single "_".`,
    );
  // Variables are filled in later, so an address that is one cannot be checked yet.
  if ('url' in entry && entry.url.startsWith('${')) return;
  readServerEntry(entry as Parameters<typeof readServerEntry>[0]);
}

/** What will be written, and what its operator has to do, for a terminal. */
export function describeProposal({ name, entry, variables, warnings }: Proposal): string {
  const lines = yamlOf(name, entry)
    .split('\n')
    .map((line) => `  ${line}`);
  if ('command' in entry)
    lines.push('It is a program that runs on this machine with the rights of Toolcrib.');
  for (const { name: variable, what } of variables)
    lines.push(`Set ${variable} where Toolcrib runs: ${what}.`);
  lines.push(...warnings.map((warning) => `Warning: ${warning}`));
  return `${printableLines(lines.join('\n'))}\n`;
}

/** Writes servers into a configuration, which is made if there is none. */
export async function writeServers(file: UserFile, proposals: readonly Proposal[]): Promise<void> {
  const servers = Object.fromEntries(proposals.map(({ name, entry }) => [name, entry]));
  let text: string;
  try {
    text = withServers(file.text ?? '', servers);
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    throw new ToolcribError(error.code, `${file.file} stays as it is. ${error.message}`, { cause: error });
  }
  await writeUserFile(file.text === undefined ? { ...file, mode: 0o644 } : file, text);
}

/** The configuration that a command adds to. */
export function readConfigFile(path: string): Promise<UserFile> {
  return readUserFile(path);
}

function yamlOf(name: string, entry: NewEntry): string {
  return stringify({ [name]: entry }, { lineWidth: 0 }).trimEnd();
}
