import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { concealValues } from '../../config/expand.ts';
import { complain, concealInComplaints } from '../complain.ts';
import { printable } from '../table.ts';
import { ask } from '../client/ask.ts';
import { readServerFile, serverFiles, type NamedServer, type ServerFile } from './files.ts';
import { settingsFolder } from './places.ts';
import type { CommandTarget, ServerFlags, Target } from '../client/target.ts';

/** How a server is found by name, and what the command line sends it. */
export type FindFlags = Pick<ServerFlags, 'from' | 'yes' | 'key' | 'header'>;

/** Finds a server by its name in the files of this project and of this user. */
export async function findServer(name: string, flags: FindFlags): Promise<Target> {
  const files: readonly ServerFile[] =
    flags.from === undefined ? serverFiles() : [{ file: flags.from, owner: 'project' }];
  const seen: string[] = [];
  for (const file of files) {
    const servers = await readOrComplain(file);
    const found = servers.find((server) => server.name === name);
    if (found) return admit(found, flags);
    seen.push(...servers.map((server) => server.name));
  }
  const known = seen.length > 0 ? `; there are: ${[...new Set(seen)].join(', ')}` : '';
  throw new ToolcribError(
    'invalid_setup',
    `No file names a server "${name}"${known}. Use its address, or its command after "--"; toolcrib servers lists what was found.`,
  );
}

async function readOrComplain(file: ServerFile): Promise<readonly NamedServer[]> {
  try {
    return await readServerFile(file);
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    complain(error.message);
    return [];
  }
}

async function admit(server: NamedServer, flags: FindFlags): Promise<Target> {
  const { name, file, target, problem, isDisabled, secrets, owner } = server;
  concealInComplaints({ secrets });
  if (isDisabled)
    throw new ToolcribError('invalid_setup', `"${name}" is disabled in ${file}; enable it there.`);
  if (!target) throw new ToolcribError('invalid_setup', problem ?? `"${name}" in ${file} cannot be used.`);
  const sent = secrets.length > 0 ? [`${secrets.length} values of your environment`] : [];
  // A key on the command line is meant for a server that the person knows, not for any address under its name.
  if (flags.key !== undefined || flags.header) sent.push('the key or headers of the command line');
  const isHarmless = target.kind === 'url' && sent.length === 0;
  if (owner === 'project' && !isHarmless && !flags.yes) await confirm(server, target, sent);
  return target;
}

// Files of a project may come from anybody, and a command may do anything.
async function confirm(
  { name, file, secrets }: NamedServer,
  target: Target,
  sent: readonly string[],
): Promise<void> {
  const what =
    target.kind === 'url'
      ? `sends ${sent.join(' and ')} to ${printable(target.url)}`
      : `starts: ${wordsOf(target).map(printable).join(' ')}`;
  const shown = concealValues(`"${printable(name)}" of ${printable(file)} ${what}`, secrets);
  await confirmOnce(shown, digestOf(file, target, sent));
}

/** Shows what would happen and asks whether to go on; once for each digest of what it depends on. */
export async function confirmOnce(shown: string, digest: string): Promise<void> {
  if ((await approvedDigests()).includes(digest)) return;
  process.stderr.write(`${shown}\n`);
  const answer = await ask('Go on, now and while it stays the same? [y/N] ');
  if (answer === undefined)
    throw new ToolcribError(
      'invalid_setup',
      'Nobody can be asked whether that is all right; say so with --yes.',
    );
  if (!/^y(?:es)?$/i.test(answer)) throw new ToolcribError('cancelled', 'Nothing was started.');
  await approve(digest);
}

// Variables and the folder decide what a command does as much as its words: NODE_OPTIONS can load any code.
function wordsOf({ command, args, env = {}, folder }: CommandTarget): readonly string[] {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return [...variables, command, ...args, ...(folder === undefined ? [] : [`(in ${folder})`])];
}

function digestOf(file: string, target: Target, sent: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([process.cwd(), file, target, sent]))
    .digest('base64url');
}

async function approvedDigests(): Promise<readonly string[]> {
  return (await readFile(join(settingsFolder(), 'toolcrib/approved-servers'), 'utf8').catch(() => '')).split(
    '\n',
  );
}

async function approve(digest: string): Promise<void> {
  const file = join(settingsFolder(), 'toolcrib/approved-servers');
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
  await writeFile(file, `${digest}\n`, { flag: 'a', mode: 0o600 });
}
