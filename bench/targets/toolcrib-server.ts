import { createServer, ToolRegistry, type Server } from 'toolcrib';
import { benchTools, type ToolsWanted } from './bench-tools.ts';

/** The server that both toolcrib targets serve. */
export function toolcribServer(wanted: ToolsWanted): Server {
  const registry = new ToolRegistry();
  for (const tool of benchTools(wanted)) registry.registerTool(tool);
  // The bench is one caller, and lists far more often than any client.
  return createServer({
    name: 'bench',
    version: '1.0.0',
    source: registry,
    requestsPerMinute: 1_000_000_000,
  });
}
