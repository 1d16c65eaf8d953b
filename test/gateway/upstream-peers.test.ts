import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startNode } from '../behaviour/child.ts';
import { openCrib } from '../gateway.ts';
import { kinds } from '../interop/cells.ts';

const fixture = join(import.meta.dirname, '../interop/fixtures/sdk-server.mjs');

test(
  'servers of both official SDKs over both transports are one server to every official client',
  {
    timeout: 60_000,
  },
  async () => {
    const byName = async (version: string): Promise<object> => {
      const url = (await startNode([fixture, version, 'http']).outputUntil('\n')).trim();
      return {
        [`${version}_web`]: { url },
        [`${version}_lines`]: { command: process.execPath, args: [fixture, version, 'stdio'] },
      };
    };
    const crib = await openCrib({
      open: true,
      config: { mcpServers: { ...(await byName('v1')), ...(await byName('v2')) } },
    });
    const servers = ['v1_lines', 'v1_web', 'v2_lines', 'v2_web'];
    for (const { kind, connect } of kinds) {
      const client = await connect({ url: crib.url });
      onTestFinished(() => client.close());
      const names = (await client.listTools()).map(({ name }) => name);
      expect([kind, names]).toEqual([
        kind,
        servers.flatMap((server) => [`${server}__add`, `${server}__fail`]),
      ]);
      for (const server of servers) {
        const sum = await client.callTool(`${server}__add`, { a: 1, b: 2 });
        expect([kind, sum.structuredContent]).toEqual([kind, { sum: 3 }]);
        expect((await client.callTool(`${server}__fail`)).isError).toBe(true);
      }
    }
  },
);
