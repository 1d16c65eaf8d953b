import { expect, test } from 'vitest';
import { loadConfig } from '../../src/gateway/settings/load-config.ts';
import { createGateway } from '../../src/gateway/create-gateway.ts';
import type { Peer } from '../behaviour/peer.ts';
import { openCrib } from '../gateway.ts';
import { writeFileSync } from 'node:fs';

const files = {
  'files/north/a.txt': 'of north',
  'files/south/a.txt': 'of south',
  'files/a.txt': 'of nobody',
};

const read = async (peer: Peer, path: string): Promise<string> =>
  JSON.stringify(await peer.call('file_operations', { operation: 'read', path }));

test('D2 through a gateway, tenants find only their own files under the same paths', async () => {
  const crib = await openCrib({
    files,
    config: { tools: { modules: [], ready: { file_operations: { root: './files/{tenant}' } } } },
  });
  const ada = await crib.connect('ada');
  const cyn = await crib.connect('cyn');
  expect(await read(ada, 'a.txt')).toContain('of north');
  expect(await read(cyn, 'a.txt')).toContain('of south');
  for (const path of ['../south/a.txt', '../a.txt', '/files/south/a.txt', 'south/a.txt']) {
    const answer = await read(ada, path);
    expect(answer).toContain('"isError":true');
    expect(answer).not.toContain('of ');
  }
});

test('D2 through a gateway, a tenant without a folder is refused and not given another', async () => {
  const rootsByTenant = { north: './files/north' };
  const crib = await openCrib({
    files,
    config: { tools: { modules: [], ready: { file_operations: { rootsByTenant } } } },
  });
  expect(await read(await crib.connect('ada'), 'a.txt')).toContain('of north');
  const refusal = await read(await crib.connect('cyn'), 'a.txt');
  expect(refusal).toContain('No folder is set up for your tenant');
  expect(refusal).not.toContain('of ');
});

test('D2 a gateway with an invalid files setting does not start, and says where to change it', async () => {
  const crib = await openCrib();
  const start = async (options: object): Promise<void> => {
    writeFileSync(
      crib.path('bad.yaml'),
      JSON.stringify({ server: { listen: '127.0.0.1:0' }, tools: { ready: { file_operations: options } } }),
    );
    const gateway = await createGateway(await loadConfig(crib.path('bad.yaml')), {
      version: '1',
      watch: false,
      log: () => {},
    });
    await gateway.close();
  };
  await expect(start({ root: './none' })).rejects.toThrow(/file_operations.*"\.\/none".*create it/);
  await expect(start({})).rejects.toThrow(/file_operations.*either root or rootsByTenant/);
  await expect(start({ root: '.', extensions: ['.md'] })).rejects.toThrow(/without a dot/);
});
