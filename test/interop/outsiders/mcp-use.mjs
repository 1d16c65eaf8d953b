import { MCPClient } from 'mcp-use';

const address = JSON.parse(process.argv[2]);
const client = MCPClient.fromDict({ mcpServers: { shop: address } });
const session = await client.createSession('shop');
const tools = await session.listTools();
const who = await session.callTool('describe_client', {});
const more = await session.callTool('draw_chart', {});
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), who, more }));
await client.closeAllSessions();
