import { rmSync, writeFileSync } from 'node:fs';
import Libsql from 'libsql';
import { expect, test, vi } from 'vitest';
import { createGateway, loadConfig, type ConfigInput } from '../../src/gateway.ts';
import { defineTool } from '../../src/index.ts';
import { audience, startIssuer } from '../security/issuer.ts';
import { processesOf } from '../databases.ts';
import { everythingForStaff, openCrib, readAllRows, type Crib, type Holder } from '../gateway.ts';
import { deferred } from './deferred.ts';
import { echo, reads, versions } from './governed-tools.ts';
import { EventReader } from './session-client.ts';
import type { Json } from './peer.ts';

const toolText = (name: string, description = 'Answers.'): string => `
  export const one = {
    name: ${JSON.stringify(name)}, description: ${JSON.stringify(description)}, inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true }, handler: () => ${JSON.stringify(name)},
  };`;

const namesOf = async (crib: Crib, as: Holder, version?: string): Promise<unknown[]> =>
  (await (await crib.connect(as, version === undefined ? {} : { version })).list()).tools.map(
    ({ name }) => name,
  );

test('a changed access rule applies to the next list and the next call, in every revision and in open sessions', async () => {
  const [first, second] = [echo('first'), echo('second')];
  const crib = await openCrib({
    offers: [first.tool, second.tool],
    config: { access: [{ roles: ['staff'], tools: ['first'] }] },
  });
  const peers = await Promise.all(versions.map((version) => crib.connect('ada', { version })));
  for (const peer of peers) expect((await peer.list()).tools.map(({ name }) => name)).toEqual(['first']);
  crib.configure({ access: [{ roles: ['staff'], tools: ['second'] }] });
  await crib.reload();
  for (const peer of peers) {
    expect((await peer.list()).tools.map(({ name }) => name)).toEqual(['second']);
    expect((await peer.error('tools/call', { name: 'first', arguments: { text: 'x' } })).code).toBe(-32602);
    expect((await peer.call('second', { text: 'x' })).isError ?? false).toBe(false);
  }
  expect(first.ran).toEqual([]);
});

test('only a subscriber whose own list changed is notified that the list changed', async () => {
  const crib = await openCrib({
    offers: [echo('first').tool, echo('second').tool],
    config: { access: [{ roles: ['staff'], tools: ['*'] }] },
  });
  const [ada, bob] = [await listen(crib, 'ada'), await listen(crib, 'bob')];
  crib.configure({
    access: [
      { callers: ['bob'], tools: ['second'], effect: 'deny' },
      { roles: ['staff'], tools: ['*'] },
    ],
  });
  await crib.reload();
  expect((await bob.message()).message).toMatchObject({ method: 'notifications/tools/list_changed' });
  // The next change is for her alone; it must be her first notification.
  crib.configure({
    access: [
      { callers: ['bob'], tools: ['second'], effect: 'deny' },
      { callers: ['ada'], tools: ['first'], effect: 'deny' },
      { roles: ['staff'], tools: ['*'] },
    ],
  });
  await crib.reload();
  await ada.message();
  await crib.gateway.close();
  const heard = [await ada.rest(), await bob.rest()].map(
    (events) => events.filter(({ data }) => data?.includes('list_changed')).length,
  );
  expect(heard).toEqual([0, 0]);
});

test('a reload that changes nothing for a subscriber sends no notification, even though modules were loaded again', async () => {
  const crib = await openCrib({
    files: { 'tools/one.mjs': toolText('one') },
    config: { tools: { modules: ['./tools/one.mjs'] }, access: [everythingForStaff] },
  });
  const ada = await listen(crib, 'ada');
  crib.configure({
    tools: { modules: ['./tools/one.mjs'] },
    access: [everythingForStaff],
    stages: { rateLimit: { perMinute: 500 } },
  });
  await crib.reload();
  await crib.gateway.close();
  expect((await ada.rest()).filter(({ data }) => data?.includes('list_changed'))).toEqual([]);
});

