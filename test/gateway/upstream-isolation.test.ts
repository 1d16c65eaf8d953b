import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/index.ts';
import { ECHO, makeUp, said, serve, standard, type Got } from '../client/peers.ts';
import { openCrib, type Crib, type Holder } from '../gateway.ts';
import { propertyRuns } from '../property-runs.ts';
import type { Peer } from '../behaviour/peer.ts';
import { answerHandshake } from './bridge.ts';
import { scripted } from './upstream-programs.ts';

const mix = defineTool(
  {
    name: 'mix',
    description: 'Says what it is given.',
    input: z.object({ marker: z.string(), ms: z.number(), steps: z.number() }),
  },
  async ({ marker, ms, steps }, { progress }) => {
    for (let step = 1; step <= steps; step++) {
      progress(step, steps, `${marker} ${step}`);
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
    return `${marker} ${steps}, served anybody`;
  },
);

/** A server of 2025-11-25 that says with every answer whom it has heard in the same session. */
async function remembering(): Promise<string> {
  const sessions = new Map<string, Set<string>>();
  const { url } = await makeUp((got) => {
    const { body, request, response } = got;
    const { marker, steps } = (body['params'] as { arguments?: { marker: string; steps: number } })
      ?.arguments ?? { marker: '', steps: 0 };
    switch (body['method']) {
      case 'initialize': {
        const id = `session-${sessions.size}`;
        sessions.set(id, new Set());
        response.setHeader('mcp-session-id', id);
        return void answerHandshake(got);
      }
      case 'tools/list':
        return got.reply({ tools: [{ ...ECHO, name: 'mix' }] });
      case 'tools/call': {
        const heard = sessions.get(String(request.headers['mcp-session-id']))!.add(marker);
        const { progressToken } = (body['params'] as { _meta: { progressToken: unknown } })._meta;
        const say = got.stream();
        for (let progress = 1; progress <= steps; progress++)
          say({
            method: 'notifications/progress',
            params: { progressToken, progress, message: `${marker} ${progress}` },
          });
        say({ id: body['id'], result: said(`${marker} ${steps}, served ${[...heard].join()}`) });
        return void response.end();
      }
    }
    if (!answerHandshake(got)) got.refuse(-32601, 'No such method.');
  });
  return url;
}

const CELLS = ['lines_old', 'lines_new', 'web_old', 'web_new', 'sessions'];
const KEEPS_CALLERS = new Set(['lines_old', 'sessions']);

/** One tool behind servers of both eras and over both transports. */
async function openMixed(): Promise<Crib> {
  const url = await serve([mix]);
  const modern = scripted('mixing') as { args: string[] };
  return openCrib({
    config: {
      mcpServers: {
        lines_old: scripted('mixing', { tools: ['mix'] }),
        lines_new: { ...modern, args: [...modern.args, '2026-07-28'], tools: ['mix'] } as never,
        web_old: { url, protocol: '2025-11-25' },
        web_new: { url },
        sessions: { url: await remembering(), protocol: '2025-11-25' },
      },
      stages: { rateLimit: false, concurrency: false, circuitBreak: false },
    },
  });
}

// Somebody of each tenant, a colleague, and two who have the same name in different ones.
const WHO = ['ada', 'bob', 'cyn', 'other ada'] as const satisfies readonly Holder[];
const markerOf = (who: number): string => `marker-of-${WHO[who]!.replaceAll(' ', '-')}-${who}`;

interface Step {
  readonly who: number;
  readonly cell: number;
  readonly ms: number;
  readonly steps: number;
}

/** Makes one call with the same token as everybody, and checks that everything that came back is its own. */
async function perform(peer: Peer, { who, cell, ms, steps }: Step): Promise<void> {
  const marker = markerOf(who);
  const heard: unknown[] = [];
  const params = {
    name: `${CELLS[cell]}__mix`,
    arguments: { marker, ms, steps },
    _meta: { progressToken: 'same' },
  };
  const result = await peer.result('tools/call', params, {
    onNotification: (message) => heard.push(message),
  });
  // A program that keeps data of its callers has served one caller only.
  const served = KEEPS_CALLERS.has(CELLS[cell]!) ? marker : 'anybody';
  expect(result['content']).toEqual([{ type: 'text', text: `${marker} ${steps}, served ${served}` }]);
  if (steps > 0) expect(heard).not.toEqual([]);
  for (const message of heard)
    expect(message).toMatchObject({
      params: { progressToken: 'same', message: expect.stringContaining(marker) },
    });
}

test.each(['2026-07-28', '2025-11-25'])(
  'A10 equal calls of different tenants never mix, whatever the servers speak (%s)',
  { timeout: 120_000 },
  async (version) => {
    const crib = await openMixed();
    const peers = await Promise.all(WHO.map((who) => crib.connect(who, { version })));
    await Promise.all(
      peers.map((peer, who) =>
        Promise.all(CELLS.map((_, cell) => perform(peer, { who, cell, ms: 1, steps: 1 }))),
      ),
    );
    const step = fc.record({
      who: fc.nat(WHO.length - 1),
      cell: fc.nat(CELLS.length - 1),
      ms: fc.nat(3),
      steps: fc.nat(3),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 20 }), async (steps) => {
        await Promise.all(steps.map((one) => perform(peers[one.who]!, one)));
      }),
      { numRuns: propertyRuns(100) },
    );
    for (const [who, peer] of peers.entries())
      for (const other of WHO.keys())
        if (other !== who) expect(peer.wire.heard.join('\n')).not.toContain(markerOf(other));
  },
);

