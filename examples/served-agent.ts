import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'toolcrib';
import { createGateway, loadConfig } from 'toolcrib/gateway';

// Stands for the endpoint of a model: first it asks for a tool, then it answers. In earnest, leave out MODEL_URL.
const turns = [
  {
    tool_calls: [
      { index: 0, id: 'c1', function: { name: 'calculate', arguments: '{"expression":"19.9+22.1"}' } },
    ],
  },
  { content: 'Together that is 42.' },
];
const endpoint = createServer((request, response) => {
  request.resume().on('end', () => {
    const delta = turns.shift();
    const event = JSON.stringify({ choices: [{ index: 0, delta, finish_reason: 'stop' }] });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${event}\n\ndata: [DONE]\n\n`);
  });
});
await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
const MODEL_URL = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`;

const loaded = await loadConfig('examples/served-agent.yaml', { env: { ...process.env, MODEL_URL } });
const gateway = await createGateway(loaded, { version: '1.0.0' });
const { url } = await gateway.listen();

// Any client can ask it; what the agent calls takes the same line as calls of the client itself.
const client = await connect(url);
const question = 'What are 19.90 and 22.10 together?';
const onProgress = ({ message }: { readonly message?: string }): void => console.log(message);
console.log(await client.callTool('ask_bookkeeper', { question }, { onProgress }).text());

await client.close();
await gateway.close();
endpoint.close();
