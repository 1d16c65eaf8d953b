import { inspect } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { defineTool } from '../../src/index.ts';
import type { ToolResult } from '../behaviour/peer.ts';
import { open } from '../client/peers.ts';
import { openCrib, type Holder } from '../gateway.ts';
import { startEndpoint } from '../host/model-endpoint.ts';
import { kinds } from '../interop/cells.ts';
import { within } from '../within.ts';
import { MODEL_KEY, startModel } from './agent-model.ts';
import { workbench } from './upstream-programs.ts';

const orders = defineTool(
  {
    name: 'get_order',
    description: 'Looks up an order.',
    input: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    annotations: { readOnlyHint: true },
  },
  ({ id }, { tenant }) => `order ${id} of ${tenant.id}`,
);

test.each(['2026-07-28', '2025-11-25'])(
  'a caller of %s can call an agent, whose tool calls are governed and linked to it in the record',
  async (version) => {
    const { model, asked, endpoint } = await startModel(({ results }) =>
      results.length === 0 ? { tool: 'get_order', args: { id: '7' } } : `It says: ${results.at(-1)}`,
    );
    const crib = await openCrib({
      offers: [orders],
      config: {
        agents: { support: { instructions: 'Be brief.', model, tools: ['get_order'], serve: true } },
      },
    });
    const peer = await crib.connect('ada', { version });
    const { tools } = await peer.list();
    expect(tools.map(({ name }) => name)).toEqual(['ask_support', 'get_order']);
    const result = await peer.call('ask_support', { question: 'What is order 7?' });
    expect(result.content[0]!.text).toContain('order 7 of north');
    expect(result.isError ?? false).toBe(false);
    expect(asked[0]).toMatchObject({ tools: ['get_order'], system: 'Be brief.' });
    expect(endpoint.seen[0]!.headers.authorization).toBe(`Bearer ${MODEL_KEY}`);
    const [outer] = crib.rowsOf('ask_support');
    const [inner] = crib.rowsOf('get_order');
    expect(inner).toMatchObject({ within: outer!['call'], caller: 'ada', tenant: 'north', outcome: 'done' });
  },
);

test('an agent uses the tools of a program behind the gateway by their names in the rules', async () => {
  const { model } = await startModel(({ results, tools }) =>
    results.length === 0 ? { tool: tools[0]! } : `${tools.join()} said ${results.at(-1)}`,
  );
  const crib = await openCrib({
    offers: [orders],
    config: {
      mcpServers: { desk: workbench({ tools: ['plain', 'fill'] }) },
      agents: { clerk: { model, mcpServers: ['desk'], tools: ['desk.pl*'], serve: true } },
    },
  });
  const client = await open(crib.url, { headers: { authorization: `Bearer ${crib.keys.ada}` } });
  expect(await client.callTool('ask_clerk', { question: 'Go.' }).text()).toContain('plain said');
  expect(crib.rowsOf('desk.plain').at(-1)).toMatchObject({ outcome: 'done' });
});

const readOnly = { readOnlyHint: true };

test('a tool name that no server lists is logged once, and an invalid model key is logged and not shown to callers', async () => {
  const { model } = await startModel(() => 'done');
  const crib = await openCrib({
    config: {
      mcpServers: { desk: workbench({ tools: ['plain', 'fill'] }) },
      agents: {
        clerk: { model, mcpServers: ['desk'], tools: ['desk.plain', 'desk.pain'], serve: true },
        broken: { model: { ...model, keyVariable: 'TOOLCRIB_TEST_BAD_KEY' }, serve: true },
      },
    },
  });
  const peer = await crib.connect('ada');
  for (const question of ['x', 'y']) await peer.call('ask_clerk', { question });
  const told = (): string[] =>
    crib.logged.map(({ message }) => message).filter((text) => text.includes('clerk'));
  await expect
    .poll(told)
    .toEqual(['agents.clerk.tools[1] matches no tool that desk lists; did you mean "desk.plain"?']);
  vi.stubEnv('TOOLCRIB_TEST_BAD_KEY', 'two words');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { text } = (await peer.call('ask_broken', { question: 'x' })).content[0]!;
  expect(text).toMatch(/^broken cannot work at the moment/);
  expect(JSON.stringify(crib.logged.map(({ facts }) => inspect(facts)))).toContain('TOOLCRIB_TEST_BAD_KEY');
});

