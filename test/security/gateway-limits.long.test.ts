import { statSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { createGateway } from '../../src/gateway/create-gateway.ts';
import { defaultConfig } from '../../src/gateway/settings/default-config.ts';
import { defineTool, localCaller, ToolRegistry, createServer } from '../../src/index.ts';
import { serveStdio } from '../../src/node.ts';
import { talkInLines } from '../behaviour/lines.ts';
import { openPeer } from '../behaviour/peer.ts';
import { openWeb } from '../behaviour/wires.ts';
import { openCrib, type Crib, type Holder } from '../gateway.ts';
import { handshakeVersions, versions } from './attack.ts';
import { Events, type Reply, type RequestOptions } from './client.ts';
import { KeyClient } from './key-client.ts';

const reads = { annotations: { readOnlyHint: true } } as const;

function counting() {
  const ran: string[] = [];
  const tool = defineTool(
    { name: 'count', description: 'Counts.', input: { additionalProperties: true }, ...reads },
    (_args, { caller }) => {
      ran.push(`${caller.tenant.id}/${caller.id}`);
      return 'counted';
    },
  );
  return { tool, ran };
}

// Every way to look like another caller, or like a new one.
async function waysOf(crib: Crib): Promise<(() => Promise<unknown>)[]> {
  const [ada, again] = [new KeyClient(crib, 'ada'), new KeyClient(crib, 'ada again')];
  const call = (client: KeyClient, options: RequestOptions, headers = {}): Promise<Reply> =>
    client.send({ ...options, headers: { ...options.headers, ...headers } });
  const modern = (client: KeyClient, name = 'count'): RequestOptions => client.modern('tools/call', { name });
  const ways: (() => Promise<unknown>)[] = [
    () => call(ada, modern(ada)),
    () => call(again, modern(again)),
    async () => {
      const { headers, body } = modern(ada);
      const type = { 'content-type': 'application/json', accept: 'application/json' };
      const all = { ...headers, ...type, 'x-api-key': crib.keys.ada };
      await (await fetch(crib.url, { method: 'POST', headers: all, body: body! })).text();
    },
    () => call(ada, modern(ada), { 'user-agent': `agent ${Math.random()}` }),
    () => call(ada, modern(ada), { 'x-forwarded-for': '192.0.2.7', 'x-real-ip': '192.0.2.8' }),
    () => call(ada, ada.modern('tools/call', { name: 'count', arguments: { salt: Math.random() } })),
    () =>
      call(ada, ada.modern('tools/call', { name: 'count', _meta: { progressToken: `p${Math.random()}` } })),
    () => call(ada, modern(ada, 'COUNT')),
    () => call(ada, modern(ada, 'count ')),
    () => call(ada, modern(ada, 'no_such_tool')),
    () => call(ada, ada.old('tools/call', { name: 'count' })),
  ];
  for (const version of handshakeVersions)
    ways.push(async () => {
      const client = Math.random() < 0.5 ? ada : again;
      const session = await client.startSession(version);
      return call(client, client.old('tools/call', { name: 'count' }, { session }));
    });
  ways.push(async () => {
    const stream = await ada.open({ method: 'GET', path: '/sse' });
    const events = new Events(stream);
    const path = (await events.nextData())!;
    await call(ada, { path, ...ada.old('tools/call', { name: 'count' }, { id: 1 }) });
    await events.next();
    await events.close();
  });
  return ways;
}

test('B13 sessions, keys, headers, names, revisions and transports of one caller share one rate limit', async () => {
  const { tool, ran } = counting();
  const crib = await openCrib({
    offers: [tool],
    config: { server: { sse: true }, stages: { rateLimit: { perMinute: 10 } } },
  });
  const ways = await waysOf(crib);
  // Each costs a token whether it runs or not, so ten of them are all there is.
  for (let round = 0; round < 2; round++) for (const way of ways) await way();
  expect(ran.length).toBeLessThanOrEqual(10);
  expect(ran.length).toBeGreaterThan(3);
  expect(new Set(ran)).toEqual(new Set(['north/ada']));
  const others: Holder[] = ['bob', 'cyn', 'other ada'];
  for (const holder of others) await new KeyClient(crib, holder).ask('tools/call', { name: 'count' });
  expect(ran.slice(-3)).toEqual(['north/bob', 'south/cyn', 'south/ada']);
});

test('B13 control: without the limit every one of those ways runs the tool', async () => {
  const { tool, ran } = counting();
  const crib = await openCrib({
    offers: [tool],
    config: { server: { sse: true }, stages: { rateLimit: false } },
  });
  const ways = await waysOf(crib);
  const idle: number[] = [];
  for (const [index, way] of ways.entries()) {
    const before = ran.length;
    await way();
    if (ran.length === before) idle.push(index);
  }
  // Other spellings of the name are no tool.
  expect(idle).toEqual([7, 8, 9]);
});

test('B13 of a thousand simultaneous calls, as many run as the limit allows, in any revision', async () => {
  const { tool, ran } = counting();
  const crib = await openCrib({
    offers: [tool],
    config: { stages: { rateLimit: { perMinute: 100 }, concurrency: false } },
  });
  const clients = [new KeyClient(crib, 'ada'), new KeyClient(crib, 'ada again')];
  await Promise.all(
    Array.from({ length: 1_000 }, (_, index) => {
      const client = clients[index % 2]!;
      return client.send(
        versions[index % versions.length] === '2026-07-28'
          ? client.modern('tools/call', { name: 'count' })
          : client.old('tools/call', { name: 'count' }),
      );
    }),
  );
  // One comes back every 0.6 seconds.
  expect(ran.length).toBeGreaterThanOrEqual(100);
  expect(ran.length).toBeLessThanOrEqual(130);
});

test('B13 the rate limit of a tenant is shared by its callers, and its daily limit survives a restart', async () => {
  const { tool, ran } = counting();
  const crib = await openCrib({
    offers: [tool],
    config: { stages: { rateLimit: { perTenant: 600, perTenantPerDay: 3 } } },
  });
  const call = (holder: Holder): Promise<Reply> =>
    new KeyClient(crib, holder).ask('tools/call', { name: 'count' });
  for (const holder of ['ada', 'bob', 'ada again', 'bob'] as const) await call(holder);
  expect(ran).toEqual(['north/ada', 'north/bob', 'north/ada']);
  await crib.restart();
  await call('bob');
  expect(ran).toHaveLength(3);
  await call('cyn');
  expect(ran.at(-1)).toBe('south/cyn');
});

test('B13 in open mode standard input and HTTP are one caller with one rate limit', async () => {
  const loaded = defaultConfig();
  const { server, stages, ...rest } = loaded.config;
  const config = {
    ...rest,
    server: { ...server, listen: { host: '127.0.0.1', port: 0 } },
    stages: { ...stages, rateLimit: { perMinute: 2, perTool: {} } },
  };
  const gateway = await createGateway({ ...loaded, config }, { version: '1.2.3', log: () => {} });
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen();
  const [input, output] = [new PassThrough(), new PassThrough()];
  void serveStdio(gateway.server, { input, output });
  const legacy = { version: '2025-11-25', era: 'legacy' } as const;
  const overStdio = await openPeer({ ...talkInLines(input, output), close: async () => {} }, legacy);
  const web = { send: (request: Request) => fetch(request), close: async () => {}, keepsSession: true };
  const overHttp = await openPeer(openWeb(url, legacy, web), legacy);
  const refused: unknown[] = [];
  for (const peer of [overStdio, overHttp, overStdio, overHttp])
    refused.push((await peer.call('ping')).isError ?? false);
  expect(refused).toEqual([false, false, true, true]);
  input.end();
});

test('B13 a batch spends one token for each of its calls', async () => {
  const { tool, ran } = counting();
  const crib = await openCrib({ offers: [tool], config: { stages: { rateLimit: { perMinute: 5 } } } });
  const client = new KeyClient(crib, 'ada');
  const session = await client.startSession('2025-03-26');
  const batch = Array.from({ length: 20 }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'count' },
  }));
  await client.send({
    headers: { 'mcp-session-id': session, 'mcp-protocol-version': '2025-03-26' },
    body: JSON.stringify(batch),
  });
  expect(ran).toHaveLength(5);
  await expect
    .poll(() => crib.rowsOf('count').reduce((sum, row) => sum + Number(row['count'] ?? 1), 0), {
      timeout: 5_000,
    })
    .toBe(20);
});

