import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const address = JSON.parse(process.argv[2]);
const transport = 'url' in address ? (address.sse ? 'sse' : 'http') : 'stdio';
const client = new MultiServerMCPClient({ mcpServers: { shop: { transport, ...address } } });
const tools = await client.getTools();
const call = (wanted) => tools.find(({ name }) => name === wanted).invoke({});
const who = await call('describe_client');
const more = await call('list_places');
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), who, more }));
await client.close();