test('an agent sees and calls only what its caller may', async () => {
  const { model, asked } = await startModel(({ results, question }) =>
    results.length > 0
      ? results.at(-1)!
      : question === 'wage'
        ? { tool: 'get_wage' }
        : { tool: 'get_order', args: { id: '7' } },
  );
  const wage = defineTool(
    { name: 'get_wage', description: 'Tells a wage.', annotations: readOnly },
    () => 'much',
  );
  const crib = await openCrib({
    offers: [orders, wage],
    config: {
      access: [
        { roles: ['lead'], tools: ['*'] },
        { tenants: ['south'], tools: ['ask_*'] },
        { tenants: ['north'], roles: ['staff'], tools: ['ask_*', 'get_order'] },
      ],
      agents: { support: { model, tools: '*', serve: true } },
    },
  });
  const ask = async (as: Holder, question: string): Promise<string> =>
    (await (await crib.connect(as)).call('ask_support', { question })).content[0]!.text;
  expect(await ask('ada', 'wage')).toContain('much');
  expect(await ask('bob', 'order')).toContain('order 7 of north');
  expect(await ask('bob', 'wage')).toContain('Unknown tool: get_wage');
  expect(await ask('cyn', 'order')).toContain('Unknown tool: get_order');
  const both = ['get_order', 'get_wage'];
  const [one, none] = [['get_order'], []];
  expect(asked.map(({ tools }) => tools)).toEqual([both, both, one, one, one, one, none, none]);
  const refused = crib.rowsOf('get_order').at(-1)!;
  expect(refused).toMatchObject({
    caller: 'cyn',
    chain: 'south',
    decision: 'refused',
    outcome: 'unknown_tool',
  });
  expect(crib.rowsOf('ask_support').map(({ call }) => call)).toContain(refused['within']);
  const guest = await crib.connect('guest');
  expect((await guest.list()).tools).toEqual([]);
  expect(
    (await guest.error('tools/call', { name: 'ask_support', arguments: { question: 'x' } })).message,
  ).toBe('Unknown tool: ask_support');
});

test('a tool that its rules do not grant does not exist for an agent, even if its caller may use it', async () => {
  const { model, asked } = await startModel(({ results }) =>
    results.length === 0 ? { tool: 'ping' } : results.at(-1)!,
  );
  const crib = await openCrib({
    offers: [orders],
    config: {
      tools: { modules: ['./tools/offers.mjs'], ready: { ping: {} } },
      agents: { support: { model, tools: { allow: '*', deny: ['pi*'] }, serve: true } },
    },
  });
  const peer = await crib.connect('ada');
  expect((await peer.call('ask_support', { question: 'x' })).content[0]!.text).toContain(
    'Unknown tool: ping',
  );
  expect(asked[0]!.tools).toEqual(['get_order']);
});

test('conditions and limits apply to each call of an agent', async () => {
  const { model } = await startModel(({ results }) =>
    results.length < 3 ? { tool: 'get_order', args: { id: String(results.length) } } : results.join(' | '),
  );
  const crib = await openCrib({
    offers: [orders],
    config: {
      access: [
        { roles: ['staff'], tools: ['ask_*'] },
        { roles: ['staff'], tools: ['get_order'], when: 'args.id != "0"', message: 'Not that one.' },
      ],
      stages: { rateLimit: { perTool: { get_order: 1 } } },
      agents: { support: { model, tools: ['get_order'], serve: true } },
    },
  });
  const peer = await crib.connect('ada');
  const { text } = (await peer.call('ask_support', { question: 'x' })).content[0]!;
  expect(text).toMatch(/Not that one\..*calls of get_order.*calls of get_order/s);
});

test('a budget ends a run, and the caller is told which budget', async () => {
  const { model } = await startModel(({ results }) => ({
    tool: 'get_order',
    args: { id: String(results.length) },
  }));
  const crib = await openCrib({
    offers: [orders],
    config: {
      // Its own call is the one that its caller has.
      stages: { concurrency: { perCaller: 1, waitSeconds: 1 } },
      agents: { support: { model, tools: ['get_order'], limits: { calls: 2 }, serve: true } },
    },
  });
  const peer = await crib.connect('ada');
  const result = await peer.call('ask_support', { question: 'x' });
  expect(result.isError).toBe(true);
  expect(result.content[0]!.text).toBe(
    'support did not finish. The run ended at its limit: 2 of 2 calls (limits.calls). Ask for less at a time, or have the operator raise that limit.',
  );
  expect(crib.rowsOf('get_order').map(({ outcome }) => outcome)).toEqual(['done', 'done']);
});

