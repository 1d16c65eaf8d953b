import { formatComplaint } from '../../config/complaint.ts';
import type { AgentConfig } from '../../host/agent-config.ts';
import { FORMAT_NAMES } from '../../host/files/foreign-draft.ts';
import { firstLine } from '../client/readable.ts';
import { concealInComplaints, valuesWithoutConcealed, withoutConcealed } from '../complain.ts';
import { formatJson, formatTable } from '../table.ts';
import { agentFiles, nameOfModule, readAgentFiles, type FoundFile } from './find-agents.ts';
import { knownServers } from './known-servers.ts';

/** Options of `toolcrib agents list`. */
export interface ListAgentsFlags {
  readonly json?: boolean;
}

interface Row {
  readonly name: string;
  readonly format: string;
  readonly state: string;
  readonly servers: readonly string[];
  readonly description: string;
  readonly file: string;
  readonly owner: FoundFile['owner'];
}

/** `toolcrib agents list`: lists the agents in the usual places, or in the given files. */
export async function listAgents(files: readonly string[], flags: ListAgentsFlags): Promise<void> {
  const known = await knownServers();
  const places =
    files.length > 0 ? files.map((file) => ({ file, owner: 'project' as const })) : await agentFiles();
  const found = await readAgentFiles(places, { servers: known.entries });
  concealInComplaints(known);
  for (const { reading } of found) concealInComplaints({ secrets: reading?.secrets ?? [] });
  const taken = new Set<string>();
  const rows = found.flatMap((file) => rowsOf(file)).map((row) => hidden(row, taken));
  if (flags.json) {
    process.stdout.write(formatJson(valuesWithoutConcealed({ agents: rows }), 2));
    return;
  }
  const cells = rows.map(({ name, format, state, servers, file }) => [
    name,
    format,
    firstLine(state, 60),
    firstLine(servers.join(', ') || '-', 40),
    file,
  ]);
  const empty = 'There are no agents in the usual places. Make one with toolcrib init --agent.';
  process.stdout.write(
    withoutConcealed(formatTable(['AGENT', 'FORMAT', 'STATE', 'SERVERS', 'FILE'], cells, empty)),
  );
}

function rowsOf({ file, owner, reading }: FoundFile): readonly Row[] {
  const place = { file, owner, servers: [], description: '' };
  if (!reading)
    return [
      {
        ...place,
        name: nameOfModule(file),
        format: FORMAT_NAMES.toolcrib,
        state: 'a module: read when it is used',
      },
    ];
  const problem = reading.complaints.find(({ severity }) => severity === 'error');
  if (problem) {
    // The file is beside it.
    const state = `unusable: ${formatComplaint({ ...problem, file: '' }).replace(/^:\s*/, '')}`;
    return [{ ...place, name: nameOfModule(file), format: '-', state }];
  }
  return reading.configs.map((config) => ({
    ...place,
    name: config.name,
    format: FORMAT_NAMES[config.format],
    state: stateOf(config),
    servers: Object.keys(config.servers),
    description: config.description,
    file: reading.configs.length > 1 ? `${file}#${config.name}` : file,
  }));
}

function stateOf({ servers, ownTools, notes }: AgentConfig): string {
  const asks = ownTools !== undefined || Object.values(servers).some(({ entry }) => !entry.disabled);
  const noted = notes.length > 0 ? `, ${notes.length} ${notes.length === 1 ? 'note' : 'notes'}` : '';
  return `${asks ? 'ready, asks first' : 'ready'}${noted}`;
}

function hidden(row: Row, taken: Set<string>): Row {
  const isHidden = taken.has(row.name);
  taken.add(row.name);
  return isHidden ? { ...row, state: 'hidden by the one above' } : row;
}