const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

/** A server of 2025-11-25 that gives every session the same name for its task. */
async function tasking(): Promise<string> {
  const results = new Map<string, string>();
  let sessions = 0;
  const task = { taskId: 'task-1', createdAt: '2026-01-01T00:00:00Z', ttl: 60_000, pollInterval: 50 };
  const { url } = await makeUp((got) => {
    const { body, request, response } = got;
    const session = String(request.headers['mcp-session-id']);
    switch (body['method']) {
      case 'initialize':
        response.setHeader('mcp-session-id', `session-${sessions++}`);
        return void answerHandshake(got, { tasks: { requests: { tools: { call: {} } } } });
      case 'tools/list':
        return got.reply({ tools: [{ ...ECHO, execution: { taskSupport: 'required' } }] });
      case 'tools/call':
        results.set(session, (body['params'] as { arguments: { text: string } }).arguments.text);
        return got.reply({ task: { ...task, status: 'working' } });
      case 'tasks/get':
        return got.reply({ ...task, status: 'completed' });
      case 'tasks/result':
        return got.reply(said(results.get(session) ?? 'nothing'));
    }
    if (!answerHandshake(got)) got.refuse(-32601, 'No such method.');
  });
  return url;
}

test('A9 equal task ids of a server are kept apart, and a task id works for its own caller only', async () => {
  const crib = await openCrib({
    config: { mcpServers: { old: { url: await tasking(), protocol: '2025-11-25' } } },
  });
  const peers = await Promise.all(WHO.map((who) => crib.connect(who, { capabilities: TASKS })));
  const ids = await Promise.all(
    peers.map(async (peer, who) => {
      const call = { name: 'echo', arguments: { text: markerOf(who) } };
      return String((await peer.result('tools/call', call))['taskId']);
    }),
  );
  expect(new Set(ids).size).toBe(WHO.length);
  expect(ids).not.toContain('task-1');
  for (const [who, peer] of peers.entries()) {
    const own = async (): Promise<string> =>
      JSON.stringify(await peer.result('tasks/get', { taskId: ids[who] }));
    await expect.poll(own, { timeout: 5_000 }).toContain(markerOf(who));
    for (const other of ids.keys())
      if (other !== who) expect((await peer.error('tasks/get', { taskId: ids[other] })).code).toBe(-32602);
    for (const other of WHO.keys())
      if (other !== who) expect(peer.wire.heard.join('\n')).not.toContain(markerOf(other));
  }
});

test('a program that keeps data of its callers is started for each of them', async () => {
  const crib = await openCrib({ config: { mcpServers: { desk: scripted('mixing') } } });
  const [ada, bob, cyn] = await Promise.all([crib.connect('ada'), crib.connect('bob'), crib.connect('cyn')]);
  await ada.call('mix', { marker: 'of ada', ms: 0, steps: 0 });
  for (const [peer, text] of [
    [ada, 'of ada'],
    [bob, 'nothing'],
    [cyn, 'nothing'],
  ] as const)
    expect((await peer.call('recall')).content[0]!.text).toBe(text);
});

