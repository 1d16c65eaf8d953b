import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createInMemoryStore } from '../stages.ts';
import {
  defineTool,
  InvalidArguments,
  PermissionDenied,
  ToolExecutionFailed,
  ToolNotFound,
  ToolRegistry,
} from '../index.ts';
import {
  createAgent,
  createToolBlock,
  errorOf,
  scripted,
  type DecisionRequest,
  type ToolStarted,
} from '../host.ts';
import { makeUp, said, serve } from '../../test/client/peers.ts';
import { agentOf, configOf, next, sdkEntry, serverOf } from '../../test/host/agents.ts';

const readOnly = { readOnlyHint: true };
const look = defineTool({ name: 'look', description: 'Looks.', annotations: readOnly }, () => 'seen');
const greet = defineTool(
  { name: 'greet', description: 'Greets.', input: z.object({ who: z.string() }) },
  ({ who }) => `Hello ${who}`,
);

test('an agent connects to its servers and lists, filters and shows their tools (003-30, 003-31)', async () => {
  const url = await serve([look]);
  const agent = await agentOf({
    old: serverOf(sdkEntry('v1'), { tools: { allow: ['add'], deny: [] } }),
    modern: serverOf(sdkEntry('v2'), { tools: { allow: ['*'], deny: ['fa*'] } }),
    ours: serverOf({ url }, { trust: 'trusted' }),
  });
  expect(agent.availableTools.map(({ name, from, isTrusted }) => ({ name, from, isTrusted }))).toEqual([
    { name: 'look', from: { source: 'ours', name: 'look' }, isTrusted: true },
    { name: 'modern__add', from: { source: 'modern', name: 'add' }, isTrusted: false },
    { name: 'old__add', from: { source: 'old', name: 'add' }, isTrusted: false },
  ]);
});

test('a call goes to the server that has the tool, even if two servers have a tool of the same name (003-32)', async () => {
  const named = (who: string): Promise<string> =>
    serve([defineTool({ name: 'who', description: 'Says who.' }, () => who)]);
  const [a, b] = [await named('a'), await named('b')];
  // A name that only looks like the one of another server.
  const c = await serve([defineTool({ name: 'a__who', description: 'Says who.' }, () => 'c')]);
  const servers = { a: serverOf({ url: a }), b: serverOf({ url: b }), c: serverOf({ url: c }) };
  const agent = await agentOf(servers, { mode: 'autonomous' });
  for (const { name, from } of agent.availableTools)
    expect(await agent.executeToolCall(name, {})).toEqual({ content: [{ type: 'text', text: from.source }] });
  expect(agent.availableTools).toHaveLength(3);
});

test('a rule that matches no tool is reported', async () => {
  const warnings: string[] = [];
  await agentOf(
    { ours: serverOf({ url: await serve([look]) }, { tools: { allow: ['look', 'gone_*'], deny: [] } }) },
    { listeners: { warning: (text) => warnings.push(text) } },
  );
  expect(warnings).toEqual(['ours: "gone_*" matches none of its tools']);
});

test('a changed list is filtered again, and the model gets it in its next turn (003-30)', async () => {
  const registry = new ToolRegistry().registerTool(look);
  const url = await serve(registry);
  const agent = await agentOf({ ours: serverOf({ url }, { tools: { allow: ['*'], deny: ['grow_b'] } }) });
  const before = agent.availableTools;
  const changed = next(agent, 'tools:changed');
  const grown = ['grow_a', 'grow_b'].map((name) =>
    defineTool({ name, description: 'New.', annotations: readOnly }, () => 'new'),
  );
  registry.registerTool(...grown);
  expect((await changed).map(({ name }) => name)).toEqual(['grow_a', 'look']);
  expect(agent.availableTools).toBe(before);
  expect(errorOf(await agent.call('grow_a', {}))).toMatchObject({ code: 'unknown_tool' });
  expect(agent.beginTurn().map(({ name }) => name)).toEqual(['grow_a', 'look']);
  expect(agent.availableTools).toBe(agent.beginTurn());
});

test('arguments are checked before they are sent, and again by the server (003-18)', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return false;
    got.reply(said('called'));
    return true;
  });
  const agent = await agentOf({ made: serverOf({ url: server.url }) }, { mode: 'autonomous' });
  await expect(agent.executeToolCall('echo', { text: 7 })).rejects.toBeInstanceOf(InvalidArguments);
  expect(server.methods()).not.toContain('tools/call');
  expect(await agent.call('echo', { text: 7 })).toMatchObject({
    kind: 'failed',
    content: [{ type: 'text', text: expect.stringContaining('text') as string }],
  });
  await agent.executeToolCall('echo', { text: 'a' });
  expect(server.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
});

