import type { Target } from '../../config/foreign-entry.ts';
import type { ServerEntryInput } from '../../config/servers.ts';
import { readOrComplain } from '../complain.ts';
import { readServerFile, serverFiles } from '../servers/files.ts';

/** The servers that files of this user and this project name, for agents that name them without defining them. */
export interface KnownServers {
  readonly entries: Readonly<Record<string, ServerEntryInput>>;
  /** Values from outside the files, which are not to be shown. */
  readonly secrets: readonly string[];
}

/** Finds the servers that an agent's file may name; the first file that has a name decides. */
export async function knownServers(): Promise<KnownServers> {
  const entries = new Map<string, ServerEntryInput | undefined>();
  const secrets: string[] = [];
  for (const file of serverFiles()) {
    for (const server of await readOrComplain(readServerFile(file))) {
      if (entries.has(server.name)) continue;
      const isUsable = server.target !== undefined && !server.isDisabled;
      entries.set(server.name, isUsable ? toEntry(server.target) : undefined);
      if (isUsable) secrets.push(...server.secrets);
    }
  }
  const usable = [...entries].filter((pair): pair is [string, ServerEntryInput] => pair[1] !== undefined);
  return { entries: Object.fromEntries(usable), secrets };
}

function toEntry(target: Target): ServerEntryInput | undefined {
  if (target.kind === 'command') {
    const { command, args, env = {}, folder } = target;
    return { command, args: [...args], env: { ...env }, ...(folder !== undefined && { cwd: folder }) };
  }
  const { url, headers = {}, transport } = target;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return undefined;
  return { url, headers: { ...headers }, ...(transport && { type: transport }) };
}
