import { expect, test } from 'vitest';
import { z } from 'zod';
import { errorOf, type AgentEvents } from '../../src/host.ts';
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  ToolRegistry,
} from '../../src/index.ts';
import { createInMemoryStore } from '../../src/stages.ts';
import { createFakeClock } from '../../src/testing.ts';
import { makeUp, said, serve } from '../client/peers.ts';
import { agentOf, serverOf } from './agents.ts';

const look = defineTool({ name: 'look', description: 'Looks.' }, () => 'seen');

test('calls of an agent are rate limited, and the refusal says when to retry (003-20)', async () => {
  const clock = createFakeClock();
  const agent = await agentOf(
    { ours: serverOf({ url: await serve([look]) }) },
    { clock, mode: 'autonomous', stages: { rateLimit: { perMinute: 2 } } },
  );
  expect(await agent.call('look', {})).toMatchObject({ kind: 'done' });
  expect(await agent.call('look', {})).toMatchObject({ kind: 'done' });
  expect(errorOf(await agent.call('look', {}))).toMatchObject({ code: 'rate_limited' });
  clock.advance(60_000);
  expect(await agent.call('look', {})).toMatchObject({ kind: 'done' });
});

test('the circuit opens for all tools of a server that does not answer, and for no other server', async () => {
  const clock = createFakeClock();
  const tools = ['a', 'b'].map((name) => ({ name, description: '', inputSchema: { type: 'object' } }));
  let isDown = true;
  const server = await makeUp((got) => {
    if (got.body['method'] === 'tools/list') got.reply({ tools, ttlMs: 60_000, cacheScope: 'private' });
    else if (got.body['method'] !== 'tools/call') return false;
    else if (isDown) got.response.destroy();
    else got.reply(said('up'));
    return true;
  });
  const servers = { weak: serverOf({ url: server.url }), ours: serverOf({ url: await serve([look]) }) };
  const stages = { circuitBreak: { failures: 2, openSeconds: 10 } };
  const agent = await agentOf(servers, { clock, mode: 'autonomous', stages });
  const calls = (): number => server.methods().filter((method) => method === 'tools/call').length;
  await agent.call('a', {});
  await agent.call('a', {});
  const sent = calls();
  const refused = await agent.call('b', {});
  expect(errorOf(refused)).toMatchObject({ code: 'upstream_unavailable', message: /^weak is not answering/ });
  expect(calls()).toBe(sent);
  expect(await agent.call('look', {})).toMatchObject({ kind: 'done' });
  isDown = false;
  clock.advance(10_000);
  expect(await agent.call('b', {})).toMatchObject({ kind: 'done' });
  expect(await agent.call('a', {})).toMatchObject({ kind: 'done' });
});

test('credentials of a server appear in no result, no record and no event', async () => {
  const secret = 'correct-horse-battery-staple';
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return false;
    got.reply(said(`You sent ${got.request.headers.authorization}.`));
    return true;
  });
  const store = createInMemoryStore({ memory: {} as never });
  const heard: unknown[] = [];
  const agent = await agentOf(
    { made: serverOf({ url: server.url, headers: { authorization: `Bearer ${secret}` } }) },
    { mode: 'autonomous', journal: store.journal, listeners: { 'tool:end': (event) => heard.push(event) } },
  );
  const result = await agent.call('echo', { text: `Is it ${secret}?` });
  expect(result).toMatchObject({ content: [{ text: 'You sent [redacted:secret].' }] });
  expect(JSON.stringify(store.entries)).not.toContain(secret);
  expect(JSON.stringify(store.entries)).toContain('[redacted:secret]');
  expect(JSON.stringify((heard[0] as AgentEvents['tool:end']).result)).not.toContain(secret);
});