test('each caller has its own hourly token allowance', async () => {
  const { model } = await startModel(() => 'word '.repeat(200));
  const crib = await openCrib({
    config: { agents: { support: { model, serve: { tokensPerHour: 100 } } } },
  });
  const ask = async (as: Holder): Promise<ToolResult> =>
    (await crib.connect(as)).call('ask_support', { question: 'x' });
  expect((await ask('ada')).isError ?? false).toBe(false);
  expect((await ask('ada')).content[0]!.text).toContain(
    'You have used up what you may use of support in an hour',
  );
  expect((await ask('other ada')).isError ?? false).toBe(false);
  await crib.reload();
  expect((await ask('ada again')).isError).toBe(true);
  expect(crib.rowsOf('ask_support').map(({ outcome }) => outcome)).toContain('rate_limited');
});

test('a caller that disconnects before the answer still pays the tokens of its question', async () => {
  const { model, endpoint } = await startModel(() => undefined);
  const crib = await openCrib({
    config: { agents: { support: { model, serve: { tokensPerHour: 100 } } } },
  });
  const client = await open(crib.url, { headers: { authorization: `Bearer ${crib.keys.ada}` } });
  const stop = new AbortController();
  const question = 'word '.repeat(500);
  const ended = client.callTool('ask_support', { question }, { signal: stop.signal }).then(
    () => 'answered',
    () => 'stopped',
  );
  await expect.poll(() => endpoint.seen.length).toBe(1);
  stop.abort();
  expect(await ended).toBe('stopped');
  await expect
    .poll(() => crib.rowsOf('ask_support').some(({ outcome }) => outcome === 'cancelled'))
    .toBe(true);
  await expect.poll(() => endpoint.gone.count).toBe(1);
  expect(await client.callTool('ask_support', { question: 'x' }).text()).toContain('You have used up');
});

test('agents that call each other share a budget, and cannot call each other in a circle', async () => {
  const { model, asked } = await startModel(({ results, tools }) =>
    results.length === 0 && tools.length > 0 ? { tool: tools[0]!, args: { question: 'more' } } : 'enough',
  );
  const crib = await openCrib({
    config: {
      agents: {
        first: { model, agents: ['second'], limits: { turns: 3 }, serve: true },
        second: { model, agents: ['first', 'third'], serve: true },
        third: { model, agents: ['first', 'second'], serve: true },
      },
    },
  });
  const peer = await crib.connect('ada');
  const result = await peer.call('ask_first', { question: 'x' });
  const { text } = result.content[0]!;
  expect(asked.map(({ tools }) => tools)).toEqual([['ask_second'], ['ask_third'], []]);
  expect(text).toContain('3 of 3 turns (limits.turns)');
  const calls = new Map(crib.rows().map((row) => [row['call'], row]));
  const third = crib.rowsOf('ask_third')[0]!;
  expect(calls.get(third['within'])!['tool']).toBe('ask_second');
  // What an agent used that another one asked is counted once, for the one that used it.
  const { inputTokens, outputTokens } = (result['_meta'] as Record<string, Record<string, number>>)[
    'dev.toolcrib/agent'
  ]!;
  const counted = await tokensOf(crib);
  expect(counted).toHaveLength(3);
  expect(counted.reduce((sum, tokens) => sum + tokens, 0)).toBe(inputTokens! + outputTokens!);
});

async function tokensOf({ keys, port }: Awaited<ReturnType<typeof openCrib>>): Promise<readonly number[]> {
  const headers = { authorization: `Bearer ${keys.watcher}` };
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text();
  const lines = text.matchAll(/^toolcrib_agent_tokens_total\{agent="\w+"\} (\d+)$/gm);
  return Array.from(lines, ([, tokens]) => Number(tokens));
}

