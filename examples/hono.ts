import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createServer, defineTool, ToolRegistry } from 'toolcrib';
import { authenticate } from './bearer-key.ts';

const whoAmI = defineTool(
  { name: 'who_am_i', description: 'Tells who is calling. Returns the id. Use it to check a key.' },
  (_args, { caller }) => ({ id: caller.id }),
);
const server = createServer({ source: new ToolRegistry().registerTool(whoAmI), authenticate });

const app = new Hono();
app.all('/mcp', (context) => server.fetch(context.req.raw));

const port = Number(process.env['PORT'] ?? 8484);
serve({ fetch: app.fetch, hostname: '127.0.0.1', port }, (address) => {
  console.log(`http://127.0.0.1:${address.port}/mcp`);
});
