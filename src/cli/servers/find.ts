import { createHash } from 'node:crypto';
import { ToolcribError } from '../../base/errors.ts';
import { concealValues } from '../../config/expand.ts';
import { concealInComplaints, readOrComplain } from '../complain.ts';
import { printable } from '../table.ts';
import { confirmOnce } from './confirm-once.ts';
import { filesToRead, readServerFile, type NamedServer } from './files.ts';
import type { CommandTarget, ServerFlags, Target } from '../client/target.ts';

/** How a server is found by name, and the options that are sent to it. */
export type FindFlags = Pick<ServerFlags, 'from' | 'yes' | 'key' | 'header'>;

/** Finds a server by its name in the files of this project and of this user. */
export async function findServer(name: string, flags: FindFlags): Promise<Target> {
  const seen: string[] = [];
  for (const file of filesToRead(flags.from)) {
    const servers = await readOrComplain(readServerFile(file));
    const found = servers.find((server) => server.name === name);
    if (found) return admit(found, flags);
    seen.push(...servers.map((server) => server.name));
  }
  // A host and a port look like a name.
  if (/^[\w.-]+:\d+(?:\/|$)/.test(name))
    throw new ToolcribError('invalid_setup', `An address begins with http:// or https://: http://${name}`);
  const known = seen.length > 0 ? `; there are: ${[...new Set(seen)].join(', ')}` : '';
  throw new ToolcribError(
    'invalid_setup',
    `No file names a server "${name}"${known}. Use its address, or its command after "--"; toolcrib servers lists what was found.`,
  );
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
  await confirmOnce({ kind: 'approved-servers', shown, digest: digestOf(file, target, sent) });
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
