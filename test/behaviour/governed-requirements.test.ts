import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  localCaller,
} from '../../src/index.ts';
import type { Clock } from '../../src/base/clock.ts';
import { Deadlines } from '../../src/base/deadlines.ts';
import { ToolRegistry } from '../../src/core/registry.ts';
import { withStages } from '../../src/core/stage.ts';
import { createGateway } from '../../src/gateway/create-gateway.ts';
import { defaultConfig } from '../../src/gateway/settings/default-config.ts';
import { createLasting } from '../../src/gateway/lasting.ts';
import { createStandardStages, type StandardStages } from '../../src/gateway/standard-stages.ts';
import { loadConfig } from '../../src/gateway/settings/load-config.ts';
import { openStore } from '../../src/gateway/open-store.ts';
import { Secrets } from '../../src/observe/secrets.ts';
import { createFakeClock, createTestCall } from '../../src/testing.ts';
import { everythingForStaff, openCrib, type Crib } from '../gateway.ts';
import { echo, reads, textInput, versions } from './governed-tools.ts';
import type { Json, Peer } from './peer.ts';

// The code by which a result or an error says why there was no other.
const codeOf = (answer: Json): unknown =>
  ((answer['_meta'] as Json | undefined)?.['dev.toolcrib/error'] as Json | undefined)?.['code'];

test('the call beyond the limit is refused in every revision, and other callers are not affected (000-37, 003-20, 004-18)', async () => {
  const { tool, ran } = echo();
  const crib = await openCrib({ offers: [tool], config: { stages: { rateLimit: { perMinute: 1 } } } });
  expect((await (await crib.connect('ada')).call('echo', { text: 'x' })).isError ?? false).toBe(false);
  for (const version of versions) {
    const refused = await (await crib.connect('ada', { version })).call('echo', { text: version });
    expect([version, refused.isError, refused.content[0]!.text]).toEqual([
      version,
      true,
      expect.stringMatching(/^Too many calls; try again in \d+ s\.$/),
    ]);
    if (version === '2026-07-28') expect(codeOf(refused)).toBe('rate_limited');
  }
  expect((await (await crib.connect('bob')).call('echo', { text: 'y' })).isError ?? false).toBe(false);
  expect(ran).toEqual(['x', 'y']);
});

test('control: without the stage the same calls all run (000-37)', async () => {
  const { tool, ran } = echo();
  const crib = await openCrib({ offers: [tool], config: { stages: { rateLimit: false } } });
  const peer = await crib.connect('ada');
  for (let i = 0; i < 5; i++) await peer.call('echo', { text: String(i) });
  expect(ran).toHaveLength(5);
});

test('input reaches tools, prompts and completions without control characters, within limits of length and depth (000-38)', async () => {
  const { tool, ran } = echo();
  const prompted: unknown[] = [];
  const completed: unknown[] = [];
  const prompt = definePrompt(
    {
      name: 'greet',
      arguments: {
        who: {
          complete: (value) => {
            completed.push(value);
            return [];
          },
        },
      },
    },
    ({ who }) => {
      prompted.push(who);
      return 'Hello.';
    },
  );
  const crib = await openCrib({
    offers: [tool, prompt],
    config: { stages: { sanitizeInput: { maxStringLength: 20, maxDepth: 2 } } },
  });
  for (const version of versions) {
    const peer = await crib.connect('ada', { version });
    await peer.call('echo', { text: 'a\0b\u001B[31mc\u0007\u0085' });
    await peer.result('prompts/get', { name: 'greet', arguments: { who: 'x\0y' } });
    await peer.result('completion/complete', {
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'who', value: 'v\u0007w' },
    });
    const long = await peer.call('echo', { text: 'z'.repeat(21) });
    expect(long.isError).toBe(true);
    const deep = await peer.call('echo', { text: 'z', more: { deeper: { still: {} } } });
    expect(deep.isError).toBe(true);
  }
  expect(ran).toEqual(versions.map(() => 'ab[31mc'));
  expect(prompted).toEqual(versions.map(() => 'xy'));
  expect(completed).toEqual(versions.map(() => 'vw'));
});