test('a failed result is thrown with all its text, whatever block comes first (003-34)', async () => {
  const broken = defineTool({ name: 'broken', description: 'Fails.' }, () => ({
    isError: true,
    content: [
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'text', text: 'The disk is full.' },
      { type: 'text', text: 'Free some room.' },
    ],
  }));
  const agent = await agentOf({ ours: serverOf({ url: await serve([broken]) }) }, { mode: 'autonomous' });
  const failure = await agent.executeToolCall('broken', {}).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ToolExecutionFailed);
  expect((failure as Error).message).toBe('The disk is full.\nFree some room.');
  const result = await agent.call('broken', {});
  expect(result).toMatchObject({ kind: 'failed' });
  expect(errorOf(result)).toBeUndefined();
});

test('a successful result returns its content and its structured content (003-35)', async () => {
  const agent = await agentOf({ old: serverOf(sdkEntry('v1')) }, { mode: 'autonomous' });
  expect(await agent.executeToolCall('add', { a: 1, b: 2 })).toEqual({
    content: [{ type: 'text', text: '3' }],
    structuredContent: { sum: 3 },
  });
  await expect(agent.executeToolCall('fail', {})).rejects.toThrow('no luck');
  await expect(agent.executeToolCall('absent', {})).rejects.toBeInstanceOf(ToolNotFound);
});

test('nothing runs without consent: the person is asked, and a denial reaches the model (002-04, 003-14)', async () => {
  let greeted = 0;
  const counting = defineTool({ name: 'greet', description: 'Greets.' }, () => `${++greeted}`);
  const url = await serve([counting]);
  const asked: DecisionRequest[] = [];
  const agent = await agentOf(
    { ours: serverOf({ url }) },
    {
      onToolCall: (request) => {
        asked.push(request);
        return asked.length === 1 ? { kind: 'deny', reason: 'Not today.' } : 'allow';
      },
    },
  );
  const result = await agent.call('greet', {});
  expect(result).toMatchObject({
    kind: 'failed',
    content: [{ text: expect.stringContaining('Not today.') as string }],
  });
  expect(errorOf(result)?.code).toBe('refused');
  expect(greeted).toBe(0);
  await agent.call('greet', {});
  expect(greeted).toBe(1);
  const alone = await agentOf({ ours: serverOf({ url }) });
  await expect(alone.executeToolCall('greet', {})).rejects.toBeInstanceOf(PermissionDenied);
  expect(greeted).toBe(1);
});

test('annotations of an untrusted server relax no rule; those of a trusted server do (001-52, 003-13)', async () => {
  const url = await serve([look]);
  for (const [trust, questions] of [
    ['trusted', 0],
    ['untrusted', 1],
  ] as const) {
    const asked: DecisionRequest[] = [];
    const onToolCall = (request: DecisionRequest): 'allow' => (asked.push(request), 'allow');
    const agent = await agentOf({ ours: serverOf({ url }, { trust }) }, { onToolCall });
    await agent.call('look', {});
    expect([trust, asked.length]).toEqual([trust, questions]);
    if (questions > 0) expect(asked[0]).toMatchObject({ hints: readOnly, isTrusted: false, server: 'ours' });
  }
});

test('before a sensitive call a person sees the arguments as they will be sent, with defaults (002-23, 002-24, 003-17, 004-21, 004-22)', async () => {
  const wipe = defineTool(
    {
      name: 'wipe',
      description: 'Wipes.',
      input: z.object({ folder: z.string(), deep: z.boolean().default(true) }),
      annotations: { destructiveHint: true },
    },
    (args) => args,
  );
  const asked: DecisionRequest[] = [];
  const agent = await agentOf(
    { ours: serverOf({ url: await serve([wipe]) }, { trust: 'trusted' }) },
    { onToolCall: (request) => (asked.push(request), 'allow') },
  );
  expect(await agent.executeToolCall('wipe', { folder: 'a' })).toMatchObject({
    structuredContent: { folder: 'a', deep: true },
  });
  expect(asked).toMatchObject([
    {
      tool: 'wipe',
      arguments: { folder: 'a', deep: true },
      hints: { destructiveHint: true },
      isTrusted: true,
    },
  ]);
});

