import { FastMCP, UserError } from 'fastmcp';
import { z } from 'zod';

const server = new FastMCP({ name: 'fast', version: '1.0.0' });
server.addTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a + b),
});
server.addTool({
  name: 'fail',
  description: 'Fails.',
  execute: async () => {
    throw new UserError('no luck');
  },
});
server.addTool({
  name: 'count',
  description: 'Reports progress.',
  execute: async (_args, { reportProgress }) => {
    await reportProgress({ progress: 1, total: 2 });
    await reportProgress({ progress: 2, total: 2 });
    return 'done';
  },
});

const port = Number(process.env.PORT);
if (port > 0) {
  await server.start({ transportType: 'httpStream', httpStream: { port, host: '127.0.0.1' } });
  console.log('listening');
} else await server.start({ transportType: 'stdio' });