test('control: without the stage control characters do reach the tool (000-38)', async () => {
  const { tool, ran } = echo();
  const crib = await openCrib({ offers: [tool], config: { stages: { sanitizeInput: false } } });
  await (await crib.connect('ada')).call('echo', { text: 'a\0b' });
  expect(ran).toEqual(['a\0b']);
});

test('every call is on record before it is answered: who, what, which rule, which outcome, in every revision (000-39, 003-21, 004-20)', async () => {
  const { tool } = echo();
  const crib = await openCrib({
    offers: [
      tool,
      defineTool({ name: 'fail', description: 'Fails.', ...reads }, () => {
        throw new Error('boom');
      }),
    ],
  });
  for (const version of versions) {
    const before = crib.rows().length;
    const peer = await crib.connect('ada', { version });
    await peer.call('echo', { text: 'x' });
    await peer.call('echo', { text: 1 });
    await peer.call('fail');
    await peer.error('tools/call', { name: 'no_such_tool', arguments: {} });
    const who = { kind: 'call', tenant: 'north', caller: 'ada', credential: 'key_0', protocol: version };
    expect(crib.rows().slice(before)).toMatchObject([
      { ...who, tool: 'echo', decision: 'allowed', outcome: 'done', rule: 'access[0]' },
      { ...who, tool: 'echo', decision: 'refused', outcome: 'invalid_arguments' },
      { ...who, tool: 'fail', decision: 'allowed', outcome: 'tool_failed' },
      { ...who, tool: 'no_such_tool', decision: 'refused', outcome: 'unknown_tool' },
    ]);
  }
});

test('the record cannot be switched off where callers are told apart (000-39)', async () => {
  const crib = await openCrib({ offers: [echo().tool] });
  crib.configure({ stages: { audit: false } });
  await expect(crib.reload()).rejects.toThrow(/stages\.audit/);
});

test('a tool that checks the owner of a record refuses other callers before it runs, in every revision (000-40)', async () => {
  const ran: unknown[] = [];
  const tool = defineTool(
    {
      name: 'read_file',
      description: 'Reads a file of its owner.',
      input: { properties: { owner: { type: 'string' } }, required: ['owner'] },
      authorize: ({ owner }, caller) => owner === caller.id || 'This file belongs to somebody else.',
      ...reads,
    },
    ({ owner }) => {
      ran.push(owner);
      return 'content';
    },
  );
  const crib = await openCrib({ offers: [tool] });
  for (const version of versions) {
    const peer = await crib.connect('bob', { version });
    const refused = await peer.call('read_file', { owner: 'ada' });
    expect([version, refused.isError, refused.content[0]!.text]).toEqual([
      version,
      true,
      expect.stringContaining('This file belongs to somebody else.'),
    ]);
    expect((await peer.call('read_file', { owner: 'bob' })).content[0]!.text).toBe('content');
  }
  expect(ran).toEqual(versions.map(() => 'bob'));
  expect(crib.rowsOf('read_file').map(({ outcome }) => outcome)).toEqual(
    versions.flatMap(() => ['refused', 'done']),
  );
});

test('a call that times out says so, aborts its tool and is on record (000-41)', async () => {
  const reasons: unknown[] = [];
  const tool = defineTool(
    { name: 'hang', description: 'Never ends.', ...reads },
    (_args, { signal }) =>
      new Promise(() => {
        signal.addEventListener('abort', () => reasons.push(signal.reason));
      }),
  );
  const crib = await openCrib({ offers: [tool], config: { stages: { timeout: { seconds: 0.1 } } } });
  for (const version of versions) {
    const stopped = await (await crib.connect('ada', { version })).call('hang');
    expect([version, stopped.isError, stopped.content[0]!.text]).toEqual([
      version,
      true,
      expect.stringContaining('hang'),
    ]);
  }
  expect(reasons).toHaveLength(versions.length);
  expect(crib.rowsOf('hang').map(({ outcome }) => outcome)).toEqual(versions.map(() => 'timed_out'));
});