test('E3 the largest legal arguments at the full rate leave short audit rows, and no call runs without one', async () => {
  const ran: number[] = [];
  const tool = defineTool(
    {
      name: 'swallow',
      description: 'Takes everything.',
      input: { properties: { n: { type: 'integer' }, large: { type: 'string' } } },
    },
    ({ n }) => {
      ran.push(Number(n));
      return 'swallowed';
    },
  );
  const crib = await openCrib({
    offers: [tool],
    config: { stages: { rateLimit: false, audit: { arguments: 'preview' } } },
  });
  const clients = (['ada', 'bob', 'cyn', 'other ada'] as const).map((holder) => new KeyClient(crib, holder));
  const large = 'x'.repeat(990_000);
  const sent: number[] = [];
  const answers: Reply[] = [];
  await Promise.all(
    clients.flatMap((client, index) =>
      Array.from({ length: 6 }, async (_, lane) => {
        for (let turn = 0; turn < 4; turn++) {
          const n = index * 1_000 + lane * 10 + turn;
          sent.push(n);
          answers.push(await client.ask('tools/call', { name: 'swallow', arguments: { n, large } }));
        }
      }),
    ),
  );
  expect(sent).toHaveLength(96);
  expect(answers.filter(({ body }) => !body.includes('swallowed')).map(({ body }) => body)).toEqual([]);
  expect(ran.toSorted((a, b) => a - b)).toEqual(sent.toSorted((a, b) => a - b));
  const rows = crib.rowsOf('swallow');
  const intents = rows.filter(({ kind }) => kind === 'intent');
  const onRecord = intents.map((row) => Number(/"n":(\d+)/.exec(String(row['preview']))?.[1]));
  expect(onRecord.toSorted((a, b) => a - b)).toEqual(ran.toSorted((a, b) => a - b));
  expect(rows.filter(({ kind }) => kind === 'outcome')).toHaveLength(ran.length);
  for (const row of intents) expect(JSON.stringify(row).length).toBeLessThan(5_000);
  const bytes = statSync(crib.path('toolcrib.db')).size + statSync(crib.path('toolcrib.db-wal')).size;
  expect(bytes).toBeLessThan(16 * 1_048_576);
});