test("an agent's file can make the mode stricter and never less strict", async () => {
  const url = await serve([look, greet]);
  const verdicts = async (
    mode: 'autonomous' | 'restricted',
    file: 'autonomous' | 'strict',
  ): Promise<unknown> => {
    const agent = await agentOf(
      { ours: serverOf({ url }, { trust: 'trusted' }) },
      { mode, config: { mode: file } },
    );
    return Object.fromEntries(agent.explainTools().map(({ name, verdict }) => [name, verdict]));
  };
  expect(await verdicts('restricted', 'autonomous')).toEqual({ look: 'run', greet: 'refuse' });
  expect(await verdicts('autonomous', 'strict')).toEqual({ look: 'ask', greet: 'ask' });
});

test('a person can see which tools the model can use, and why (003-15)', async () => {
  const agent = await agentOf({
    ours: serverOf(
      { url: await serve([look, greet]) },
      { trust: 'trusted', tools: { allow: ['*'], deny: ['gr*'] } },
    ),
    gone: serverOf({ command: 'no-such-program-here' }),
    off: serverOf({ command: 'any', disabled: true }),
  });
  const text = agent.describeExposedTools();
  expect(text).toMatch(/^helper: 1 tool, about \d+ tokens\. Mode: balanced\.\n/);
  expect(text).toContain(
    'ours (trusted): connected\n  + look: runs, says it is read-only, and is trusted. Looks.',
  );
  expect(text).toContain('  - greet: not shown; the rules of the agent do not grant it');
  expect(text).toMatch(/gone \(untrusted\): failed\. .+/);
  expect(text).toMatch(/off \(untrusted\): disabled\. /);
});

test('a person can see that a tool runs, its progress and its outcome (003-16)', async () => {
  const steps = defineTool({ name: 'steps', description: 'Goes on.' }, (_args, { progress }) => {
    progress(1, 2, 'half\u001B[31m way');
    return 'there';
  });
  const agent = await agentOf({ ours: serverOf({ url: await serve([steps]) }) }, { mode: 'autonomous' });
  const told: [string, ToolStarted][] = [];
  for (const name of ['tool:start', 'tool:progress', 'tool:end'] as const)
    agent.on(name, (event) => told.push([name, event]));
  await agent.call('steps', {}, { id: 'call-1' });
  expect(told).toMatchObject([
    ['tool:start', { id: 'call-1', tool: 'steps', server: 'ours', arguments: {} }],
    ['tool:progress', { id: 'call-1', progress: { progress: 1, total: 2, message: 'half way' } }],
    ['tool:end', { id: 'call-1', result: { kind: 'done' }, ms: expect.any(Number) as number }],
  ]);
});

test('every call is recorded with who decided, and without a record nothing runs (002-27, 003-21, 004-25)', async () => {
  const store = createInMemoryStore({ memory: {} as never });
  const agent = await agentOf(
    { ours: serverOf({ url: await serve([greet]) }) },
    { journal: store.journal, onToolCall: ({ arguments: { who } }) => (who === 'Eve' ? 'deny' : 'allow') },
  );
  await agent.call('greet', { who: 'Ada' });
  await agent.call('greet', { who: 'Eve' });
  await agent.call('greet', {});
  const rows = store.entries.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  expect(rows.filter(({ tool }) => tool === 'ours.greet')).toMatchObject([
    { kind: 'decision', decision: 'allow' },
    { kind: 'intent', decision: 'allowed', approval: 'person', preview: '{"who":"Ada"}' },
    { kind: 'outcome', outcome: 'done' },
    { kind: 'decision', decision: 'deny' },
    { kind: 'call', decision: 'refused', outcome: 'refused', approval: 'person' },
    { kind: 'call', decision: 'refused', outcome: 'invalid_arguments' },
  ]);
  const broken = { ...store.journal, isReady: false, append: () => Promise.reject(new Error('full')) };
  const unrecorded = await agentOf(
    { ours: serverOf({ url: await serve([greet]) }) },
    { journal: broken, mode: 'autonomous' },
  );
  expect(errorOf(await unrecorded.call('greet', { who: 'Ada' }))?.code).toBe('record_unavailable');
});