test('resources and prompts are granted by the same rules, and read through the agent', async () => {
  const registry = new ToolRegistry()
    .registerResource(
      defineResource({ uri: 'note://a', name: 'a' }, () => 'Note a'),
      defineResource({ uri: 'secret://b', name: 'b' }, () => 'Secret b'),
      defineResourceTemplate({ uriTemplate: 'note://{id}/more', name: 'more' }, ({ id }) => `More of ${id}`),
    )
    .registerPrompt(
      definePrompt({ name: 'greet', arguments: { who: { required: true } } }, ({ who }) => `Hello ${who}`),
      definePrompt({ name: 'spy' }, () => 'Spy'),
    );
  const agent = await agentOf({
    ours: serverOf(
      { url: await serve(registry) },
      {
        resources: { allow: ['note://*'], deny: ['note://locked/*'] },
        prompts: { allow: ['*'], deny: ['spy'] },
      },
    ),
  });
  expect(await agent.listResources()).toMatchObject([
    { uri: 'note://a' },
    { uriTemplate: 'note://{id}/more' },
  ]);
  expect(await agent.readResource('note://a')).toMatchObject({ contents: [{ text: 'Note a' }] });
  expect(await agent.readResource('note://x/more')).toMatchObject({ contents: [{ text: 'More of x' }] });
  for (const uri of ['secret://b', 'note://locked/more', 'note://none/at/all'])
    await expect(agent.readResource(uri)).rejects.toMatchObject({ code: 'unknown_resource' });
  expect(await agent.listPrompts()).toMatchObject([{ name: 'greet' }]);
  expect(await agent.getPrompt('greet', { who: 'Ada' })).toMatchObject({
    messages: [{ content: { text: 'Hello Ada' } }],
  });
  await expect(agent.getPrompt('spy')).rejects.toMatchObject({ code: 'unknown_prompt' });
});

test('a tool of this process can ask questions, and listeners see when a question begins and ends', async () => {
  const ask = defineTool(
    { name: 'ask', description: 'Asks.', annotations: { readOnlyHint: true } },
    async (_args, { elicit }) => {
      const answer = await elicit({ message: 'Colour?', schema: z.object({ colour: z.string() }) });
      return answer.action === 'accept' ? answer.content.colour : answer.action;
    },
  );
  const told: string[] = [];
  const agent = await agentOf(
    {},
    {
      tools: new ToolRegistry().registerTool(ask),
      handlers: { form: () => ({ action: 'accept', content: { colour: 'green' } }) },
      listeners: {
        'question:start': ({ server, message }) => told.push(`${server}: ${message}`),
        'question:end': ({ outcome }) => told.push(outcome),
      },
    },
  );
  expect(await agent.call('ask', {})).toMatchObject({ content: [{ text: 'green' }] });
  expect(told).toEqual(['helper: Colour?', 'accept']);
  const mute = await agentOf({}, { tools: new ToolRegistry().registerTool(ask) });
  expect(await mute.call('ask', {})).toMatchObject({ kind: 'failed' });
});

test('a sampling prompt for the model of an agent has the name of the server that asks', async () => {
  const draft = defineTool({ name: 'draft', description: 'Drafts.' }, async (_args, { sample }) => {
    const content = { type: 'text' as const, text: 'Write.' };
    return (await sample({ messages: [{ role: 'user', content }], maxTokens: 10 })).model;
  });
  const told: string[] = [];
  const agent = await agentOf(
    { ours: serverOf({ url: await serve([draft]) }) },
    {
      mode: 'autonomous',
      handlers: {
        sample: (_params, { server }) => {
          told.push(`asked by ${server}`);
          return { role: 'assistant', content: { type: 'text', text: 'Done.' }, model: 'small' };
        },
      },
      listeners: { 'question:start': ({ kind, server }) => told.push(`${kind} of ${server}`) },
    },
  );
  expect(await agent.call('draft', {})).toMatchObject({ content: [{ text: 'small' }] });
  expect(told).toEqual(['sample of ours', 'asked by ours']);
});

test('a definition that changes during a turn is shown to the person, and ends the earlier grant', async () => {
  const registry = new ToolRegistry().registerTool(look);
  const asked: string[] = [];
  const agent = await agentOf(
    { ours: serverOf({ url: await serve(registry) }) },
    {
      onToolCall: ({ description }) => {
        asked.push(description);
        return { kind: 'allowAlways', scope: 'server' };
      },
    },
  );
  await agent.call('look', {});
  await agent.call('look', {});
  expect(agent.grants.list()).toMatchObject([{ scope: 'server', server: 'ours', tools: ['look'] }]);
  const changed = new Promise<void>((resolve) => agent.on('tools:changed', () => resolve()));
  registry.replace(defineTool({ name: 'look', description: 'Looks, and tells everybody.' }, () => 'told'));
  await changed;
  expect(agent.grants.list()).toEqual([]);
  await agent.call('look', {});
  expect(asked).toEqual(['Looks.', 'Looks, and tells everybody.']);
});
