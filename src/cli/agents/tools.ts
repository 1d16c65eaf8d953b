import { concealValues } from '../../config/expand.ts';
import type { Agent } from '../../host/agent.ts';
import { estimateTokens } from '../../host/models/estimate-tokens.ts';
import { readable } from '../client/readable.ts';
import { reportFailure } from '../client/with-client.ts';
import { complain } from '../complain.ts';
import { formatJson } from '../table.ts';
import { confirmAgent } from './confirm-agent.ts';
import { connectAgent } from './connect-agent.ts';
import { concealed, openAgentFile, type AgentFlags, type FoundAgent } from './show.ts';

/** `toolcrib agents tools`: connects to the servers of an agent, and says what its model can see and why. */
export async function showAgentTools(reference: string, flags: AgentFlags): Promise<void> {
  const opened = await openAgentFile(reference, flags);
  if (!flags.yes) await confirmAgent({ ...opened, model: undefined });
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    const { agent, close } = await connectAgent(opened, {
      signal: stopping.signal,
      listeners: { warning: complain },
    });
    try {
      const text = flags.json ? formatJson(toJson(agent, opened), 2) : readable(agent.describeExposedTools());
      process.stdout.write(concealValues(text, opened.secrets));
    } finally {
      await close();
    }
  } catch (error) {
    reportFailure(error, flags);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

function toJson(agent: Agent, { secrets }: FoundAgent): unknown {
  const tokens = agent.availableTools.reduce(
    (sum, { name, description, inputSchema }) => sum + estimateTokens({ name, description, inputSchema }),
    0,
  );
  const servers = agent.servers.map(({ name, state }) => ({ name, state }));
  return concealed({ agent: agent.name, tokens, servers, tools: agent.explainTools() }, secrets);
}
