import { ToolcribError } from '../../base/errors.ts';
import { complaintError } from '../../config/complaint.ts';
import type { ToolRegistry } from '../../core/registry.ts';
import type { ToolSource } from '../../core/source.ts';
import type { Tool } from '../../core/tool.ts';
import type { AgentEntry } from '../settings/agents.ts';
import type { LoadedConfig } from '../settings/load-config.ts';
import { askTool } from './ask-tool.ts';
import type { AskedAgents, AskedAgentsParts } from './asked-agents.ts';

/** Registers a tool for each agent that callers may ask; returns the agents by the names of their tools. */
export function registerAskTools(
  { config, complain }: LoadedConfig,
  registry: ToolRegistry,
): ReadonlyMap<string, string> {
  const agentOf = new Map<string, string>();
  for (const [name, entry] of Object.entries(config.agents ?? {})) {
    if (entry.serve === false) continue;
    const tool = made(name, entry, complain);
    if (registry.hasTool(tool.name))
      throw complaintError([
        complain(['agents', name], {
          message: `would be asked by the tool ${tool.name}, which there is already`,
          remedy: 'rename one of the two',
          isKey: true,
        }),
      ]);
    registry.registerTool(tool);
    agentOf.set(tool.name, name);
  }
  return agentOf;
}

/** The tools of a registry and those by which agents are asked, which are registered there. */
export function serveAgents(
  loaded: LoadedConfig,
  registry: ToolRegistry,
  parts: Omit<AskedAgentsParts, 'config'>,
): ToolSource {
  const { config } = loaded;
  const agentOf = registerAskTools(loaded, registry);
  // Models and the loop are loaded when an agent is first asked.
  let asked: Promise<AskedAgents> | undefined;
  const load = async (): Promise<AskedAgents> =>
    new (await import('./asked-agents.ts')).AskedAgents({ ...parts, config });
  return {
    list: () => registry.list(),
    find: (name) => registry.find(name),
    call: (call) => {
      const name = call.kind === 'tool' && !call.tool.place ? agentOf.get(call.tool.name) : undefined;
      if (name === undefined || call.kind !== 'tool') return registry.call(call);
      return (asked ??= load()).then((agents) => agents.answer(call, name));
    },
    get resources() {
      return registry.resources;
    },
    get prompts() {
      return registry.prompts;
    },
    watch: (listener) => registry.watch(listener),
  };
}

function made(name: string, entry: AgentEntry, complain: LoadedConfig['complain']): Tool {
  try {
    return askTool(name, entry);
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    const about = { message: 'is no schema that can be used.', remedy: error.message };
    throw complaintError([complain(['agents', name, 'output'], about)]);
  }
}
