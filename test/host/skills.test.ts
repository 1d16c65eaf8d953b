import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runAgent } from '../../src/host.ts';
import { scripted } from '../../src/host/models/scripted.ts';
import { ToolRegistry } from '../../src/index.ts';
import { defineSkill } from '../../src/node.ts';
import { serve } from '../client/peers.ts';
import { openCrib } from '../gateway.ts';
import { serverOf } from './agents.ts';
import { registryAgent } from './registry-agent.ts';

test('an agent loads and checks skills of servers behind a gateway', async () => {
  const dir = join(import.meta.dirname, '../../examples/skills/refund-requests');
  const far = new ToolRegistry().registerSkill(await defineSkill({ dir }));
  const crib = await openCrib({ open: true, config: { mcpServers: { desk: { url: await serve(far) } } } });
  const agent = await registryAgent([], {
    config: { skills: true, servers: { office: serverOf({ url: crib.url }) } },
  });
  const uri = 'skill://desk/refund-requests/references/limits.md';
  const skill = 'office/refund-requests';
  const asked: string[] = [];
  const { messages } = await runAgent(agent, {
    model: scripted([
      { toolCalls: [{ name: 'load_skill', arguments: { skill } }] },
      { toolCalls: [{ name: 'read_skill_file', arguments: { skill, uri } }] },
      'Done.',
    ]),
    prompt: 'Pay it back.',
    onSkill: ({ server, uri: address }) => {
      asked.push(`${server} ${address}`);
      return true;
    },
  });
  const results = messages.filter(({ role }) => role === 'tool').map((message) => JSON.stringify(message));
  expect(asked).toEqual(['office skill://desk/refund-requests/SKILL.md']);
  expect(results[0]).toContain('Look up the order.');
  expect(results[0]).toContain(uri);
  expect(results[1]).toContain('Up to 50 euros');
});
