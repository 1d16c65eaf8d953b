import { expect, test } from 'vitest';
import { localCaller } from '../core/caller.ts';
import { ToolRegistry } from '../core/registry.ts';
import { createFakeClock } from '../testing.ts';
import { PingTool, pingTool } from './ping.ts';

const noon = Date.UTC(2026, 0, 15, 12);

test('ping is registered as an instance of its class, or made by a function (001-13)', () => {
  expect(new ToolRegistry().registerTool(new PingTool()).hasTool('ping')).toBe(true);
  expect(new ToolRegistry().registerTool(pingTool()).hasTool('ping')).toBe(true);
});

test('the tool is named ping and its message is optional (001-14)', () => {
  const [tool] = new ToolRegistry().registerTool(pingTool()).getToolsList().tools;
  expect(tool?.name).toBe('ping');
  expect(Object.keys(tool?.inputSchema.properties ?? {})).toEqual(['message']);
  expect(tool?.inputSchema).not.toHaveProperty('required');
});

test('ping answers pong, with the time, the message and whether there is a context (001-15)', async () => {
  const registry = new ToolRegistry().registerTool(pingTool(createFakeClock(noon)));
  expect(await registry.execute('ping', { message: 'Hello server!' })).toEqual({
    status: 'pong',
    timestamp: '2026-01-15T12:00:00.000Z',
    message: 'Hello server!',
    context_available: false,
  });
});

test('a context is available if the tenant has data attached (001-15)', async () => {
  const registry = new ToolRegistry().registerTool(pingTool());
  const tenant = { ...localCaller.tenant, data: { agency: 7 } };
  expect(await registry.execute('ping', {}, { tenant })).toMatchObject({ context_available: true });
});

test('without a message ping returns a greeting (001-15)', async () => {
  const registry = new ToolRegistry().registerTool(pingTool());
  expect(await registry.execute('ping')).toMatchObject({ message: 'Hello!' });
});

test('a message of over 1,000 characters is refused', async () => {
  const registry = new ToolRegistry().registerTool(pingTool());
  await expect(registry.execute('ping', { message: 'a'.repeat(1_001) })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
});

test('a context is available to a caller that belongs to a tenant (001-15)', async () => {
  const registry = new ToolRegistry().registerTool(pingTool());
  const tenant = { id: 'acme', name: 'Acme', data: {} };
  expect(await registry.execute('ping', {}, { tenant })).toMatchObject({ context_available: true });
});
