import { existsSync } from 'node:fs';
import type { HttpOptions } from '../../client/options.ts';
import type { Agent } from '../../host/agent.ts';
import type { AgentConfig } from '../../host/agent-config.ts';
import { createAgent, type CreateAgentOptions } from '../../host/create-agent.ts';
import { networkOf } from '../client/target.ts';
import { packageVersion } from '../package-version.ts';
import { credentialsFolder } from '../servers/places.ts';

type Authorizer = NonNullable<HttpOptions['authorizer']>;

/** Connects an agent to its servers, signed in where somebody was before. */
export async function connectAgent(
  config: AgentConfig,
  options: Omit<CreateAgentOptions, 'connection'>,
): Promise<Agent> {
  const network = networkOf({});
  const signedIn = await signIns(config, network);
  const info = { name: 'toolcrib', version: packageVersion() };
  return createAgent(config, {
    ...options,
    connection: (server) => {
      const authorizer = signedIn.get(server);
      return { info, ...network, ...(authorizer && { authorizer }) };
    },
  });
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
