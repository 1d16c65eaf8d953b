import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';

const address = JSON.parse(process.argv[2]);
const transport =
  'url' in address ? { type: address.sse ? 'sse' : 'http', url: address.url } : new StdioTransport(address);
const client = await createMCPClient({ transport });
const tools = await client.tools();
const call = (name, args) => tools[name].execute(args, { messages: [], toolCallId: name });
const who = await call('describe_client', {});
// It refuses sounds, whatever server they are from.
const more = await call('get_weather', { place: 'Bern' });
console.log(JSON.stringify({ tools: Object.keys(tools), who, more }));
await client.close();
