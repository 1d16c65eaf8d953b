import { existsSync } from 'node:fs';
import type { HttpOptions } from '../../client/options.ts';
import type { Agent } from '../../host/agent.ts';
import type { AgentConfig } from '../../host/agent-config.ts';
import { createAgent, type CreateAgentOptions } from '../../host/create-agent.ts';
import { networkOf } from '../client/target.ts';
import { packageVersion } from '../package-version.ts';
import type { FoundAgent } from './show.ts';
import { credentialsFolder } from '../servers/places.ts';

type Authorizer = NonNullable<HttpOptions['authorizer']>;

/** An agent that is ready, and what ends it. */
export interface ConnectedAgent {
  readonly agent: Agent;
  readonly close: () => Promise<void>;
}

/** Connects an agent to its servers, with tokens of an earlier sign-in. */
export async function connectAgent(
  { config, ownTools }: Pick<FoundAgent, 'config' | 'ownTools'>,
  options: Omit<CreateAgentOptions, 'connection' | 'tools'>,
): Promise<ConnectedAgent> {
  const own = await ownTools?.load();
  const network = networkOf({});
  const signedIn = await signIns(config, network);
  const info = { name: 'toolcrib', version: packageVersion() };
  try {
    const agent = await createAgent(config, {
      ...options,
      ...(own && { tools: own.source }),
      connection: (server) => {
        const authorizer = signedIn.get(server);
        return { info, ...network, ...(authorizer && { authorizer }) };
      },
    });
    const close = async (): Promise<void> => {
      await agent.close();
      await own?.close();
    };
    return { agent, close };
  } catch (error) {
    await own?.close();
    throw error;
  }
}

// Without anything kept, nothing of the sign-in is loaded.
async function signIns(
  { servers }: AgentConfig,
  network: ReturnType<typeof networkOf>,
): Promise<ReadonlyMap<string, Authorizer>> {
  const found = new Map<string, Authorizer>();
  if (!existsSync(credentialsFolder())) return found;
  const { keptAuthorizer } = await import('../client/sign-in.ts');
  for (const [name, { entry }] of Object.entries(servers)) {
    if (!('url' in entry) || entry.disabled) continue;
    const isSigned = Object.keys(entry.headers).some((header) => header.toLowerCase() === 'authorization');
    if (!isSigned) found.set(name, await keptAuthorizer(entry.url, network));
  }
  return found;
}