test('with the time limit switched off, a call and a resource read still end after an hour (000-41)', async () => {
  const clock = createFakeClock();
  const started: string[] = [];
  const reasons: unknown[] = [];
  const hang = (kind: string, signal: AbortSignal): Promise<never> => {
    started.push(kind);
    return new Promise(() => {
      signal.addEventListener('abort', () => reasons.push(signal.reason));
    });
  };
  const tool = defineTool({ name: 'hang', description: 'Never ends.' }, (_args, { signal }) =>
    hang('tool', signal),
  );
  const resource = defineResource({ uri: 'note://hang', name: 'hang' }, (_uri, { signal }) =>
    hang('resource', signal),
  );
  const stages = await stagesWithoutTimeout(clock);
  const registry = new ToolRegistry().registerTool(tool).registerResource(resource);
  const source = withStages(registry, stages.inOrder);
  const call = createTestCall(tool);
  const reading = { ...createTestCall(tool), kind: 'resource' as const, resource, uri: 'note://hang' };
  const endings: string[] = [];
  for (const ending of [source.call(call), source.call({ ...reading, variables: {} })])
    Promise.resolve(ending).then(
      () => endings.push('done'),
      (error: unknown) => endings.push((error as { code: string }).code),
    );
  await expect.poll(() => started).toHaveLength(2);
  clock.advance(3_600_000 - 1);
  await new Promise(setImmediate);
  expect([reasons, endings, stages.tally.underWay]).toEqual([[], [], 2]);
  clock.advance(1);
  await expect.poll(() => endings).toEqual(['timed_out', 'timed_out']);
  expect(reasons).toEqual([
    expect.objectContaining({ code: 'timed_out' }),
    expect.objectContaining({ code: 'timed_out' }),
  ]);
  expect(stages.tally.underWay).toBe(0);
});

// The stages of a server whose configuration says that nothing ever takes too long.
async function stagesWithoutTimeout(clock: Clock): Promise<StandardStages> {
  const { config, folder } = defaultConfig();
  const without = { ...config, stages: { ...config.stages, timeout: false as const } };
  const log = (): void => {};
  const lasting = createLasting(await openStore({ config: without, folder }, log), log, new Secrets());
  return createStandardStages(without, { ...lasting, clock, deadlines: new Deadlines(clock) }, {});
}

test('no configuration can set a longer time limit (000-41)', async () => {
  const crib = await openCrib({ offers: [echo().tool], config: { stages: { timeout: { seconds: 3600 } } } });
  crib.configure({ stages: { timeout: { seconds: 3601 } } });
  await expect(crib.reload()).rejects.toThrow(/timeout/);
});

test('a handler gets the tenant from the credential alone, by both names, and a tenant without a name is Unknown (001-55)', async () => {
  const tool = defineTool({ name: 'who', description: 'Says who.', ...reads }, (_args, context) => ({
    tenant: context.tenant.id,
    data: context.tenant.data,
    context_data: context.context_data,
  }));
  const crib = await openCrib({ offers: [tool] });
  for (const version of versions) {
    const said = async (as: 'ada' | 'cyn'): Promise<unknown> => {
      const peer = await crib.connect(as, { version });
      const claimed = { tenant: 'west', context_data: { id: 'west' } };
      const { content } = (await peer.result('tools/call', {
        name: 'who',
        arguments: {},
        _meta: { ...claimed },
      })) as { content: { text: string }[] };
      return JSON.parse(content[0]!.text);
    };
    expect(await said('ada')).toEqual({
      tenant: 'north',
      data: { plan: 'pro' },
      context_data: { plan: 'pro', id: 'north', name: 'North' },
    });
    expect(await said('cyn')).toEqual({
      tenant: 'south',
      data: {},
      context_data: { id: 'south', name: 'Unknown' },
    });
  }
});

