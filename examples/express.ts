import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import { createServer, defineTool, ToolRegistry } from 'toolcrib';
import { authenticate } from './bearer-key.ts';

const whoAmI = defineTool(
  { name: 'who_am_i', description: 'Tells who is calling. Returns the id. Use it to check a key.' },
  (_args, { caller }) => ({ id: caller.id }),
);
const server = createServer({ source: new ToolRegistry().registerTool(whoAmI), authenticate });

const app = express();
// Before express.json() and its like: the endpoint reads the body itself, and only after sign-in.
app.all(
  '/mcp',
  getRequestListener((request) => server.fetch(request)),
);

const http = app.listen(Number(process.env['PORT'] ?? 8484), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
});