test('E3 calls beyond the queue limit are refused, and every call that ran is on record', async () => {
  let ran = 0;
  const tool = defineTool({ name: 'act', description: 'Acts.' }, async () => {
    ran++;
    await new Promise(setImmediate);
    return 'acted';
  });
  const crib = await openCrib({
    offers: [tool],
    config: { stages: { rateLimit: false, concurrency: { perCaller: 4, perTenant: 4, queue: 8 } } },
  });
  const client = new KeyClient(crib, 'ada');
  const replies = await Promise.all(
    Array.from({ length: 300 }, () => client.ask('tools/call', { name: 'act' })),
  );
  const done = replies.filter(({ body }) => body.includes('acted')).length;
  expect(done).toBe(ran);
  expect(ran).toBeGreaterThan(0);
  expect(crib.rowsOf('act').filter(({ kind }) => kind === 'intent')).toHaveLength(ran);
  expect(crib.rowsOf('act').filter(({ kind }) => kind === 'outcome')).toHaveLength(ran);
  await expect
    .poll(
      () =>
        crib
          .rowsOf('act')
          .filter(({ outcome }) => outcome === 'busy')
          .reduce((sum, row) => sum + Number(row['count']), 0),
      { timeout: 5_000 },
    )
    .toBe(300 - ran);
});

test('E3 control: without a record tools run unseen', async () => {
  let ran = 0;
  const tool = defineTool({ name: 'act', description: 'Acts.' }, () => ++ran);
  const server = createServer({ source: new ToolRegistry().registerTool(tool), log: () => {} });
  await server.handle(
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'act', arguments: {} } },
    { caller: localCaller },
  );
  const loaded = defaultConfig();
  const gateway = await createGateway(loaded, { version: '1.2.3', log: () => {} });
  expect(gateway.isReady).toBe(true);
  await gateway.close();
  expect([ran, gateway.isReady]).toEqual([1, false]);
});