test('cancelling the call of an agent aborts the request to its model and stops its tool calls', async () => {
  let stopped: (() => void) | undefined;
  const hasStopped = new Promise<void>((resolve) => (stopped = resolve));
  let started: (() => void) | undefined;
  let hasStarted = new Promise<void>((resolve) => (started = resolve));
  const wait = defineTool(
    { name: 'wait', description: 'Waits.', annotations: readOnly },
    async (_args, { signal }) => {
      started!();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      stopped!();
    },
  );
  const { model, endpoint } = await startModel(({ question }) => {
    if (question !== 'think') return { tool: 'wait' };
    started!();
    return undefined;
  });
  const crib = await openCrib({
    offers: [wait],
    config: { agents: { support: { model, tools: ['wait'], serve: true } } },
  });
  const client = await open(crib.url, { headers: { authorization: `Bearer ${crib.keys.ada}` } });
  for (const question of ['call', 'think']) {
    hasStarted = new Promise<void>((resolve) => (started = resolve));
    const stop = new AbortController();
    const ended = client.callTool('ask_support', { question }, { signal: stop.signal }).then(
      () => 'answered',
      () => 'stopped',
    );
    await within(10_000, 'the agent at work', hasStarted);
    stop.abort();
    expect(await ended).toBe('stopped');
  }
  await within(10_000, 'the call that stops', hasStopped);
  await expect.poll(() => endpoint.gone.count).toBe(1);
  await expect
    .poll(() => crib.rowsOf('ask_support').filter(({ kind }) => kind === 'outcome'))
    .toHaveLength(2);
  const outcomes = crib.rowsOf('ask_support').flatMap(({ outcome }) => outcome ?? []);
  expect(outcomes).toEqual(['cancelled', 'cancelled']);
  expect(crib.rowsOf('wait')[0]).toMatchObject({ outcome: 'cancelled' });
});

test('an agent that takes too long ends at its time limit', async () => {
  const { model, endpoint } = await startModel(() => undefined);
  const crib = await openCrib({
    config: { agents: { support: { model, limits: { seconds: 0.2 }, serve: true } } },
  });
  const peer = await crib.connect('ada');
  const { text } = (await peer.call('ask_support', { question: 'x' })).content[0]!;
  expect(text).toContain('0.2 seconds of work (limits.seconds)');
  await expect.poll(() => endpoint.gone.count).toBe(1);
});

test('an agent makes no further call for a caller whose key was revoked', async () => {
  let started: (() => void) | undefined;
  const hasStarted = new Promise<void>((resolve) => (started = resolve));
  const { model, endpoint } = await startModel(() => {
    started!();
    return undefined;
  });
  const crib = await openCrib({ config: { agents: { support: { model, serve: true } } } });
  const peer = await crib.connect('ada');
  const ended = peer.request('tools/call', { name: 'ask_support', arguments: { question: 'x' } });
  await within(10_000, 'the agent at work', hasStarted);
  crib.gateway.server.dismiss(({ tenant }) => tenant.id === 'south');
  expect(endpoint.gone.count).toBe(0);
  crib.gateway.server.dismiss(({ id }) => id === 'ada');
  expect((await ended)?.error.message).toBe('Its caller no longer has access.');
  await expect.poll(() => endpoint.gone.count).toBe(1);
});

const wipe = defineTool({ name: 'wipe', description: 'Wipes.' }, () => 'wiped');

test.each(['2026-07-28', '2025-11-25'])(
  'a person behind a client of %s is asked to confirm calls of an agent; its model cannot confirm them',
  async (protocol) => {
    const { model } = await startModel(({ results }) =>
      results.length === 0 ? { tool: 'wipe', args: { confirmed: true } } : results.at(-1)!,
    );
    const crib = await openCrib({
      offers: [wipe],
      config: {
        stages: { approve: { when: [], tools: ['wipe'] } },
        agents: { support: { model, tools: ['wipe'], serve: true } },
      },
    });
    const headers = { authorization: `Bearer ${crib.keys.ada}` };
    const seen: string[] = [];
    const ask = async (agree: boolean | undefined): Promise<string> => {
      const form = ({ message }: { readonly message: string }) => {
        seen.push(message);
        return { action: 'accept' as const, content: { agree: agree! } };
      };
      const client = await open(crib.url, {
        protocol,
        headers,
        handlers: agree === undefined ? {} : { form },
      });
      return client.callTool('ask_support', { question: 'x' }).text();
    };
    expect(await ask(true)).toContain('wiped');
    expect(seen).toEqual(['The agent support wants to call wipe with {}. May it?']);
    expect(await ask(false)).toContain('the person you work for denied');
    expect(await ask(undefined)).toContain('nobody can be asked here');
    expect(crib.rowsOf('wipe').filter(({ outcome }) => outcome === 'done')).toHaveLength(1);
  },
);

