import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ConfigInput } from '../../src/gateway.ts';
import { defineTool } from '../../src/index.ts';
import { ECHO, makeUp, said, serve, standard } from '../client/peers.ts';
import { openCrib, type Crib } from '../gateway.ts';
import { within } from '../within.ts';
import { scripted } from './upstream-programs.ts';

const plain = (name: string, say = name) => defineTool({ name, description: `Is ${name}.` }, () => say);
const namesOf = (list: { readonly tools: readonly { readonly [key: string]: unknown }[] }): unknown[] =>
  list.tools.map(({ name }) => name);

/** A server whose tool says of itself that nothing bad can come of it. */
async function harmless(): Promise<{ url: string; runs: () => number }> {
  let runs = 0;
  const tool = {
    ...ECHO,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  };
  const server = await makeUp((got) => {
    if (got.body['method'] === 'tools/list')
      return got.reply({ tools: [tool], ttlMs: 0, cacheScope: 'public' });
    if (got.body['method'] !== 'tools/call') return standard(got);
    runs++;
    if ((got.body['params'] as { arguments: { fail?: boolean } }).arguments.fail)
      return void got.response.writeHead(503).end();
    return got.reply(said(`run ${runs}`));
  });
  return { url: server.url, runs: () => runs };
}

async function openWith(
  trust: 'trusted' | 'untrusted',
  stages: NonNullable<ConfigInput['stages']>,
): Promise<Crib & { runs: () => number }> {
  const { url, runs } = await harmless();
  const crib = await openCrib({
    config: { mcpServers: { web: { url, trust } }, stages },
  });
  return Object.assign(crib, { runs });
}

test.each(['untrusted', 'trusted'] as const)(
  'C3 no result of an %s server is cached, whatever its annotations say',
  async (trust) => {
    const crib = await openWith(trust, { cache: {} });
    const ada = await crib.connect('ada');
    await ada.call('echo', { text: 'a' });
    await ada.call('echo', { text: 'a' });
    expect(crib.runs()).toBe(2);
  },
);

// The same with an operator who trusts the server shows that it is the trust that decides.
test.each([
  ['untrusted', 1],
  ['trusted', 3],
] as const)(
  'C3 a failed call of a tool of an %s server is retried only if the server is trusted',
  async (trust, runs) => {
    const crib = await openWith(trust, { retry: { attempts: 3, delayMs: 1, maxDelayMs: 2 } });
    const ada = await crib.connect('ada');
    expect((await ada.call('echo', { fail: true })).isError).toBe(true);
    expect(crib.runs()).toBe(runs);
  },
);

test.each([
  ['untrusted', 0],
  ['trusted', 1],
] as const)(
  'C3 a call of a tool of an %s server needs approval unless the server is trusted',
  async (trust, runs) => {
    const crib = await openWith(trust, { approve: { when: ['destructive'] } });
    const ada = await crib.connect('ada');
    await ada.request('tools/call', { name: 'echo', arguments: { text: 'a' } });
    expect(crib.runs()).toBe(runs);
  },
);

test('a tool that an entry denies is neither listed nor called, whatever its annotations say', async () => {
  const url = await serve([plain('read'), plain('drop_all'), plain('drop_one')]);
  const crib = await openCrib({
    config: { mcpServers: { web: { url, tools: ['read', 'drop_*'], deny: ['drop_all'] } } },
  });
  const ada = await crib.connect('ada');
  expect(namesOf(await ada.list())).toEqual(['drop_one', 'read']);
  const refused = await ada.error('tools/call', { name: 'drop_all', arguments: {} });
  expect(refused.message).toBe('Unknown tool: drop_all');
});

test('C5 without a prefix a tool of ours keeps its name, then that of the first server; a later one is left out', async () => {
  const first = await serve([plain('search', 'first'), plain('ours', 'stolen')]);
  const second = await serve([plain('search', 'second'), plain('only', 'second')]);
  const crib = await openCrib({
    offers: [plain('ours', 'own')],
    config: {
      mcpServers: { a: { url: first, prefix: 'never' }, b: { url: second, prefix: 'never' } },
    },
  });
  const ada = await crib.connect('ada');
  expect(namesOf(await ada.list())).toEqual(['only', 'ours', 'search']);
  expect((await ada.call('search')).content[0]!.text).toBe('first');
  expect((await ada.call('ours')).content[0]!.text).toBe('own');
  expect(crib.logged.map(({ message }) => message)).toContain(
    'b.search is left out: its name is taken, and it has no prefix.',
  );
});

test('no more simultaneous calls reach a server than its entry allows, and the others wait', async () => {
  let running = 0;
  let most = 0;
  const finish: (() => void)[] = [];
  const slow = defineTool(
    { name: 'slow', description: 'Waits.', input: z.object({ n: z.number() }) },
    ({ n }) => {
      most = Math.max(most, ++running);
      return new Promise<string>((resolve) =>
        finish.push(() => {
          running--;
          resolve(String(n));
        }),
      );
    },
  );
  const url = await serve([slow]);
  const crib = await openCrib({ config: { mcpServers: { web: { url, parallel: 2 } } } });
  const ada = await crib.connect('ada');
  await ada.list();
  const calls = [1, 2, 3, 4, 5].map((n) => ada.call('slow', { n }));
  await expect.poll(() => finish.length, { timeout: 5_000, interval: 5 }).toBe(2);
  for (let done = 0; done < 5; done++) {
    await expect.poll(() => finish.length, { timeout: 5_000, interval: 5 }).toBeGreaterThan(0);
    finish.shift()!();
  }
  const texts = (await Promise.all(calls)).map(({ content }) => content[0]!.text);
  expect(texts).toEqual(['1', '2', '3', '4', '5']);
  expect(most).toBe(2);
});

test('a tenant has a limited number of processes, idle ones are ended for new ones, and other tenants are not affected', async () => {
  const crib = await openCrib({
    config: {
      mcpServers: { desk: scripted('crashing') },
      upstreams: { maxPerTenant: 1, maxConnections: 3 },
    },
  });
  const [ada, bob, cyn] = await Promise.all([crib.connect('ada'), crib.connect('bob'), crib.connect('cyn')]);
  const pid = (await ada.call('pid')).content[0]!.text;
  // Each has a process of its own: that of ada made way.
  expect((await bob.call('pid')).content[0]!.text).not.toBe(pid);
  const stop = new AbortController();
  let waiting: Promise<unknown> = Promise.resolve();
  const begun = new Promise<void>((resolve) => {
    const params = { name: 'wait', arguments: {}, _meta: { progressToken: 1 } };
    const options = { signal: stop.signal, onNotification: () => resolve() };
    waiting = bob.request('tools/call', params, options).catch(() => undefined);
  });
  await within(10_000, 'the call of bob to begin', begun);
  expect((await ada.call('pid')).content[0]!.text).toBe(
    'desk has no free connection; try again in a moment.',
  );
  expect((await cyn.call('pid')).content[0]!.text).toMatch(/^\d+$/);
  stop.abort();
  await crib.gateway.close();
  await within(5_000, 'the call to end', waiting);
});
