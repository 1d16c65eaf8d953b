import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { EventSource } from 'eventsource';

// It was made for browsers, which have one.
globalThis.EventSource = EventSource;
const address = JSON.parse(process.argv[2]);
const client = new Client({ name: 'outsider', version: '1.0.0' }, { capabilities: {} });
await client.connect(
  'url' in address ? new SSEClientTransport(new URL(address.url)) : new StdioClientTransport(address),
);
const { tools } = await client.listTools();
const who = await client.callTool({ name: 'describe_client', arguments: {} });
const more = await client.callTool({ name: 'draw_chart', arguments: {} });
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), who, more }));
await client.close();
