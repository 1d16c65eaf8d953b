import { ToolcribError } from '../../base/errors.ts';
import { formatJson, formatTable } from '../table.ts';
import { firstLine } from '../client/readable.ts';
import { filesToRead, readServerFile, type NamedServer, type ServerFile } from './files.ts';

/** Options of `toolcrib servers`. */
export interface ServersFlags {
  readonly from?: string;
  readonly json?: boolean;
}

interface Row {
  readonly name: string;
  readonly state: string;
  readonly file: string;
  readonly owner: ServerFile['owner'];
  /** The address or the command; not what was filled in. */
  readonly reached: string;
}

/** `toolcrib servers`: lists the servers that files of this project and this user name. */
export async function servers(flags: ServersFlags): Promise<void> {
  const taken = new Set<string>();
  const rows: Row[] = [];
  for (const file of filesToRead(flags.from)) rows.push(...(await rowsOf(file, taken)));
  if (flags.json) {
    process.stdout.write(formatJson({ servers: rows }, 2));
    return;
  }
  const cells = rows.map(({ name, state, file, reached }) => [name, state, file, firstLine(reached, 80)]);
  process.stdout.write(
    formatTable(['SERVER', 'STATE', 'FILE', 'REACHED AT'], cells, 'No file names a server.'),
  );
}

async function rowsOf(file: ServerFile, taken: Set<string>): Promise<readonly Row[]> {
  try {
    const found = await readServerFile(file);
    return found.map((server) => {
      const state = taken.has(server.name) ? 'hidden by the one above' : stateOf(server);
      taken.add(server.name);
      return { ...file, name: server.name, state, reached: reachedAt(server) };
    });
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    return [{ ...file, name: '-', state: `unreadable: ${error.message}`, reached: '' }];
  }
}

function stateOf({ isDisabled, problem, target, owner, secrets }: NamedServer): string {
  if (isDisabled) return 'disabled';
  if (problem !== undefined) return `unusable: ${problem.split('\n').join(' ')}`;
  const asks = owner === 'project' && (target?.kind === 'command' || secrets.length > 0);
  return asks ? 'ready, asks first' : 'ready';
}

function reachedAt({ target, secrets }: NamedServer): string {
  if (!target) return '';
  const text = target.kind === 'url' ? target.url : [target.command, ...target.args].join(' ');
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '${...}'), text);
}