test('a call that needs an operator’s approval cannot be approved by a caller', async () => {
  const { model } = await startModel(({ results }) =>
    results.length === 0 ? { tool: 'wipe' } : results.at(-1)!,
  );
  const crib = await openCrib({
    offers: [wipe],
    config: {
      stages: { approve: { mode: 'operator', when: [], tools: ['wipe'] } },
      agents: { support: { model, mode: 'balanced', tools: ['wipe'], serve: true } },
    },
  });
  const client = await open(crib.url, {
    headers: { authorization: `Bearer ${crib.keys.ada}` },
    handlers: { form: () => ({ action: 'accept', content: { agree: true } }) },
  });
  expect(await client.callTool('ask_support', { question: 'x' }).text()).toContain('a person has to approve');
  expect(crib.rowsOf('wipe').map(({ outcome }) => outcome)).toEqual(['approval_required']);
});

test('an agent in restricted mode is marked as read-only, and calls nothing that may change something', async () => {
  const { model } = await startModel(({ results }) =>
    results.length === 0 ? { tool: 'wipe' } : results.at(-1)!,
  );
  const crib = await openCrib({
    offers: [wipe],
    config: { agents: { reader: { model, mode: 'restricted', tools: ['wipe'], serve: true } } },
  });
  const peer = await crib.connect('ada');
  expect((await peer.list()).tools[0]).toMatchObject({
    name: 'ask_reader',
    annotations: { readOnlyHint: true },
  });
  const { text } = (await peer.call('ask_reader', { question: 'x' })).content[0]!;
  expect(text).toContain('not proven to be read-only');
  expect(crib.rowsOf('wipe')).toEqual([]);
});

test.each(['2026-07-28', '2025-11-25', '2025-06-18'])(
  'a question during a tool call of an agent reaches the person behind a client of %s',
  async (protocol) => {
    const { model } = await startModel(({ results }) =>
      results.length === 0 ? { tool: 'fill' } : results.at(-1)!,
    );
    const crib = await openCrib({
      config: {
        mcpServers: { desk: workbench({ protocol: '2025-11-25', tools: ['fill'] }) },
        agents: { support: { model, mcpServers: ['desk'], tools: ['desk.*'], serve: true } },
      },
    });
    const headers = { authorization: `Bearer ${crib.keys.ada}` };
    const asked: string[] = [];
    const progress: string[] = [];
    const client = await open(crib.url, {
      protocol,
      headers,
      handlers: {
        form: ({ message }) => {
          asked.push(message);
          return { action: 'accept', content: { colour: 'red' } };
        },
      },
    });
    const call = client.callTool(
      'ask_support',
      { question: 'x' },
      {
        onProgress: ({ message }) => progress.push(message ?? ''),
      },
    );
    expect(await call.text()).toContain('red');
    expect(asked).toHaveLength(1);
    expect(progress.slice(0, 2)).toEqual(['The model is asked.', 'fill is called.']);
    const unable = await open(crib.url, { protocol, headers });
    expect(await unable.callTool('ask_support', { question: 'x' }).text()).not.toContain('red');
  },
);

const paint = defineTool({ name: 'paint', description: 'Paints.' }, async (_args, { elicit }) => {
  const answer = await elicit({
    message: 'Which colour?',
    schema: { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] },
  });
  return answer.action === 'accept' ? `painted ${answer.content.colour}` : 'nothing';
});

test.each(kinds)(
  'the official client, $kind, calls an agent and answers its questions',
  async ({ connect }) => {
    const { model } = await startModel(({ results }) =>
      results.length === 0 ? { tool: 'paint' } : results.at(-1)!,
    );
    const crib = await openCrib({
      open: true,
      offers: [paint],
      config: { agents: { painter: { model, tools: ['paint'], serve: true } } },
    });
    const client = await connect({ url: crib.url });
    onTestFinished(() => client.close());
    const progress: unknown[] = [];
    const result = await client.callTool(
      'ask_painter',
      { question: 'Paint.' },
      { onprogress: ({ message }) => progress.push(message) },
    );
    expect(result.content[0]!['text']).toBe('painted red');
    expect(progress).toContain('paint is called.');
  },
);

