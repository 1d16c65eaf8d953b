import { expect, test } from 'vitest';
import { createServer, defineTool, ToolRegistry, withStages } from '../index.ts';
import { createInMemoryStore } from '../stages.ts';
import { createTestClient } from '../testing.ts';
import { systemClock } from '../base/clock.ts';
import { createInMemory } from '../core/memory/in-memory.ts';
import { standardStages } from './own-stages.ts';

const tell = defineTool(
  { name: 'tell_secret', description: 'Tells.', annotations: { readOnlyHint: true } },
  () => {
    return 'The password is correct-horse-battery.';
  },
);

test('a program gets the stages of a governed server with one call', async () => {
  const store = createInMemoryStore({ clock: systemClock, memory: createInMemory(systemClock) });
  const stages = await standardStages({
    stages: { rateLimit: { perMinute: 2 } },
    store,
    secrets: ['correct-horse-battery'],
  });
  const source = withStages(new ToolRegistry().registerTool(tell), stages);
  const client = createTestClient(createServer({ source }));
  expect((await client.callTool('tell_secret')).text).toMatch(/^The password is \[redacted:\w+\]\.$/);
  await client.callTool('tell_secret');
  expect(await client.callTool('tell_secret')).toMatchObject({
    isError: true,
    text: expect.stringMatching(/^Too many/),
  });
  const rows = store.entries.map(({ body }) => JSON.parse(body) as { tool?: string });
  expect(rows.filter(({ tool }) => tool === 'tell_secret').length).toBeGreaterThanOrEqual(2);
});

test('settings are applied, and invalid ones are named', async () => {
  const stages = await standardStages({ access: [] });
  const client = createTestClient(
    createServer({ source: withStages(new ToolRegistry().registerTool(tell), stages) }),
  );
  expect(await client.listTools()).toEqual([]);
  await expect(standardStages({ stages: { rateLimit: { perMinute: -1 } } })).rejects.toThrow(
    'standardStages: stages.rateLimit',
  );
});
