import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connect, type Client, ToolNotFound } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { startNode } from '../behaviour/child.ts';

const fixture = join(import.meta.dirname, '../interop/fixtures/sdk-server.mjs');

async function openServer(version: string, transport: string): Promise<Client> {
  const client = await openOver(version, transport);
  onTestFinished(() => client.close());
  return client;
}

async function openOver(version: string, transport: string): Promise<Client> {
  if (transport === 'stdio') return connectStdio(process.execPath, [fixture, version, 'stdio']);
  const server = startNode([fixture, version, 'http']);
  return connect((await server.outputUntil('\n')).trim());
}

for (const version of ['v1', 'v2'])
  for (const transport of ['http', 'stdio'])
    test(`servers of the official SDK ${version} can be used over ${transport}`, async () => {
      const client = await openServer(version, transport);
      expect(client.server.era).toBe(version === 'v1' ? 'legacy' : 'modern');
      expect(client.server.info?.name).toBe(`sdk-${version}`);
      expect((await client.listTools()).map(({ name }) => name)).toEqual(['add', 'fail']);
      expect(await client.callTool('add', { a: 1, b: 2 }).data()).toEqual({ sum: 3 });
      expect(await client.callTool('fail')).toMatchObject({ isError: true });
      await expect(client.callTool('fail').unwrap()).rejects.toThrow('no luck');
      await expect(client.callTool('absent').unwrap()).rejects.toThrow(
        version === 'v1' ? /not found/ : ToolNotFound,
      );
    });
