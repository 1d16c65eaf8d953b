import { serve } from '@hono/node-server';
import { McpServer, StreamableHttpTransport } from 'mcp-lite';
import { z } from 'zod';
import { echoObject } from './catalog.ts';
import { announce, targetOptions } from './target.ts';
import { zodEchoInput, zodEchoOutput, zodFillerTools } from './zod-catalog.ts';

const mcp = new McpServer({
  name: 'bench',
  version: '1.0.0',
  schemaAdapter: (schema) => z.toJSONSchema(schema as z.ZodType),
});
mcp.tool('echo', {
  description: 'Echoes the text.',
  inputSchema: zodEchoInput,
  handler: ({ text }) => ({ content: [{ type: 'text', text }] }),
});
mcp.tool('echo_object', {
  description: 'Echoes the text as an object.',
  inputSchema: zodEchoInput,
  outputSchema: zodEchoOutput,
  handler: ({ text }) => {
    const structuredContent = echoObject(text);
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
  },
});
for (const { name, description, inputSchema } of zodFillerTools(targetOptions().tools)) {
  mcp.tool(name, { description, inputSchema, handler: () => ({ content: [] }) });
}

const handle = new StreamableHttpTransport().bind(mcp);
serve({ fetch: (request) => handle(request), port: 0, hostname: '127.0.0.1' }, ({ port }) => announce(port));
