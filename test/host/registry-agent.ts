import { ToolRegistry } from '../../src/core/registry.ts';
import type { Tool } from '../../src/core/tool.ts';
import type { Agent } from '../../src/host/agent.ts';
import type { AgentConfig, AgentServer } from '../../src/host/agent-config.ts';
import type { CreateAgentOptions } from '../../src/host/create-agent.ts';
import { serve } from '../client/peers.ts';
import { agentOf, serverOf } from './agents.ts';

/** An agent whose tools are those of a registry, and the calls it made. */
export interface RegistryAgent extends Agent {
  readonly registry: ToolRegistry;
  readonly made: { readonly name: string; readonly args: unknown }[];
}

/** What of a test's agent is not as usual. */
export interface RegistryAgentOptions extends CreateAgentOptions {
  readonly config?: Partial<AgentConfig>;
  /** Serves the tools over HTTP, under this name; they are tools of this process otherwise. */
  readonly server?: string;
  readonly serverConfig?: Partial<AgentServer>;
}

/** Makes an agent of tools that trusts its server, and asks for no approval unless set. */
export async function registryAgent(
  tools: readonly Tool<never>[],
  { server, config, serverConfig, ...options }: RegistryAgentOptions = {},
): Promise<RegistryAgent> {
  const registry = new ToolRegistry().registerTool(...tools);
  const servers =
    server === undefined
      ? {}
      : { [server]: serverOf({ url: await serve(registry) }, { trust: 'trusted', ...serverConfig }) };
  const agent = await agentOf(servers, {
    config: { name: 'tester', instructions: 'Answer in one sentence.', ...config },
    mode: 'autonomous',
    ...(server === undefined && { tools: registry }),
    ...options,
  });
  const made: { name: string; args: unknown }[] = [];
  agent.on('tool:start', ({ tool, arguments: args }) => made.push({ name: tool, args }));
  return Object.assign(agent, { registry, made });
}