/** A server that lists other tools to each account. */
async function listing(toolsOf: (authorization: string) => readonly string[]): Promise<string> {
  const { url } = await makeUp((got) => {
    const { method } = got.body as { method: string };
    const account = String(got.request.headers.authorization).replace('Bearer ', '');
    const tools = toolsOf(account).map((name) => ({
      name,
      description: 'x',
      inputSchema: { type: 'object' },
    }));
    if (method === 'tools/list') return got.reply({ tools, ttlMs: 0, cacheScope: 'public' });
    if (method === 'tools/call') return got.reply(said(account.slice(0, 5)));
    return standard(got);
  });
  return url;
}

const byTenant = { north: { bearer: 'north-account' }, south: { bearer: 'south-account' } };
const namesOf = async (peer: Peer, params?: object): Promise<unknown[]> =>
  (await peer.list({ ...params })).tools.map(({ name }) => name);

test('a tool that only another tenant sees does not change the names of tools, whoever lists first', async () => {
  const first = await listing(() => ['search']);
  const second = await listing((account) => (account === 'north-account' ? ['search', 'more'] : ['more']));
  const crib = await openCrib({
    config: { mcpServers: { a: { url: first }, b: { url: second, credential: { byTenant } } } },
  });
  const [ada, cyn] = await Promise.all([crib.connect('ada'), crib.connect('cyn')]);
  expect(await namesOf(ada)).toEqual(['a__search', 'b__search', 'more']);
  expect(await namesOf(cyn)).toEqual(['more', 'search']);
  expect((await cyn.call('search')).content[0]!.text).toBe('undef');
  expect((await cyn.call('more')).content[0]!.text).toBe('south');
  expect((await ada.call('b__search')).content[0]!.text).toBe('north');
  const refused = await cyn.error('tools/call', { name: 'b__search', arguments: {} });
  expect(refused.message).toBe('Unknown tool: b__search');
});

test('a list cursor of one tenant shows another tenant nothing of its list', async () => {
  const url = await listing((account) =>
    ['one', 'two', 'three'].map((name) => `${name}_${account.slice(0, 5)}`),
  );
  const crib = await openCrib({
    config: { mcpServers: { web: { url, credential: { byTenant } } }, server: { pageSize: 1 } },
  });
  const [ada, cyn] = await Promise.all([crib.connect('ada'), crib.connect('cyn')]);
  const { nextCursor: cursor } = (await ada.list()) as { nextCursor?: string };
  expect(cursor).toBeTypeOf('string');
  const answer = await cyn.request('tools/list', { cursor });
  expect(JSON.stringify(answer)).not.toContain('north');
});

test('A10 callers do not share a session with a server that has sessions only since it was reconnected', async () => {
  let isOld = false;
  let sessions = 0;
  let calls: Got[] = [];
  const server = await makeUp((got) => {
    const { response, body } = got;
    if (body['method'] === 'tools/call') {
      calls.push(got);
      // Both are answered only once both are there.
      if (calls.length === 2) for (const call of calls) call.reply(said('done'));
      return;
    }
    if (!isOld || body['method'] === 'tools/list') return standard(got);
    if (body['method'] === 'server/discover') return got.refuse(-32601, 'No such method.', { status: 404 });
    if (body['method'] !== 'initialize') return void response.writeHead(202).end();
    response.setHeader('mcp-session-id', `session-${++sessions}`);
    const serverInfo = { name: 'old', version: '1' };
    return got.reply({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo });
  });
  const crib = await openCrib({
    config: { mcpServers: { web: { url: server.url, lifetimeSeconds: 0.001 } } },
  });
  const [ada, bob] = [await crib.connect('ada'), await crib.connect('cyn')];
  expect((await ada.list()).tools).toHaveLength(1);
  isOld = true;
  const sessionsUsed = async (): Promise<unknown[]> => {
    calls = [];
    await Promise.all([ada.call('echo'), bob.call('echo')]);
    return calls.map(({ request }) => request.headers['mcp-session-id']);
  };
  // A fast machine makes the first calls before the connection is old enough to be made again.
  let used = await sessionsUsed();
  for (let round = 0; round < 50 && used.includes(undefined); round++) used = await sessionsUsed();
  expect(used).not.toContain(undefined);
  expect(new Set(used).size).toBe(2);
});