test('the API key of a model cannot be read anywhere', async () => {
  const leak = defineTool(
    { name: 'leak', description: 'Leaks.', annotations: readOnly },
    () => `it is ${MODEL_KEY}`,
  );
  const { model, endpoint } = await startModel(({ results }) =>
    results.length === 0 ? { tool: 'leak' } : `${results.at(-1)} and ${MODEL_KEY}`,
  );
  const refusing = await startEndpoint((response) =>
    response
      .writeHead(400, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { message: `bad key ${MODEL_KEY}` } })),
  );
  onTestFinished(() => refusing.close());
  const crib = await openCrib({
    offers: [leak],
    config: {
      stages: { audit: { arguments: 'preview' } },
      agents: {
        support: { model, tools: ['leak'], serve: true },
        broken: { model: { ...model, baseUrl: refusing.url }, serve: true },
      },
    },
  });
  const peer = await crib.connect('ada');
  const results = [
    await peer.call('ask_support', { question: 'x' }),
    await peer.call('ask_broken', { question: 'x' }),
  ];
  expect(endpoint.seen[0]!.headers.authorization).toBe(`Bearer ${MODEL_KEY}`);
  expect(results[1]!.content[0]!.text).toMatch(/^broken cannot work at the moment/);
  const everywhere = JSON.stringify([results, crib.rows(), crib.logged.map(({ facts }) => inspect(facts))]);
  expect(everywhere).not.toContain(MODEL_KEY);
  expect(JSON.stringify(results)).not.toContain(refusing.url);
});

test('an agent whose model does not answer is reported as unavailable, without details', async () => {
  const { model } = await startModel(() => 'never');
  const crib = await openCrib({
    config: { agents: { support: { model: { ...model, baseUrl: 'http://127.0.0.1:9' }, serve: true } } },
  });
  const peer = await crib.connect('ada');
  const result = await peer.call('ask_support', { question: 'x' });
  expect(result.content[0]!.text).toBe(
    'The model of support does not answer right now, so there is no answer; try again later.',
  );
});

test('an agent with an output schema returns structured data', async () => {
  const { model } = await startModel(() => '{"total": 3}');
  const output = { type: 'object', properties: { total: { type: 'integer' } }, required: ['total'] };
  const crib = await openCrib({ config: { agents: { sum: { model, output, serve: true } } } });
  const peer = await crib.connect('ada');
  expect((await peer.call('ask_sum', { question: 'x' })).structuredContent).toEqual({ total: 3 });
});

test('a reload replaces agents; a running question is finished by the old one', async () => {
  let release: (() => void) | undefined;
  let started: (() => void) | undefined;
  const hasStarted = new Promise<void>((resolve) => (started = resolve));
  const slow = defineTool({ name: 'slow', description: 'Takes time.', annotations: readOnly }, async () => {
    started!();
    await new Promise<void>((resolve) => (release = resolve));
    return 'slowly';
  });
  const { model, asked } = await startModel(({ results }) =>
    results.length === 0 ? { tool: 'slow' } : results.at(-1)!,
  );
  const crib = await openCrib({
    offers: [slow],
    config: { agents: { support: { model, instructions: 'Old.', tools: ['slow'], serve: true } } },
  });
  const peer = await crib.connect('ada');
  const before = peer.call('ask_support', { question: 'x' });
  await within(10_000, 'the call of the agent', hasStarted);
  crib.configure({
    agents: { support: { model, instructions: 'New.', serve: true }, other: { model, serve: true } },
  });
  await crib.reload();
  expect((await peer.list()).tools.map(({ name }) => name)).toEqual(['ask_other', 'ask_support', 'slow']);
  release!();
  expect((await before).content[0]!.text).toContain('slowly');
  await peer.call('ask_support', { question: 'x' });
  expect(asked.map(({ system, tools }) => [system, tools])).toEqual([
    ['Old.', ['slow']],
    ['Old.', ['slow']],
    ['New.', []],
    ['New.', []],
  ]);
});

test('an agent that is not served is not a tool, and does not replace a tool of the same name', async () => {
  const { model } = await startModel(() => 'x');
  const taken = defineTool({ name: 'ask_support', description: 'Asks support.' }, () => 'mine');
  const crib = await openCrib({ offers: [taken], config: { agents: { support: { model } } } });
  const peer = await crib.connect('ada');
  expect((await peer.list()).tools.map(({ name }) => name)).toEqual(['ask_support']);
  expect((await peer.call('ask_support')).content[0]!.text).toBe('mine');
  crib.configure({ agents: { support: { model, serve: true } } });
  await expect(crib.reload()).rejects.toThrow(
    'would be asked by the tool ask_support, which there is already',
  );
});
