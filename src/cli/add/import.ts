import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { ask } from '../client/ask.ts';
import { readOrComplain } from '../complain.ts';
import { readLinks } from '../link/links.ts';
import { projectFolder, readWrittenServers, serverFiles, type ServerFile } from '../servers/files.ts';
import { printable } from '../table.ts';
import { describeProposal, namesIn, problemOf, readConfigFile, writeServers } from './config-file.ts';
import { fromForeign } from './foreign-entry.ts';
import { nameFrom, type Proposal } from './new-entry.ts';

/** Options of `toolcrib import`. */
export interface ImportFlags {
  readonly config: string;
  readonly from?: string;
  readonly print?: boolean;
  readonly yes?: boolean;
}

/** `toolcrib import`: takes servers over from files of other clients, without their secrets. */
export async function importServers(names: readonly string[], flags: ImportFlags): Promise<void> {
  const file = await readConfigFile(resolve(flags.config));
  const taken = new Set(namesIn(file));
  const proposals: Proposal[] = [];
  const servers = await foreignServers(flags.from);
  const unknown = names.filter((name) => !servers.some(({ written }) => written === name));
  if (unknown.length > 0)
    throw new ToolcribError(
      'invalid_setup',
      `No file of another client names a server "${printable(unknown[0]!).slice(0, 80)}"; toolcrib servers lists what was found.`,
    );
  for (const found of servers) {
    if (names.length > 0 && !names.includes(found.written)) continue;
    const { proposal } = found;
    if (taken.has(proposal.name)) {
      process.stdout.write(
        `"${proposal.name}" of ${printable(found.file)} is left out: the name is taken.\n`,
      );
      continue;
    }
    const problem = problemOf(proposal);
    if (problem !== undefined) {
      process.stdout.write(`From ${printable(found.file)}, left out: ${problem}\n`);
      continue;
    }
    taken.add(proposal.name);
    proposals.push(proposal);
    process.stdout.write(`From ${printable(found.file)}:\n${describeProposal(proposal)}\n`);
  }
  if (proposals.length === 0) process.stdout.write('There is nothing to import.\n');
  else if (!flags.print) await takeOver(proposals, file, flags);
}

async function takeOver(
  proposals: readonly Proposal[],
  file: Awaited<ReturnType<typeof readConfigFile>>,
  { yes, config }: ImportFlags,
): Promise<void> {
  const what = proposals.length === 1 ? 'this server' : `these ${proposals.length} servers`;
  const answer = yes ? 'y' : await ask(`Add ${what} to ${config}? [y/N] `);
  if (answer === undefined)
    throw new ToolcribError(
      'invalid_setup',
      'Nobody can be asked whether that is all right; say so with --yes.',
    );
  if (!/^y(?:es)?$/i.test(answer.trim())) {
    process.stdout.write('Nothing was added.\n');
    return;
  }
  await writeServers(file, proposals);
  const added = proposals.map(({ name }) => `"${name}"`).join(', ');
  process.stdout.write(`${added} ${proposals.length === 1 ? 'is' : 'are'} in ${config} now.\n`);
}

interface Found {
  readonly file: string;
  /** The name in that file. */
  readonly written: string;
  readonly proposal: Proposal;
}

// Our own entries are left out: Toolcrib behind itself would never end.
async function foreignServers(from: string | undefined): Promise<readonly Found[]> {
  const links = await readLinks();
  if (from !== undefined && !existsSync(from))
    throw new ToolcribError('invalid_setup', `There is no file ${printable(from)}.`);
  const files: readonly ServerFile[] =
    from === undefined
      ? serverFiles().filter(({ file }) => !/\.ya?ml$/.test(file))
      : [{ file: from, owner: 'project' }];
  const found: Found[] = [];
  for (const { file, owner } of files) {
    const folder = owner === 'project' ? projectFolder(file) : undefined;
    for (const { name, entry } of await readOrComplain(readWrittenServers(file))) {
      if (links.some((link) => link.file === resolve(file) && link.name === name)) continue;
      const made = fromForeign({ name, entry, file, folder });
      if (!made) continue;
      found.push({ file, written: name, proposal: { ...made, name: nameFrom(name) } });
    }
  }
  return found;
}
