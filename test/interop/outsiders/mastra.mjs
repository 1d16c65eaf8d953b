import { MCPClient } from '@mastra/mcp';

const address = JSON.parse(process.argv[2]);
const shop = 'url' in address ? { url: new URL(address.url) } : address;
const client = new MCPClient({ servers: { shop } });
const tools = await client.getTools();
const call = (name) => tools[`shop_${name}`].execute({ context: {} }, {});
const who = await call('describe_client');
const more = await call('draw_chart');
console.log(JSON.stringify({ tools: Object.keys(tools).map((name) => name.slice(5)), who, more }));
await client.disconnect();
