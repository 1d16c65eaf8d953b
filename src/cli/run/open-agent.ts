import type { Agent } from '../../host/agent.ts';
import type { SafetyMode } from '../../host/agent-config.ts';
import type { CreateAgentOptions } from '../../host/create-agent.ts';
import type { AskableAgent } from '../../host/loop/ask-agent.ts';
import { connectAgent, type ConnectedAgent } from '../agents/connect-agent.ts';
import type { ReadAgent } from './read-agents.ts';

/** What agents of a command are made with. */
export interface OpenAgentOptions extends Pick<
  CreateAgentOptions,
  'onToolCall' | 'handlers' | 'secrets' | 'listeners'
> {
  readonly mode: SafetyMode;
}

/** An agent that is ready, those it may ask, and what ends all of them. */
export interface OpenedAgents {
  readonly agent: Agent;
  readonly agents: readonly AskableAgent[];
  readonly close: () => Promise<void>;
}

/** Connects an agent; those it may ask are connected when they are first asked. */
export async function openAgents(read: ReadAgent, options: OpenAgentOptions): Promise<OpenedAgents> {
  const opened = new Map<ReadAgent, Promise<ConnectedAgent>>();
  const open = async (one: ReadAgent): Promise<Agent> => {
    const known = opened.get(one) ?? connectAgent(one, options);
    opened.set(one, known);
    return (await known).agent;
  };
  const askable = (one: ReadAgent): AskableAgent => ({
    name: one.config.name,
    description: one.config.description,
    open: async () => ({ agent: await open(one), model: one.model, agents: one.agents.map(askable) }),
  });
  return {
    agent: await open(read),
    agents: read.agents.map(askable),
    close: async () => {
      const all = await Promise.allSettled(opened.values());
      for (const one of all) if (one.status === 'fulfilled') await one.value.close();
    },
  };
}