test('an expensive result is cached by arguments and caller, and the record says that it came from the cache (001-56)', async () => {
  let runs = 0;
  const tool = defineTool(
    { name: 'report', description: 'Takes long.', input: textInput, cache: { seconds: 300 }, ...reads },
    (args, { caller }) => `${caller.tenant.id}/${caller.id}/${args.text}/${++runs}`,
  );
  const crib = await openCrib({ offers: [tool] });
  const [ada, bob, cyn] = [await crib.connect('ada'), await crib.connect('bob'), await crib.connect('cyn')];
  const ask = async (peer: Peer, about: string): Promise<string> =>
    (await peer.call('report', { text: about })).content[0]!.text;
  expect(await ask(ada, 'a')).toBe('north/ada/a/1');
  expect(await ask(ada, 'a')).toBe('north/ada/a/1');
  expect(await ask(ada, 'b')).toBe('north/ada/b/2');
  expect(await ask(bob, 'a')).toBe('north/bob/a/3');
  expect(await ask(cyn, 'a')).toBe('south/cyn/a/4');
  for (const version of versions.slice(1))
    expect(await ask(await crib.connect('ada', { version }), 'a')).toBe('north/ada/a/1');
  const from = crib.rowsOf('report').map((row) => [row['caller'], row['from']]);
  expect(from.slice(0, 5)).toEqual([
    ['ada', undefined],
    ['ada', 'cache'],
    ['ada', undefined],
    ['bob', undefined],
    ['cyn', undefined],
  ]);
  expect(from.slice(5)).toEqual(versions.slice(1).map(() => ['ada', 'cache']));
});

test('a resource that a module opens is opened once and shared by all calls (001-56)', async () => {
  const module = `
    let opened = 0;
    const pool = { id: ++opened, used: 0 };
    export const query = {
      name: 'query', description: 'Uses the pool.', inputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
      handler: () => pool.id + '/' + ++pool.used + '/' + opened,
    };`;
  const crib = await openCrib({
    files: { 'tools/pool.mjs': module },
    config: { tools: { modules: ['./tools/pool.mjs'], ready: {} } },
  });
  const said: string[] = [];
  for (const as of ['ada', 'bob', 'cyn'] as const)
    said.push((await (await crib.connect(as)).call('query')).content[0]!.text);
  expect(said).toEqual(['1/1/1', '1/2/1', '1/3/1']);
});

test('input is checked against the schema, and the response says what is wrong (001-57)', async () => {
  const { tool, ran } = echo();
  const crib = await openCrib({ offers: [tool] });
  for (const version of versions) {
    const peer = await crib.connect('ada', { version });
    for (const args of [{}, { text: 1 }, { text: null }, { text: ['x'] }]) {
      const { isError, content } = await peer.call('echo', args);
      expect([version, isError, content[0]!.text]).toEqual([version, true, expect.stringContaining('text')]);
    }
  }
  expect(ran).toEqual([]);
});

test('terminal escape sequences and hidden instructions are removed from output (001-57)', async () => {
  const hostile = '\u001B]0;owned\u0007ok\u001B[2J\u202Etxt\u{E0041}\u200B';
  const tool = defineTool({ name: 'hostile', description: 'Answers.', ...reads }, () => hostile);
  const crib = await openCrib({ offers: [tool] });
  for (const version of versions)
    expect((await (await crib.connect('ada', { version })).call('hostile')).content[0]!.text).toBe('oktxt');
  crib.configure({ stages: { sanitize: false } });
  await crib.reload();
  expect((await (await crib.connect('ada')).call('hostile')).content[0]!.text).toBe(hostile);
});

