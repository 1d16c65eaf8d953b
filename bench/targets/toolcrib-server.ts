import { createServer, ToolRegistry, type Server } from 'toolcrib';
import { benchTools, type ToolsWanted } from './bench-tools.ts';

/** The server that both toolcrib targets serve. */
export function toolcribServer(wanted: ToolsWanted): Server {
  const registry = new ToolRegistry();
  for (const tool of benchTools(wanted)) registry.registerTool(tool);
  return createServer({ name: 'bench', version: '1.0.0', source: registry });
}
