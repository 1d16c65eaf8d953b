import type { Command } from 'commander';
import type { ListAgentsFlags } from './list.ts';
import type { AgentFlags } from './show.ts';

const AGENT = 'the name of an agent, its file, or file#name';

/** Declares `toolcrib agents`; each command loads what it needs when it runs. */
export function declareAgentCommands(program: Command): void {
  const agents = program.command('agents').description('list and explain agents in files');
  agents
    .command('list')
    .description('list the agents in the usual places of every format, or in files')
    .argument('[files...]', 'files to look into instead')
    .option('--json', 'print JSON, for other programs')
    .action(async (files: string[], flags: ListAgentsFlags) =>
      (await import('./list.ts')).listAgents(files, flags),
    );
  agents
    .command('show')
    .description(
      'explain an agent: its model, its servers, its limits, and the parts of its file without effect',
    )
    .argument('<agent>', AGENT)
    .option('--explain', 'show keys of its file that are not read here, with their values')
    .option('--yes', 'do not ask before a module is run')
    .option('--json', 'print JSON, for other programs')
    .action(async (agent: string, flags: AgentFlags) => (await import('./show.ts')).showAgent(agent, flags));
  agents
    .command('tools')
    .description('connect to the servers of an agent, and say what its model can see and why')
    .argument('<agent>', AGENT)
    .option('--yes', 'do not ask before programs are started or a module is run')
    .option('--json', 'print JSON, for other programs')
    .action(async (agent: string, flags: AgentFlags) =>
      (await import('./tools.ts')).showAgentTools(agent, flags),
    );
}