test('no input of a caller becomes part of a query’s text (001-57)', async () => {
  const tool = defineTool(
    { name: 'act', description: 'Acts.', input: textInput },
    (args: { text: string }) => args.text,
  );
  const crib = await openCrib({ offers: [tool] });
  const attacks = [
    `'; drop table journal; --`,
    `' or '1'='1`,
    `"); delete from keys; --`,
    `\\'; update tenants set disabled=1; --`,
  ];
  const peer = await crib.connect('ada');
  const post = async (headers: Record<string, string>): Promise<number> => {
    const authorization = `Bearer ${crib.keys.ada}`;
    const all = { authorization, 'content-type': 'application/json', accept: 'application/json', ...headers };
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    return (await fetch(crib.url, { method: 'POST', headers: all, body })).status;
  };
  for (const attack of attacks) {
    const _meta = { 'dev.toolcrib/idempotencyKey': attack.replaceAll(' ', '/**/') };
    const done = await peer.result('tools/call', { name: 'act', arguments: { text: attack }, _meta });
    expect(done['content']).toMatchObject([{ text: attack }]);
    expect(await post({ 'mcp-session-id': attack })).toBe(404);
    expect(await post({ authorization: `Bearer ${attack}` })).toBe(401);
    expect(await peer.error('tools/call', { name: attack, arguments: {} })).toMatchObject({ code: -32602 });
    const { status } = await fetch(`${new URL(crib.url).origin}/t/${encodeURIComponent(attack)}/mcp`);
    expect([401, 404]).toContain(status);
    await expect(
      (await crib.connect('ada', { capabilities: tasks })).error('tasks/get', { taskId: attack }),
    ).resolves.toMatchObject({ code: -32602 });
  }
  expect((await (await crib.connect('cyn')).call('act', { text: 'x' })).isError ?? false).toBe(false);
  expect(crib.rowsOf('act')).toHaveLength(2 * (attacks.length + 1));
});

const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

test('only tools that a rule lists can be used (001-57)', async () => {
  const [listed, other] = [echo('listed'), echo('other')];
  const crib = await openCrib({
    offers: [listed.tool, other.tool],
    config: { access: [{ roles: ['staff'], tools: ['listed'] }] },
  });
  for (const version of versions) {
    const peer = await crib.connect('ada', { version });
    expect((await peer.list()).tools.map(({ name }) => name)).toEqual(['listed']);
    await peer.call('listed', { text: version });
    expect(await peer.error('tools/call', { name: 'other', arguments: { text: 'x' } })).toEqual({
      ...(await peer.error('tools/call', { name: 'never', arguments: { text: 'x' } })),
      message: 'Unknown tool: other',
    });
  }
  expect([listed.ran, other.ran]).toEqual([[...versions], []]);
});

test('an expensive tool has a rate limit of its own (001-57)', async () => {
  const [cheap, dear] = [echo('cheap'), echo('dear_report')];
  const crib = await openCrib({
    offers: [cheap.tool, dear.tool],
    config: { stages: { rateLimit: { perTool: { 'dear_*': 1 } } } },
  });
  const peer = await crib.connect('ada');
  const outcomes = [];
  for (const name of ['dear_report', 'dear_report', 'cheap', 'cheap'])
    outcomes.push((await peer.call(name, { text: 'x' })).isError ?? false);
  expect(outcomes).toEqual([false, true, false, false]);
});

test('a refusal is a security event: it is recorded with its reason, and counted when there are very many (001-57)', async () => {
  const { tool } = echo();
  const crib = await openCrib({
    offers: [tool],
    config: {
      access: [{ roles: ['staff'], tools: ['echo'], when: 'args.text != "forbidden"' }],
      stages: { rateLimit: { perMinute: 3 } },
    },
  });
  const peer = await crib.connect('ada');
  expect((await peer.call('echo', { text: 'forbidden' })).isError).toBe(true);
  await peer.call('echo', {});
  await peer.error('tools/call', { name: 'hidden', arguments: {} });
  for (let i = 0; i < 4; i++) await peer.call('echo', { text: 'x' });
  await peer.error('no/such/method');
  await expect
    .poll(() => crib.rows().map((row) => [row['decision'], row['outcome'], row['count']]), { timeout: 5_000 })
    .toEqual([
      ['refused', 'refused', undefined],
      ['refused', 'invalid_arguments', undefined],
      ['refused', 'unknown_tool', undefined],
      ['refused', 'rate_limited', 4],
      ['refused', 'unknown_method', 1],
    ]);
});