test('the model gets the tools in each turn, and chooses what to call (002-03)', async () => {
  const registry = new ToolRegistry().registerTool(look);
  const agent = await agentOf({ ours: serverOf({ url: await serve(registry) }, { trust: 'trusted' }) });
  const model = scripted([
    ({ tools }) => ({
      toolCalls: [{ name: tools.find(({ description }) => description === 'Looks.')!.name, arguments: {} }],
    }),
  ]);
  const block = createToolBlock(model);
  const { tools } = block.view(agent.beginTurn());
  const request = { instructions: '', messages: [], tools, parallel: false };
  for await (const event of model.respond(request, { signal: new AbortController().signal })) {
    if (event.type !== 'end') continue;
    const [asked] = event.message.toolCalls;
    expect(
      await agent.call(asked!.name, asked!.arguments as object as Record<string, unknown>),
    ).toMatchObject({
      kind: 'done',
      content: [{ type: 'text', text: 'seen' }],
    });
  }
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(['look']);
});

test('a server that fails or hangs does not delay the others, and is tried again', async () => {
  const url = await serve([look]);
  const hanging = await makeUp(() => {});
  const states: string[] = [];
  const agent = await agentOf(
    {
      ours: serverOf({ url }),
      broken: serverOf({ command: 'no-such-program-here' }),
      hangs: serverOf({ url: hanging.url }),
    },
    {
      readyMs: 300,
      listeners: { server: ({ server, state }) => states.push(`${server} ${state.kind}`) },
    },
  );
  expect(agent.availableTools.map(({ name }) => name)).toEqual(['look']);
  expect(states).toContain('broken failed');
  expect(agent.servers.map(({ name, state }) => [name, state.kind])).toEqual([
    ['ours', 'connected'],
    ['broken', 'failed'],
    ['hangs', 'connecting'],
  ]);
  await next(agent, 'server', ({ server, state }) => server === 'broken' && state.kind === 'failed');
});

test('tools of this process are offered too, under their own names', async () => {
  const own = new ToolRegistry().registerTool(look);
  const agent = await agentOf({ ours: serverOf({ url: await serve([look]) }) }, { tools: own });
  expect(agent.availableTools.map(({ name, from }) => [name, from.source])).toEqual([
    ['look', undefined],
    ['ours__look', 'ours'],
  ]);
});

test('cancelling a call reaches the server, and is the only error that is thrown', async () => {
  const server = await makeUp((got) => (got.body['method'] === 'tools/call' ? undefined : false));
  const agent = await agentOf({ made: serverOf({ url: server.url }) }, { mode: 'autonomous' });
  const controller = new AbortController();
  const called = agent.call('echo', {}, { signal: controller.signal });
  await expect.poll(() => server.methods()).toContain('tools/call');
  const { response } = server.got.find(({ body }) => body['method'] === 'tools/call')!;
  const gone = new Promise((resolve) => response.on('close', resolve));
  controller.abort();
  await expect(called).rejects.toMatchObject({ code: 'cancelled' });
  await gone;
});

test('definitions that hide text or are too large are held back with a warning', async () => {
  const schema = { type: 'object', properties: {} };
  const tools = [
    { name: 'plain', description: 'Says \u200bhi.\u001B[8m', inputSchema: schema },
    { name: 'hid\u200bden', description: '', inputSchema: schema },
    { name: 'long', description: 'x'.repeat(16_001), inputSchema: schema },
    { name: 'values', description: '', inputSchema: { ...schema, properties: { a: { enum: ['a\u200b'] } } } },
  ];
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/list') return false;
    got.reply({ tools, ttlMs: 60_000, cacheScope: 'private' });
    return true;
  });
  const warnings: string[] = [];
  const listeners = { warning: (text: string) => warnings.push(text) };
  const agent = await agentOf({ made: serverOf({ url: server.url }) }, { listeners });
  expect(agent.availableTools).toMatchObject([{ name: 'plain', description: 'Says hi.' }]);
  expect(warnings).toHaveLength(3);
  expect(warnings.every((text) => /^made: ".+" is held back: /.test(text))).toBe(true);
});

test('a closed agent leaves nothing behind: its calls end and its programs exit', async () => {
  const agent = await createAgent(configOf({ old: serverOf(sdkEntry('v1')) }), { mode: 'autonomous' });
  onTestFinished(() => agent.close());
  const { client } = agent.servers[0]!;
  await agent.close();
  expect(client!.state.kind).toBe('disabled');
  expect(agent.servers[0]!.state.kind).toBe('disabled');
  await expect(agent.call('add', { a: 1, b: 2 })).rejects.toMatchObject({ code: 'cancelled' });
});
