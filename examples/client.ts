import { connect, createServer, defineTool, toAgentError, ToolRegistry } from 'toolcrib';
import { listen } from 'toolcrib/node';
import { z } from 'zod';

const add = defineTool(
  {
    name: 'add',
    description: 'Adds two numbers. Returns the sum. Use it for sums.',
    input: z.object({ a: z.number(), b: z.number() }),
    output: z.object({ sum: z.number() }),
  },
  ({ a, b }) => ({ sum: a + b }),
);
const server = await listen(createServer({ source: new ToolRegistry().registerTool(add) }), { port: 0 });

const client = await connect(server.url);
console.log((await client.listTools()).map(({ name }) => name));
console.log(await client.callTool('add', { a: 1, b: 2 }).data<{ sum: number }>());
console.log(await client.callTool('add', { a: 'one' }).catch(toAgentError));
await client.close();
await server.close();
