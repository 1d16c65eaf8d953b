import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cli, startNode } from '../behaviour/child.ts';
import { runProcess } from '../behaviour/run-command-line.ts';
import { admitAll } from '../gateway.ts';
import { prepare } from '../served.ts';
import { within } from '../within.ts';

test('a server over standard input and output ends when the tenant of its key is disabled', async () => {
  const folder = prepare({});
  const { ada } = await admitAll(folder);
  const config = ['--config', join(folder, 'toolcrib.yaml')];
  const child = startNode([cli, 'serve', '--stdio', ...config], { TOOLCRIB_KEY: ada });
  const handshake = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'x', version: '1' },
  };
  child.process.stdin.write(
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: handshake })}\n`,
  );
  await child.outputUntil('"id":1');
  expect(await runProcess(['tenants', 'disable', 'north', ...config])).toMatchObject({ code: 0 });
  expect(await within(30_000, 'the end of the server', child.exit)).toEqual({ code: 0, signal: null });
  expect(child.complaints()).toContain('no longer valid, so the server stops');
}, 60_000);