test('prompts and resources that a reload removes are announced', async () => {
  const reading = `
    import { definePrompt, defineResource } from 'toolcrib';
    export const a = defineResource({ uri: 'note://a', name: 'a' }, () => 'A');
    export const p = definePrompt({ name: 'p' }, () => 'P');`;
  const crib = await openCrib({
    files: { 'tools/reading.mjs': reading, 'tools/one.mjs': toolText('one') },
    config: { tools: { modules: ['./tools/*.mjs'], ready: {} } },
  });
  const ada = await listen(crib, 'ada', {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
  });
  crib.configure({ tools: { modules: ['./tools/one.mjs'], ready: {} } });
  await crib.reload();
  await crib.gateway.close();
  const heard = (await ada.rest()).map(({ data }) => data ?? '').join();
  expect(heard).toContain('notifications/prompts/list_changed');
  expect(heard).toContain('notifications/resources/list_changed');
});

test.each([
  ['no YAML', 'access: ['],
  ['a key nobody knows', '{ "nonsense": 1 }'],
  [
    'a condition that cannot be read',
    JSON.stringify({ auth: { keys: {} }, access: [{ tools: ['*'], when: 'args.' }] }),
  ],
  ['a stage with a wrong setting', JSON.stringify({ stages: { rateLimit: { perMinute: 0 } } })],
  [
    'checkpoints where the secrets are',
    JSON.stringify({
      auth: { keys: {} },
      access: [everythingForStaff],
      stages: { audit: { checkpoints: ['./toolcrib.secrets'] } },
    }),
  ],
])('a reload of a file with %s changes nothing', async (_what, text) => {
  const { tool, ran } = echo();
  const crib = await openCrib({ offers: [tool] });
  const before = crib.rows().length;
  writeFileSync(crib.path('toolcrib.yaml'), text);
  await expect(crib.reload()).rejects.toMatchObject({ code: 'invalid_config' });
  const peer = await crib.connect('ada');
  expect((await peer.list()).tools).toHaveLength(1);
  await peer.call('echo', { text: 'still here' });
  expect(ran).toEqual(['still here']);
  expect(crib.rows().slice(before)).toMatchObject([{ tool: 'echo', outcome: 'done' }]);
  crib.configure({});
  await crib.reload();
});

test('secrets of a replaced configuration and of a refused one stay out of results', async () => {
  const secrets = ['first-horse-battery', 'second-horse-battery', 'third-horse-battery'];
  const { tool } = echo();
  const withSecret = (file: string): ConfigInput => ({ server: { instructions: `\${file:${file}}` } });
  const crib = await openCrib({
    offers: [tool],
    files: Object.fromEntries(secrets.map((secret, index) => [`${index}.txt`, secret])),
    config: withSecret('0.txt'),
  });
  crib.configure(withSecret('1.txt'));
  await crib.reload();
  crib.configure({ ...withSecret('2.txt'), access: [{ tools: ['echo'], when: 'args.zzz == 1' }] });
  await expect(crib.reload()).rejects.toMatchObject({ code: 'invalid_config' });
  const peer = await crib.connect('ada');
  const said = (await peer.call('echo', { text: secrets.join(' ') })).content[0]!.text;
  expect(said).toContain('[redacted:secret] [redacted:secret] [redacted:secret]');
});

test('a gateway that fails to start stops watching files', async () => {
  const crib = await openCrib({ files: { 'tools/one.mjs': toolText('one') } });
  crib.configure({ tools: { modules: ['./tools/one.mjs'], ready: {} }, store: { url: 'memory:' } });
  const loaded = await loadConfig(crib.path('toolcrib.yaml'));
  const config = { ...loaded.config, server: { ...loaded.config.server, maxBodyBytes: 0 } };
  const watching = (): number =>
    process.getActiveResourcesInfo().filter((name) => name.startsWith('FSEvent')).length;
  const before = watching();
  const made = createGateway({ ...loaded, config }, { version: '1.2.3', watch: true, log: () => {} });
  await expect(made).rejects.toMatchObject({ code: 'invalid_setup' });
  await expect.poll(watching).toBe(before);
});

test('a call that runs during a reload ends under the rules it began with', async () => {
  const go = deferred<string>();
  const started = deferred();
  const slow = defineTool({ name: 'slow', description: 'Waits.' }, () => {
    started.resolve();
    return go.promise;
  });
  const crib = await openCrib({ offers: [slow] });
  const peer = await crib.connect('ada');
  const call = peer.call('slow');
  await started.promise;
  crib.configure({ access: [], stages: { sanitize: { maxBytes: 1_024 } } });
  await crib.reload();
  go.resolve('x'.repeat(2_000));
  expect((await call).content[0]!.text).toHaveLength(2_000);
  await peer.error('tools/call', { name: 'slow', arguments: {} });
  const [intent, , outcome] = crib.rows().filter(({ kind }) => kind !== 'call');
  expect([intent, outcome]).toMatchObject([{ kind: 'intent' }, { kind: 'outcome', outcome: 'done' }]);
});

