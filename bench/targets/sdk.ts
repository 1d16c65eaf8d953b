import { createServer } from 'node:http';
import {
  localhostHostValidation,
  localhostOriginValidation,
  type NodeIncomingMessageLike,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { echoObject } from './catalog.ts';
import { announce, portOf, targetOptions } from './target.ts';
import { zodEchoInput, zodEchoOutput, zodFillerTools } from './zod-catalog.ts';

// The schemas are made once, outside the factory, so that a request pays only for what the SDK itself repeats.
const fillers = zodFillerTools(targetOptions().tools);

const handler = toNodeHandler(createMcpHandler(benchServer));
const validateHost = localhostHostValidation();
const validateOrigin = localhostOriginValidation();

const server = createServer((request, response) => {
  if (!validateHost(request, response) || !validateOrigin(request, response)) return;
  // Its types are not written for exactOptionalPropertyTypes; failures it answers itself.
  void handler(request as NodeIncomingMessageLike, response);
});
server.listen(0, '127.0.0.1', () => announce(portOf(server)));

function benchServer(): McpServer {
  const mcp = new McpServer({ name: 'bench', version: '1.0.0' });
  mcp.registerTool('echo', { description: 'Echoes the text.', inputSchema: zodEchoInput }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }));
  mcp.registerTool(
    'echo_object',
    { description: 'Echoes the text as an object.', inputSchema: zodEchoInput, outputSchema: zodEchoOutput },
    ({ text }) => {
      const structuredContent = { ...echoObject(text) };
      return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
    },
  );
  for (const { name, description, inputSchema } of fillers) {
    mcp.registerTool(name, { description, inputSchema }, () => ({ content: [] }));
  }
  return mcp;
}
