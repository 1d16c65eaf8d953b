import { MCPServerSSE, MCPServerStdio, MCPServerStreamableHttp } from '@openai/agents';

const address = JSON.parse(process.argv[2]);
const Server = 'url' in address ? (address.sse ? MCPServerSSE : MCPServerStreamableHttp) : MCPServerStdio;
const server = new Server({ name: 'outsider', ...address });
await server.connect();
const tools = await server.listTools();
const who = await server.callTool('describe_client', {});
const more = await server.callTool('draw_chart', {});
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), who, more }));
await server.close();
