import { expect, test } from 'vitest';
import { localCaller } from '../core/caller.ts';
import { ToolRegistry } from '../core/registry.ts';
import { createFakeClock } from '../testing.ts';
import { PingTool, pingTool } from './ping.ts';

const noon = Date.UTC(2026, 0, 15, 12);

test('001-13 ping is registered as an instance of its class, or made by a function', () => {
  expect(new ToolRegistry().registerTool(new PingTool()).hasTool('ping')).toBe(true);
  expect(new ToolRegistry().registerTool(pingTool()).hasTool('ping')).toBe(true);
});

test('001-14 the tool is called ping and its message may be left out', () => {
  const [tool] = new ToolRegistry().registerTool(pingTool()).getToolsList().tools;
  expect(tool?.name).toBe('ping');
  expect(Object.keys(tool?.inputSchema.properties ?? {})).toEqual(['message']);
  expect(tool?.inputSchema).not.toHaveProperty('required');
});

test('001-15 ping answers pong, with the time, the message and whether there is a context', async () => {
  const registry = new ToolRegistry().registerTool(pingTool(createFakeClock(noon)));
  expect(await registry.execute('ping', { message: 'Hello server!' })).toEqual({
    status: 'pong',
    timestamp: '2026-01-15T12:00:00.000Z',
    message: 'Hello server!',
    context_available: false,
  });
});

test('001-15 a context is available where the tenant has facts attached', async () => {
  const registry = new ToolRegistry().registerTool(pingTool());
  const tenant = { ...localCaller.tenant, data: { agency: 7 } };
  expect(await registry.execute('ping', {}, { tenant })).toMatchObject({ context_available: true });
});

test('001-15 without a message ping echoes a greeting', async () => {
  const registry = new ToolRegistry().registerTool(pingTool());
  expect(await registry.execute('ping')).toMatchObject({ message: 'Hello!' });
});

test('a message of over 1,000 characters is refused', async () => {
  const registry = new ToolRegistry().registerTool(pingTool());
  await expect(registry.execute('ping', { message: 'a'.repeat(1_001) })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
});