test.each([
  ['', { audit: {} }],
  [', though nothing is put on record', { audit: false }],
] as const)(
  'a call that is queued during a reload still has the database it began with%s',
  async (_how, { audit }) => {
    const crib = await openCrib({ open: audit === false, config: { stages: { audit } } });
    const db = new Libsql(crib.path('orders.db'));
    db.exec(
      "create table orders (item text); insert into orders values ('anvil'); create view slow as with recursive n(x) as (select 1 union all select x + 1 from n where x < 2000000) select count(*) as id from n",
    );
    db.close();
    const ready = { query_database: { url: 'sqlite:./orders.db', tables: ['orders', 'slow'] } };
    const oneAtATime = { concurrency: { perCaller: 1 } };
    const configure = (perMinute: number): Promise<void> => {
      crib.configure({ tools: { ready }, stages: { audit, ...oneAtATime, rateLimit: { perMinute } } });
      return crib.reload();
    };
    await configure(60);
    const peer = await crib.connect('ada');
    const ask = (table: string): Promise<Json> => peer.call('query_database', { table });
    const [slow, waiting] = [ask('slow'), ask('orders')];
    await vi.waitFor(() => expect(processesOf(crib.path('orders.db'))).toHaveLength(1), { timeout: 10_000 });
    await configure(61);
    expect((await slow)['isError']).toBe(false);
    expect((await waiting)['structuredContent']).toMatchObject({ data: [{ item: 'anvil' }] });
    // The old configuration is released once its last call has ended.
    await vi.waitFor(() => expect(processesOf(crib.path('orders.db'))).toEqual([]), { timeout: 10_000 });
  },
);

test('rate limits, cached results and used idempotency keys survive a reload', async () => {
  let runs = 0;
  const kept = defineTool(
    { name: 'kept', description: 'Is kept.', cache: { seconds: 300 }, ...reads },
    () => `run ${++runs}`,
  );
  const crib = await openCrib({
    offers: [echo().tool, kept],
    config: { stages: { rateLimit: { perMinute: 2 } } },
  });
  const [ada, bob] = [await crib.connect('ada'), await crib.connect('bob')];
  for (let i = 0; i < 2; i++) await ada.call('echo', { text: 'x' });
  await bob.call('kept');
  expect((await ada.call('echo', { text: 'x' })).isError).toBe(true);
  crib.configure({ stages: { rateLimit: { perMinute: 2 } }, log: { level: 'debug' } });
  await crib.reload();
  expect((await ada.call('echo', { text: 'x' })).isError).toBe(true);
  expect((await bob.call('kept')).content[0]!.text).toBe('run 1');
  expect((await bob.call('echo', { text: 'x' })).isError).toBe(true);
});

test('the policy id in audit rows changes only with the rules, and the change is in the operators’ record', async () => {
  const crib = await openCrib({ offers: [echo().tool] });
  const peer = await crib.connect('ada');
  const policies: unknown[] = [];
  const call = async (): Promise<void> => {
    await peer.call('echo', { text: 'x' });
    policies.push(crib.rowsOf('echo').at(-1)!['policy']);
  };
  await call();
  crib.configure({ log: { level: 'debug' } });
  await crib.reload();
  await call();
  crib.configure({ access: [everythingForStaff, { roles: ['guest'], tools: ['echo'] }] });
  await crib.reload();
  await call();
  crib.configure({
    access: [everythingForStaff, { roles: ['guest'], tools: ['echo'] }],
    stages: { timeout: { seconds: 29 } },
  });
  await crib.reload();
  await call();
  expect(policies[0]).toBe(policies[1]);
  expect(new Set(policies).size).toBe(3);
  const noted = crib.rows().filter(({ kind }) => kind === 'configuration');
  expect(noted.map(({ policy }) => policy)).toEqual([policies[0], policies[2], policies[3]]);
  const start = readAllRows(crib.folder).find(({ kind }) => kind === 'start');
  expect(start).toMatchObject({ chain: '@operator', policy: policies[0] });
  expect(noted[0]!.chain).toBe('@operator');
});