test('input validation cannot be removed: with all other stages off, wrong input reaches no tool, prompt or resource (002-19, 004-16)', async () => {
  const { tool, ran } = echo();
  const zod = defineTool(
    { name: 'strict', description: 'Takes a number.', input: z.object({ n: z.number().int() }), ...reads },
    ({ n }) => {
      ran.push(String(n));
      return n;
    },
  );
  const prompt = definePrompt({ name: 'greet', arguments: { who: { required: true } } }, ({ who }) => {
    ran.push(who);
    return `Hello ${who}.`;
  });
  const page = defineResourceTemplate({ uriTemplate: 'page://{id}', name: 'page' }, ({ id }) => {
    ran.push(String(id));
    return id!;
  });
  const off = {
    metrics: false,
    rateLimit: false,
    sanitizeInput: false,
    idempotency: false,
    cache: false,
    sanitize: false,
    circuitBreak: false,
    concurrency: false,
    retry: false,
    timeout: false,
  } as const;
  const crib = await openCrib({ offers: [tool, zod, prompt, page], config: { stages: off } });
  for (const version of versions) {
    const peer = await crib.connect('ada', { version });
    expect((await peer.call('echo', { text: 5 })).isError).toBe(true);
    expect((await peer.call('strict', { n: 1.5 })).isError).toBe(true);
    expect(await peer.error('tools/call', { name: 'echo', arguments: ['x'] })).toMatchObject({
      code: -32602,
    });
    expect(await peer.error('prompts/get', { name: 'greet' })).toMatchObject({ code: -32602 });
    expect((await peer.error('prompts/get', { name: 'greet', arguments: { who: 1 } })).code).toBe(-32602);
    expect((await peer.error('resources/read', { uri: 5 })).code).toBe(-32602);
  }
  expect(ran).toEqual([]);
});

test.each(['validateInput', 'validateOutput', 'permit', 'authorize', 'commit'])(
  'a configuration cannot switch off %s (002-19)',
  async (stage) => {
    const crib = await openCrib({ offers: [echo().tool] });
    crib.configure({ stages: { [stage]: false } });
    await expect(loadConfig(crib.path('toolcrib.yaml'))).rejects.toThrow(stage);
  },
);

test('the same rules decide what is listed and what runs, for each tool and each caller, in every revision (002-20, 004-17)', async () => {
  const tools = ['read_a', 'read_b', 'write_a'].map((name) => echo(name));
  const crib = await openCrib({
    offers: tools.map(({ tool }) => tool),
    config: {
      access: [
        { callers: ['bob'], tools: ['read_b'], effect: 'deny' },
        { roles: ['lead'], tools: ['write_*'] },
        { tenants: ['north'], tools: ['read_*'] },
      ],
    },
  });
  const may = {
    ada: ['read_a', 'read_b', 'write_a'],
    bob: ['read_a'],
    guest: ['read_a', 'read_b'],
    cyn: [],
    'other ada': [],
  } as const;
  for (const version of versions) {
    for (const as of Object.keys(may) as (keyof typeof may)[]) {
      const peer = await crib.connect(as, { version });
      const listed = (await peer.list()).tools.map(({ name }) => String(name));
      expect(listed.toSorted()).toEqual(may[as]);
      const ran: string[] = [];
      for (const name of ['read_a', 'read_b', 'write_a']) {
        const answer = await peer.request('tools/call', { name, arguments: { text: as } });
        if (answer?.result && answer.result['isError'] !== true) ran.push(name);
      }
      expect([version, as, ran]).toEqual([version, as, may[as]]);
    }
  }
});

