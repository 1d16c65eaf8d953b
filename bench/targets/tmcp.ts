import { serve } from '@hono/node-server';
import { ZodJsonSchemaAdapter } from '@tmcp/adapter-zod';
import { HttpTransport } from '@tmcp/transport-http';
import { McpServer } from 'tmcp';
import { tool } from 'tmcp/utils';
import { echoObject } from './catalog.ts';
import { announce, targetOptions } from './target.ts';
import { zodEchoInput, zodEchoOutput, zodFillerTools } from './zod-catalog.ts';

const mcp = new McpServer(
  { name: 'bench', version: '1.0.0', description: 'Bench' },
  { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: { listChanged: true } } },
);
mcp.tool({ name: 'echo', description: 'Echoes the text.', schema: zodEchoInput }, ({ text }) =>
  tool.text(text),
);
mcp.tool(
  {
    name: 'echo_object',
    description: 'Echoes the text as an object.',
    schema: zodEchoInput,
    outputSchema: zodEchoOutput,
  },
  ({ text }) => tool.structured({ ...echoObject(text) }),
);
for (const { name, description, inputSchema } of zodFillerTools(targetOptions().tools)) {
  mcp.tool({ name, description, schema: inputSchema }, () => tool.text(''));
}

const transport = new HttpTransport(mcp, { path: '/mcp' });
serve(
  {
    fetch: async (request) => (await transport.respond(request)) ?? new Response(null, { status: 404 }),
    port: 0,
    hostname: '127.0.0.1',
  },
  ({ port }) => announce(port),
);