test('a caller that lost a permission no longer gets the cached result', async () => {
  const kept = defineTool(
    {
      name: 'kept',
      description: 'Is kept.',
      input: { properties: { n: { type: 'integer', default: 1 } } },
      cache: { seconds: 300 },
      ...reads,
    },
    () => 'a secret',
  );
  const crib = await openCrib({ offers: [kept] });
  const peer = await crib.connect('ada');
  expect((await peer.call('kept')).content[0]!.text).toBe('a secret');
  crib.configure({ access: [{ roles: ['staff'], tools: ['kept'], when: 'args.n > 1' }] });
  await crib.reload();
  const refused = await peer.call('kept');
  expect(refused.isError).toBe(true);
  expect(JSON.stringify(refused)).not.toContain('a secret');
});

test('a module that is added, changed or removed while the server runs is listed accordingly, and announced', async () => {
  const crib = await openCrib({
    files: { 'tools/one.mjs': toolText('one') },
    config: { tools: { modules: ['./tools/*.mjs'], ready: {} } },
    watch: true,
  });
  const ada = await listen(crib, 'ada');
  writeFileSync(crib.path('tools/two.mjs'), toolText('two'));
  await expect.poll(() => namesOf(crib, 'ada'), { timeout: 10_000 }).toEqual(['one', 'two']);
  expect((await ada.message()).message).toMatchObject({ method: 'notifications/tools/list_changed' });
  expect((await (await crib.connect('ada')).call('two')).content[0]!.text).toBe('two');
  writeFileSync(crib.path('tools/one.mjs'), toolText('uno'));
  await expect
    .poll(async () => new Set(await namesOf(crib, 'ada')), { timeout: 10_000 })
    .toEqual(new Set(['uno', 'two']));
  writeFileSync(crib.path('tools/two.mjs'), 'this is no code');
  await expect.poll(() => JSON.stringify(crib.logged), { timeout: 10_000 }).toContain('two.mjs');
  expect(await namesOf(crib, 'ada')).toContain('two');
});

test('a module that is broken at a reload keeps its old tools until it is fixed or deleted', async () => {
  const modules = ['./more/*.mjs'];
  const crib = await openCrib({
    files: {
      'more/a.mjs': toolText('aa'),
      'more/b.mjs': toolText('bb'),
      'more/c.mjs': toolText('cc'),
      'more/d.mjs': toolText('dd'),
    },
    config: { tools: { modules, ready: {} } },
    watch: true,
  });
  const ada = await listen(crib, 'ada');
  const reported = (): Set<string> =>
    new Set(crib.logged.filter(({ level }) => level === 'error').map(({ message }) => message));
  const allKept = new Set(
    ['a', 'b', 'c', 'd'].map((file) => `more/${file}.mjs cannot be used. Its last good tools stay in use.`),
  );
  for (const file of ['a', 'b', 'c']) writeFileSync(crib.path(`more/${file}.mjs`), 'this is no code');
  // This name is taken, by a file that is broken.
  writeFileSync(crib.path('more/d.mjs'), toolText('aa'));
  await expect.poll(reported, { timeout: 10_000 }).toEqual(allKept);
  for (const perMinute of [500, 501]) {
    crib.logged.length = 0;
    crib.configure({ tools: { modules, ready: {} }, stages: { rateLimit: { perMinute } } });
    await crib.reload();
    expect(await namesOf(crib, 'ada')).toEqual(['aa', 'bb', 'cc', 'dd']);
    expect(reported()).toEqual(allKept);
  }
  const peer = await crib.connect('ada');
  for (const name of ['aa', 'bb', 'cc', 'dd']) expect((await peer.call(name)).content[0]!.text).toBe(name);
  // What was handed over is followed like anything else.
  writeFileSync(crib.path('more/a.mjs'), toolText('a2'));
  rmSync(crib.path('more/b.mjs'));
  await expect.poll(() => namesOf(crib, 'ada'), { timeout: 10_000 }).toEqual(['a2', 'aa', 'cc']);
  expect((await ada.message()).message).toMatchObject({ method: 'notifications/tools/list_changed' });
  crib.configure({ tools: { modules: ['./more/a.mjs'], ready: {} } });
  await crib.reload();
  expect(await namesOf(crib, 'ada')).toEqual(['a2']);
});

