import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { concealValues } from '../../config/expand.ts';
import type { HttpOptions } from '../../client/options.ts';
import type { Agent } from '../../host/agent.ts';
import type { AgentConfig, AgentServer } from '../../host/agent-config.ts';
import { createAgent } from '../../host/create-agent.ts';
import { estimateTokens } from '../../host/models/estimate-tokens.ts';
import { readable } from '../client/readable.ts';
import { reportFailure } from '../client/with-client.ts';
import { complain } from '../complain.ts';
import { confirmOnce } from '../servers/find.ts';
import { credentialsFolder } from '../servers/places.ts';
import { formatJson, printable } from '../table.ts';
import { concealed, openAgentFile, type AgentFlags, type OpenedAgent } from './show.ts';
import { networkOf } from '../client/target.ts';

/** `toolcrib agents tools`: connects to the servers of an agent, and says what its model can see and why. */
export async function showAgentTools(reference: string, flags: AgentFlags): Promise<void> {
  const opened = await openAgentFile(reference, flags);
  if (!flags.yes) await confirmAgent(opened);
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    const signedIn = await signIns(opened.config);
    const agent = await createAgent(opened.config, {
      signal: stopping.signal,
      connection: (server) => signedIn.get(server) ?? {},
      listeners: { warning: complain },
    });
    try {
      const text = flags.json ? formatJson(toJson(agent, opened), 2) : readable(agent.describeExposedTools());
      process.stdout.write(concealValues(text, opened.secrets));
    } finally {
      await agent.close();
    }
  } catch (error) {
    reportFailure(error, flags);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

// Programs may do anything, and headers may hold keys; both may be in a file from anybody.
async function confirmAgent({ config, secrets }: OpenedAgent): Promise<void> {
  const servers = Object.entries(config.servers).filter(([, { entry }]) => !entry.disabled);
  const deeds = servers.flatMap(([name, server]) => deedOf(name, server));
  if (deeds.length === 0) return;
  const heading = `The agent ${printable(config.name)} of ${printable(config.file ?? '')}`;
  const digest = createHash('sha256')
    .update(JSON.stringify([process.cwd(), config.file, config.name, config.servers]))
    .digest('base64url');
  await confirmOnce(concealValues([heading, ...deeds].join('\n'), secrets), digest);
}

function deedOf(name: string, { entry, trust }: AgentServer): string[] {
  const trusted = trust === 'trusted' ? ', and believes what it says of its tools' : '';
  if ('command' in entry) {
    // Variables and the folder decide what a command does as much as its words.
    const variables = Object.entries(entry.env).map(([key, value]) => `${key}=${value}`);
    const place = entry.cwd === undefined ? [] : [`(in ${entry.cwd})`];
    const words = [...variables, entry.command, ...entry.args, ...place].map(printable).join(' ');
    return [`  starts ${printable(name)}: ${words}${trusted}`];
  }
  const headers = Object.keys(entry.headers).map(printable).join(', ');
  return headers === ''
    ? []
    : [`  sends ${headers} to ${printable(name)} at ${printable(entry.url)}${trusted}`];
}

// Without anything kept, nothing of the sign-in is loaded.
async function signIns({ servers }: AgentConfig): Promise<ReadonlyMap<string, HttpOptions>> {
  const found = new Map<string, HttpOptions>();
  if (!existsSync(credentialsFolder())) return found;
  const { keptAuthorizer } = await import('../client/sign-in.ts');
  for (const [name, { entry }] of Object.entries(servers)) {
    const isSigned =
      'url' in entry && Object.keys(entry.headers).some((key) => key.toLowerCase() === 'authorization');
    if ('url' in entry && !entry.disabled && !isSigned)
      found.set(name, { authorizer: await keptAuthorizer(entry.url, networkOf({})) });
  }
  return found;
}

function toJson(agent: Agent, { secrets }: OpenedAgent): unknown {
  const tokens = agent.availableTools.reduce(
    (sum, { name, description, inputSchema }) => sum + estimateTokens({ name, description, inputSchema }),
    0,
  );
  const servers = agent.servers.map(({ name, state }) => ({ name, state }));
  return concealed({ agent: agent.name, tokens, servers, tools: agent.explainTools() }, secrets);
}
