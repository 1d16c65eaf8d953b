import { basename, resolve } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Complaint } from '../../config/complaint.ts';
import { readRegularFile } from '../../config/read-regular-file.ts';
import { readServerEntry, type UpstreamEntry } from '../../config/servers.ts';
import { inOrder } from '../../config/settings-text.ts';
import { readConfig, type LoadedConfig } from '../../gateway/settings/load-config.ts';
import { createAccounts, secretsOf } from '../../gateway/upstreams/accounts.ts';
import { commandLine } from '../../gateway/upstreams/command-line.ts';
import type { AgentConfig, AgentServer } from '../../host/agent-config.ts';
import { gatewayAgentConfig } from '../../host/files/gateway-agent.ts';
import type { AgentReading } from '../../host/files/load-agent-config.ts';

/** The agents of a `toolcrib.yaml`; their own tools are those of that file. */
export interface GatewayReading extends AgentReading {
  /** `undefined` if the file cannot be used. */
  readonly loaded: LoadedConfig | undefined;
}

const MAX_BYTES = 1_048_576;
// Files with several agents have none of these.
const KEYS = ['server', 'store', 'tools', 'upstreams', 'auth', 'access', 'stages', 'log'];

/** Whether a file is the configuration of a gateway. */
export async function isGatewayFile(file: string): Promise<boolean> {
  if (!/\.ya?ml$/.test(file)) return false;
  if (/^toolcrib\.ya?ml$/.test(basename(file))) return true;
  const value = await valueOf(file);
  return isObject(value) && isObject(value['agents']) && KEYS.some((key) => isObject(value[key]));
}

/** Whether a file is the configuration of a gateway with agents. */
export async function hasGatewayAgents(file: string): Promise<boolean> {
  const value = await valueOf(file);
  return isObject(value) && isObject(value['agents']);
}

/** Reads the agents of a `toolcrib.yaml`, with its servers as a program on this machine reaches them. */
export async function readGatewayAgents(file: string): Promise<GatewayReading> {
  const { loaded, complaints } = await readConfig(file, { sections: ['agents', 'mcpServers', 'tools'] });
  if (!loaded) return { configs: [], complaints, secrets: [], loaded };
  const { agents = {}, mcpServers = {} } = loaded.config;
  const found: Complaint[] = [...complaints];
  const configs = Object.entries(agents).flatMap(([name, entry]): AgentConfig[] => {
    try {
      const config = gatewayAgentConfig(name, entry, mcpServers);
      return [
        reachable({ ...config, file, agents: entry.agents.map((other) => `${file}#${other}`) }, loaded),
      ];
    } catch (error) {
      if (!(error instanceof ToolcribError)) throw error;
      const about = { message: 'is no schema that can be used.', remedy: error.message };
      found.push(loaded.complain(['agents', name, 'output'], about));
      return [];
    }
  });
  const isBad = found.some(({ severity }) => severity === 'error');
  const secrets = [...loaded.secrets, ...Object.values(mcpServers).flatMap(secretsOf)];
  return { configs: isBad ? [] : configs, complaints: inOrder(found), secrets, loaded };
}

function reachable(config: AgentConfig, { config: { mcpServers = {} }, folder }: LoadedConfig): AgentConfig {
  const notes: string[] = [];
  const servers = Object.entries(config.servers).map(([name, server]): [string, AgentServer] => {
    const entry = mcpServers[name]!;
    const account = createAccounts(name, entry)('');
    if (!account)
      notes.push(`${name} signs in for each tenant, and nobody is one here: no credential is sent.`);
    return [name, { ...server, entry: hostEntry(entry, { folder, account }) }];
  });
  return { ...config, servers: Object.fromEntries(servers), notes: [...config.notes, ...notes] };
}

function hostEntry(
  entry: UpstreamEntry,
  {
    folder,
    account,
  }: { readonly folder: string; readonly account: ReturnType<ReturnType<typeof createAccounts>> },
): ReturnType<typeof readServerEntry> {
  const { protocol, timeoutSeconds, disabled } = entry;
  const shared = { protocol, timeoutSeconds, disabled };
  if ('url' in entry) {
    const { url, type, headers } = entry;
    return readServerEntry({ ...shared, type, url, headers: { ...headers, ...account?.headers } });
  }
  const [command, ...args] = commandLine(entry);
  const env = { ...entry.env, ...account?.env };
  const cwd = entry.cwd === undefined ? {} : { cwd: resolve(folder, entry.cwd) };
  return readServerEntry({ ...shared, command, args, env, ...cwd });
}

async function valueOf(file: string): Promise<unknown> {
  try {
    const text = readRegularFile(file, MAX_BYTES);
    const { parse } = await import('yaml');
    return parse(text, { maxAliasCount: 100, logLevel: 'silent' }) as unknown;
  } catch {
    // A file that was named on the command line is reported if it is invalid.
    return undefined;
  }
}
