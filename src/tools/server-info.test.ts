import { expect, test } from 'vitest';
import { localCaller } from '../core/caller.ts';
import { definePrompt } from '../core/prompts/prompt.ts';
import { ToolRegistry } from '../core/registry.ts';
import { withStages } from '../core/stage.ts';
import { createFakeClock } from '../testing.ts';
import { pingTool } from './ping.ts';
import { ServerInfoTool, serverInfoTool } from './server-info.ts';

const client = { name: 'cli', version: '1', protocolVersion: '2025-06-18', capabilities: {} };

test('the tool is named server_info and takes include_context, which is false by default (001-16)', () => {
  const registry = new ToolRegistry();
  registry.registerTool(new ServerInfoTool({ name: 'acme', version: '1.2.3', source: registry }));
  const [tool] = registry.getToolsList().tools;
  expect(tool).toMatchObject({
    name: 'server_info',
    inputSchema: { properties: { include_context: { type: 'boolean', default: false } } },
  });
});

test('server_info returns the name, version, protocol revision, capabilities, tools and uptime (001-17)', async () => {
  const registry = new ToolRegistry();
  const clock = createFakeClock();
  registry.registerTool(
    serverInfoTool({ name: 'acme', version: '1.2.3', source: registry, clock }),
    pingTool(),
  );
  clock.advance(90_500);
  expect(await registry.execute('server_info', {}, { client })).toEqual({
    server: { name: 'acme', version: '1.2.3' },
    protocol_version: '2025-06-18',
    capabilities: { tools: {} },
    tool_count: 2,
    uptime_seconds: 90,
  });
});

test('the values are live: a tool added later is counted (001-17)', async () => {
  const registry = new ToolRegistry();
  registry.registerTool(serverInfoTool({ name: 'acme', version: '1', source: registry }));
  expect(await registry.execute('server_info')).toMatchObject({ tool_count: 1, protocol_version: null });
  registry.registerTool(pingTool());
  expect(await registry.execute('server_info')).toMatchObject({ tool_count: 2 });
});

test('only the tools that the caller can see are counted (001-17)', async () => {
  const registry = new ToolRegistry().registerTool(pingTool());
  const source = withStages(registry, [
    { name: 'hide', expose: (tool) => (tool.name === 'ping' ? null : tool) },
  ]);
  registry.registerTool(serverInfoTool({ name: 'acme', version: '1', source }));
  expect(await registry.execute('server_info')).toMatchObject({ tool_count: 1 });
});

test('with the flag it also lists the names of the context data, and never the values (001-17)', async () => {
  const registry = new ToolRegistry();
  registry.registerTool(serverInfoTool({ name: 'acme', version: '1', source: registry }));
  const tenant = { ...localCaller.tenant, data: { agency: 7, apiKey: 'secret' } };
  const info = await registry.execute('server_info', { include_context: true }, { tenant });
  expect(info).toMatchObject({
    context: { has_context: true, context_keys: ['agency', 'apiKey', 'id', 'name'] },
  });
  expect(JSON.stringify(info)).not.toContain('secret');
});

test('without context data it says that there is no context (001-17)', async () => {
  const registry = new ToolRegistry();
  registry.registerTool(serverInfoTool({ name: 'acme', version: '1', source: registry }));
  expect(await registry.execute('server_info', { include_context: true })).toMatchObject({
    context: { has_context: false, context_keys: [] },
  });
});

test('it lists other features of the server, and the settings it was given (001-17)', async () => {
  const registry = new ToolRegistry().registerPrompt(
    definePrompt({ name: 'greet', description: 'Greets.' }, () => 'Hello!'),
  );
  const configuration = { page_size: 100 };
  registry.registerTool(serverInfoTool({ name: 'acme', version: '1', source: registry, configuration }));
  expect(await registry.execute('server_info')).toMatchObject({
    capabilities: { tools: {}, prompts: {} },
    configuration,
  });
});
