import { getRequestListener } from '@hono/node-server';
import { fastify } from 'fastify';
import { createServer, defineTool, ToolRegistry } from 'toolcrib';
import { authenticate } from './bearer-key.ts';

const whoAmI = defineTool(
  { name: 'who_am_i', description: 'Tells who is calling. Returns the id. Use it to check a key.' },
  (_args, { caller }) => ({ id: caller.id }),
);
const server = createServer({ source: new ToolRegistry().registerTool(whoAmI), authenticate });
const answer = getRequestListener((request) => server.fetch(request));

const app = fastify();
await app.register(async (scope) => {
  // Within this scope only: the endpoint reads the body itself, and only after sign-in.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _body, done) => done(null));
  scope.all('/mcp', (request, reply) => {
    reply.hijack();
    return answer(request.raw, reply.raw);
  });
});

console.log(`${await app.listen({ port: Number(process.env['PORT'] ?? 8484) })}/mcp`);
