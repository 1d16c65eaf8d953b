import { expect, test } from 'vitest';
import { ToolRegistry } from './index.ts';
import { pingTool, serverInfoTool } from './tools.ts';

test('tools for the basics come ready to use (001-12)', async () => {
  const registry = new ToolRegistry();
  registry.registerTool(pingTool(), serverInfoTool({ name: 'acme', version: '1', source: registry }));
  expect(await registry.execute('ping')).toMatchObject({ status: 'pong' });
  expect(await registry.execute('server_info')).toMatchObject({ server: { name: 'acme' } });
});

test('ready-made tools are marked as read-only', () => {
  const registry = new ToolRegistry();
  registry.registerTool(pingTool(), serverInfoTool({ name: 'acme', version: '1', source: registry }));
  for (const { annotations } of registry.list()) {
    expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
  }
});