test('where callers are told apart and there is no rule, no tool can be used (002-20)', async () => {
  const { tool, ran } = echo();
  const crib = await openCrib({ offers: [tool], config: { access: [] } });
  const peer = await crib.connect('ada');
  expect((await peer.list()).tools).toEqual([]);
  await peer.error('tools/call', { name: 'echo', arguments: { text: 'x' } });
  expect(ran).toEqual([]);
});

test('a server without any configuration has a rate limit (002-21)', async () => {
  const { admitted, refused } = await callDefaultServer();
  expect(admitted).toBeGreaterThanOrEqual(600);
  expect(refused).toBeGreaterThan(0);
});

test('control: without the default limit all of those calls run (002-21)', async () => {
  const { admitted } = await callDefaultServer({ rateLimit: false });
  expect(admitted).toBe(1_000);
});

async function callDefaultServer(
  changed: { rateLimit?: false } = {},
): Promise<{ admitted: number; refused: number }> {
  const loaded = defaultConfig();
  const { config } = loaded;
  const gateway = await createGateway(
    { ...loaded, config: { ...config, stages: { ...config.stages, ...changed } } },
    { version: '1.2.3', log: () => {} },
  );
  try {
    let [admitted, refused] = [0, 0];
    // In process, so that the allowance grows as little as can be meanwhile.
    for (let id = 0; id < 1_000; id++) {
      const answer = await gateway.server.handle(
        { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'ping', arguments: {} } },
        { caller: localCaller },
      );
      const said = JSON.stringify(answer);
      if (said.includes('pong')) admitted++;
      if (said.includes('Too many calls')) refused++;
    }
    return { admitted, refused };
  } finally {
    await gateway.close();
  }
}

test('a caller sees and uses only the tools, prompts, resources and completions of its role (003-22)', async () => {
  const crib = await openCrib({
    offers: [
      echo('open').tool,
      echo('secret').tool,
      defineResource({ uri: 'note://open', name: 'open' }, () => 'open'),
      defineResource({ uri: 'note://secret', name: 'secret' }, () => 'secret'),
      definePrompt({ name: 'open', arguments: { x: { complete: () => ['a'] } } }, () => 'open'),
      definePrompt({ name: 'secret', arguments: { x: { complete: () => ['a'] } } }, () => 'secret'),
    ],
    config: {
      access: [
        { roles: ['guest'], tools: ['open'], prompts: ['open'], resources: ['note://open'] },
        everythingForStaff,
      ],
    },
  });
  for (const version of versions) {
    const seen = await Promise.all((['guest', 'ada'] as const).map((as) => viewOf(crib, as, version)));
    expect(seen[0]).toEqual({ tools: ['open'], resources: ['note://open'], prompts: ['open'] });
    expect(seen[1]!.tools).toEqual(['open', 'secret']);
    const guest = await crib.connect('guest', { version });
    const pairs: [string, (name: string) => Json][] = [
      ['tools/call', (name) => ({ name, arguments: { text: 'x' } })],
      ['prompts/get', (name) => ({ name })],
      ['resources/read', (name) => ({ uri: `note://${name}` })],
      [
        'completion/complete',
        (name) => ({ ref: { type: 'ref/prompt', name }, argument: { name: 'x', value: '' } }),
      ],
    ];
    for (const [method, params] of pairs) {
      await guest.result(method, params('open'));
      const [hidden, never] = [
        await guest.error(method, params('secret')),
        await guest.error(method, params('nobody')),
      ];
      expect(JSON.stringify(hidden).replaceAll('secret', '?')).toBe(
        JSON.stringify(never).replaceAll('nobody', '?'),
      );
    }
  }
});

async function viewOf(crib: Crib, as: 'guest' | 'ada', version: string): Promise<Record<string, unknown>> {
  const peer = await crib.connect(as, { version });
  const names = async (method: string, member: string, key: string): Promise<unknown> =>
    ((await peer.result(method))[member] as Json[]).map((one) => one[key]);
  return {
    tools: await names('tools/list', 'tools', 'name'),
    resources: await names('resources/list', 'resources', 'uri'),
    prompts: await names('prompts/list', 'prompts', 'name'),
  };
}
