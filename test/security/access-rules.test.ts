import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { localCaller, type Caller } from '../../src/core/caller.ts';
import { definePrompt } from '../../src/core/prompts/prompt.ts';
import { ToolRegistry } from '../../src/core/registry.ts';
import { defineResource } from '../../src/core/resources/resource.ts';
import { withStages } from '../../src/core/stage.ts';
import { defineTool } from '../../src/core/tool.ts';
import { validateInput } from '../../src/core/essentials/validate.ts';
import { createServer, type Server } from '../../src/server/create-server.ts';
import type { accessOptions } from '../../src/stages/access/rules.ts';
import { createAccess } from '../../src/stages/access/authorize.ts';
import { createTestClient } from '../../src/testing.ts';

type Rules = z.input<typeof accessOptions>;

const ada: Caller = { ...localCaller, id: 'ada', roles: ['admin'] };
const bob: Caller = { ...localCaller, id: 'bob', roles: ['clerk'] };
const versions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

const rules: Rules = [
  { roles: ['admin'], tools: ['*'], prompts: ['*'], resources: ['*'] },
  { tools: ['pay'], when: 'args.amount <= 100' },
  { tools: ['look'] },
];

for (const protocolVersion of versions) {
  describe(protocolVersion, () => {
    test('B11 calls of a hidden and of an unknown tool get the same response byte for byte, and neither runs', async () => {
      const { server, ran } = await guarded(rules);
      const hidden = await rawCall(server, protocolVersion, 'wipe');
      const { server: without } = await guarded(rules, { hasWipe: false });
      expect(hidden).toBe(await rawCall(without, protocolVersion, 'wipe'));
      expect(hidden).toContain('Unknown tool: wipe');
      expect(hidden.replaceAll('wipe', 'nope')).toBe(await rawCall(server, protocolVersion, 'nope'));
      expect(ran()).toEqual([]);
    });

    test('a caller lists and calls what the rules allow (002-20, 004-17)', async () => {
      const { server, ran } = await guarded(rules);
      const [hers, his] = [ada, bob].map((caller) => createTestClient(server, { caller, protocolVersion }));
      expect((await hers!.listTools()).map(({ name }) => name)).toEqual(['look', 'pay', 'wipe']);
      expect((await his!.listTools()).map(({ name }) => name)).toEqual(['look', 'pay']);
      expect((await hers!.callTool('wipe')).text).toBe('done');
      await expect(his!.callTool('wipe')).rejects.toMatchObject({ code: -32602 });
      expect(ran()).toEqual(['wipe']);
    });

    test('a failed condition is a result that the model can read, not a protocol error (000-40)', async () => {
      const { server, ran } = await guarded(rules);
      const client = createTestClient(server, { caller: bob, protocolVersion });
      const refused = await client.callTool('pay', { amount: 101 });
      expect(refused.isError).toBe(true);
      expect(refused.text).toMatch(/^You may not use pay with these arguments\./);
      expect(refused.text).not.toMatch(/access|rule|\[/);
      expect((await client.callTool('pay', { amount: 100 })).text).toBe('done');
      expect(ran()).toEqual(['pay']);
    });
  });
}

test('B11 control: without rules the hidden tool runs', async () => {
  const { server, ran } = await guarded([{ tools: ['*'] }]);
  expect(await rawCall(server, '2026-07-28', 'wipe')).toContain('done');
  expect(ran()).toEqual(['wipe']);
});

test('an access rule also sees default values, so leaving an argument out does not bypass it (000-40)', async () => {
  const { server, ran } = await guarded(rules);
  const client = createTestClient(server, { caller: bob });
  expect((await client.callTool('pay', {})).isError).toBe(true);
  expect(ran()).toEqual([]);
});

test('invalid arguments are reported before any condition is evaluated', async () => {
  const { server } = await guarded(rules);
  const { text } = await createTestClient(server, { caller: bob }).callTool('pay', { amount: 'all' });
  expect(text).toMatch(/^Invalid arguments for pay/);
});

test('B10 roles with different rights never get the same list, and no proxy may cache a list', async () => {
  const { server } = await guarded(rules);
  const [hers, his] = await Promise.all(
    [ada, bob].map((caller) => createTestClient(server, { caller }).request('tools/list')),
  );
  expect(hers!['tools']).not.toEqual(his!['tools']);
  for (const list of [hers, his]) expect(list!['cacheScope']).toBe('private');
});

test('a hidden prompt or resource is answered like one that does not exist (002-20)', async () => {
  const { server } = await guarded(rules);
  const client = createTestClient(server, { caller: bob });
  const told = (method: string, params: Record<string, unknown>): Promise<string> =>
    client.request(method, params).then(JSON.stringify, (error: unknown) => JSON.stringify(error));
  expect((await told('prompts/get', { name: 'brief' })).replaceAll('brief', 'nope')).toBe(
    await told('prompts/get', { name: 'nope' }),
  );
  expect((await told('resources/read', { uri: 'demo:plan' })).replaceAll('plan', 'nope')).toBe(
    await told('resources/read', { uri: 'demo:nope' }),
  );
  expect(await told('prompts/list', {})).not.toContain('brief');
  expect(await told('resources/list', {})).not.toContain('plan');
  const hers = createTestClient(server, { caller: ada });
  expect(JSON.stringify(await hers.request('resources/read', { uri: 'demo:plan' }))).toContain('the plan');
  expect(JSON.stringify(await hers.request('prompts/get', { name: 'brief' }))).toContain('Be brief');
});

interface Guarded {
  readonly server: Server;
  readonly ran: () => readonly string[];
}

async function guarded(given: Rules, { hasWipe = true } = {}): Promise<Guarded> {
  const ran: string[] = [];
  const registry = new ToolRegistry();
  const amount = { type: 'number', default: 5_000 };
  const tools = {
    look: { type: 'object', properties: {} },
    pay: { type: 'object', properties: { amount }, additionalProperties: false },
    wipe: { type: 'object', properties: {} },
  } as const;
  for (const [name, input] of Object.entries(tools)) {
    if (name === 'wipe' && !hasWipe) continue;
    registry.registerTool(
      defineTool({ name, description: `Does ${name}.`, input }, () => (ran.push(name), 'done')),
    );
  }
  registry.registerPrompt(definePrompt({ name: 'brief', description: 'Briefly.' }, () => 'Be brief'));
  registry.registerResource(defineResource({ uri: 'demo:plan', name: 'plan' }, () => 'the plan'));
  const { byName, byCondition } = await createAccess(given);
  const source = withStages(registry, [byName, validateInput, byCondition]);
  return { server: createServer({ source }), ran: () => ran };
}

async function rawCall(server: Server, protocolVersion: string, name: string): Promise<string> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': protocolVersion,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const isModern = protocolVersion === '2026-07-28';
  const params = { name, arguments: {}, ...(isModern && { _meta: meta }) };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params } as const;
  return JSON.stringify(await server.handle(message, { caller: bob, ...(!isModern && { protocolVersion }) }));
}