test('a tool of the new configuration replaces a tool of the same name that a broken module had', async () => {
  const crib = await openCrib({
    files: { 'more/a.mjs': toolText('ping'), 'more/b.mjs': toolText('bb') },
    config: { tools: { modules: ['./more/*.mjs'], ready: {} } },
  });
  for (const file of ['a.mjs', 'b.mjs']) writeFileSync(crib.path(`more/${file}`), 'this is no code');
  crib.configure({ tools: { modules: ['./more/*.mjs'], ready: { ping: {} } } });
  await crib.reload();
  expect(await namesOf(crib, 'ada')).toEqual(['bb', 'ping']);
  const messages = crib.logged.map(({ message }) => message);
  expect(messages).toContain('more/a.mjs cannot be used.');
  expect(messages).toContain('more/b.mjs cannot be used. Its last good tools stay in use.');
});

test('a sign-in method that a reload removes admits nobody, and its sessions and streams end', async () => {
  const issuer = await startIssuer();
  const jwt = { issuer: issuer.url, audience, jwks: `${issuer.url}/jwks` };
  const crib = await openCrib({ offers: [echo().tool], config: { auth: { keys: {}, jwt } } });
  const ada = await listen(crib, 'ada');
  crib.configure({ auth: { jwt } });
  await crib.reload();
  await expect(listen(crib, 'ada')).rejects.toThrow('401');
  const rest = await Promise.race([ada.rest(), laterThan(2_000)]);
  expect(rest).not.toBe('still open');
});

test('a server that was started with sign-in refuses to reload without it, and still admits the same callers', async () => {
  const { tool, ran } = echo();
  const crib = await openCrib({ offers: [tool] });
  crib.configure({ auth: undefined as never, access: undefined as never });
  await expect(crib.reload()).rejects.toThrow(/auth: .*Restart it\.$/);
  const bare = await fetch(crib.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}',
  });
  expect(bare.status).toBe(401);
  expect(ran).toEqual([]);
  const ada = await crib.connect('ada');
  await ada.call('echo', { text: 'x' });
  expect(ran).toHaveLength(1);
});

test('a changed setting that needs a restart is named in the log until the file has the old value again', async () => {
  const crib = await openCrib({ offers: [echo().tool] });
  const named = (): string[] =>
    crib.logged.filter(({ level }) => level === 'warn').map(({ message }) => message.split(' changed')[0]!);
  crib.configure({
    server: { name: 'another', maxBodyBytes: 5_000, drainSeconds: 1 },
    stages: { audit: { checkpointSeconds: 11 } },
  });
  await crib.reload();
  expect(named()).toEqual(['server.name', 'server.maxBodyBytes', 'stages.audit']);
  crib.configure({});
  await crib.reload();
  expect(named()).toHaveLength(3);
});

test('a server that was started without sign-in refuses to reload with sign-in, and says that it needs a restart', async () => {
  const { tool, ran } = echo();
  const crib = await openCrib({ open: true, offers: [tool] });
  crib.configure({
    auth: { keys: {} },
    access: [everythingForStaff],
    stages: { sanitize: { maxBytes: 1_024 } },
  });
  await expect(crib.reload()).rejects.toThrow(/toolcrib\.yaml:\d+:\d+: auth: .*Restart it\.$/);
  // The old configuration stays in use, and no part of the new one was applied.
  const anybody = await crib.connect('ada');
  const { content } = await anybody.call('echo', { text: 'x'.repeat(2_000) });
  expect(content[0]!.text).toHaveLength(2_000);
  expect(ran).toHaveLength(1);
});

// A stream that should have ended is not waited for longer than this.
function laterThan(ms: number): Promise<string> {
  return new Promise((resolve) => {
    setTimeout(() => resolve('still open'), ms).unref();
  });
}

async function listen(
  crib: Crib,
  as: Holder,
  notifications: Json = { toolsListChanged: true },
): Promise<EventReader> {
  const method = 'subscriptions/listen';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const response = await fetch(crib.url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${crib.keys[as]}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'sub', method, params: { notifications, _meta } }),
  });
  const events = new EventReader(response);
  expect((await events.message()).message).toMatchObject({
    method: 'notifications/subscriptions/acknowledged',
  });
  return events;
}
