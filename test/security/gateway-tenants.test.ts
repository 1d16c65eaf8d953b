import { Buffer } from 'node:buffer';
import { expect, test } from 'vitest';
import { checkpointKeys } from '../../src/store/journal/checkpoint.ts';
import { openSecrets } from '../../src/store/secrets-file.ts';
import { SqliteDatabase } from '../../src/store/sqlite/database.ts';
import { verifyJournal, type JournalVerdict } from '../../src/store/journal/verify.ts';
import { definePrompt, defineResource, defineTool } from '../../src/index.ts';
import { openCrib, type Crib, type Holder } from '../gateway.ts';
import { versions } from './attack.ts';
import { KeyClient } from './key-client.ts';
import { richOffers } from './rich-target.ts';

const reads = { annotations: { readOnlyHint: true } } as const;
const everybody: readonly Holder[] = ['ada', 'bob', 'cyn', 'other ada'];
const textOf = (body: string): string =>
  (JSON.parse(body) as { result: { content: { text: string }[] } }).result.content[0]!.text;

test('A10 through a gateway, clients with the same ids and without sessions each get their own responses', async () => {
  const tool = defineTool(
    { name: 'echo', description: 'Repeats.', input: { properties: { nonce: { type: 'string' } } } },
    async ({ nonce }, { caller }) => {
      for (let left = (nonce?.length ?? 0) % 4; left > 0; left--) await new Promise(setImmediate);
      return `${nonce} for ${caller.tenant.id}/${caller.id}`;
    },
  );
  const crib = await openCrib({
    offers: [tool],
    config: { stages: { rateLimit: false, concurrency: { perCaller: 200, perTenant: 400, queue: 400 } } },
  });
  const answers = await Promise.all(
    everybody.flatMap((holder) => {
      const client = new KeyClient(crib, holder);
      const { id, tenant } = client.caller;
      return Array.from({ length: 50 }, async (_, n) => {
        const nonce = `${holder}-${'n'.repeat(n % 5)}${n}`;
        const request = client.modern('tools/call', { name: 'echo', arguments: { nonce } }, n);
        const { json, body } = await client.send(request);
        return json?.id === n && textOf(body) === `${nonce} for ${tenant.id}/${id}`;
      });
    }),
  );
  expect(answers).toHaveLength(200);
  expect(answers.filter((isOwn) => !isOwn)).toEqual([]);
});

test('A10 control: a tool that answers with data of the previous call fails that check', async () => {
  let last = '';
  const tool = defineTool(
    { name: 'echo', description: 'Repeats.', input: { properties: { nonce: { type: 'string' } } }, ...reads },
    async ({ nonce }) => {
      last = String(nonce);
      for (let left = 3; left > 0; left--) await new Promise(setImmediate);
      return last;
    },
  );
  const crib = await openCrib({ offers: [tool] });
  const client = new KeyClient(crib, 'ada');
  const answers = await Promise.all(
    ['one', 'two', 'three', 'four', 'five', 'six'].map(
      async (nonce) =>
        textOf((await client.ask('tools/call', { name: 'echo', arguments: { nonce } })).body) === nonce,
    ),
  );
  expect(answers).toContain(false);
});

test('B10 data cached for one caller reaches no other caller; data cached for a tenant reaches no other tenant', async () => {
  let runs = 0;
  const made = (name: string, shared: boolean) =>
    defineTool(
      { name, description: 'Is kept.', cache: { seconds: 300, shared }, ...reads },
      () => `run ${++runs}`,
    );
  const crib = await openCrib({ offers: [made('own', false), made('ours', true)] });
  const ask = async (holder: Holder, name: string): Promise<string> =>
    textOf((await new KeyClient(crib, holder).ask('tools/call', { name })).body);
  const own = await Promise.all(everybody.map((holder) => ask(holder, 'own')));
  expect(new Set(own).size).toBe(4);
  expect(await ask('ada again', 'own')).toBe(own[0]);
  const ours = [];
  for (const holder of everybody) ours.push(await ask(holder, 'ours'));
  expect(ours[1]).toBe(ours[0]);
  expect(ours[3]).toBe(ours[2]);
  expect(ours[2]).not.toBe(ours[0]);
});

test('B10 lists differ where rights differ, and are never marked as public for caches', async () => {
  const offers = ['a', 'b'].flatMap((name) => [
    defineTool({ name, description: 'A tool.', ...reads }, () => name),
    defineResource({ uri: `note://${name}`, name }, () => name),
    definePrompt({ name }, () => name),
  ]);
  const crib = await openCrib({
    offers,
    config: {
      access: [
        { tenants: ['north'], tools: ['*'], resources: ['*'], prompts: ['*'] },
        { tools: ['a'], resources: ['note://a'], prompts: ['a'] },
      ],
    },
  });
  for (const method of ['tools/list', 'resources/list', 'prompts/list', 'resources/read']) {
    const params = method === 'resources/read' ? { uri: 'note://a' } : {};
    const replies = await Promise.all(
      (['ada', 'cyn', 'ada'] as const).map((holder) => new KeyClient(crib, holder).ask(method, params)),
    );
    for (const { body, headers } of replies) {
      expect([method, body]).toEqual([method, expect.not.stringContaining('"cacheScope":"public"')]);
      expect([method, headers['cache-control'] ?? 'no-store']).toEqual([
        method,
        expect.stringMatching(/no-store|private/),
      ]);
    }
    const strip = (body: string): string => body.replace(/"id":\d+/, '"id":0');
    expect(strip(replies[0]!.body)).toBe(strip(replies[2]!.body));
    if (method !== 'resources/read') expect(replies[0]!.body).not.toBe(replies[1]!.body);
  }
});

test('A11 a request state survives a restart and a new sealing key, and still works only once', async () => {
  const { tools, ran } = richOffers();
  const crib = await openCrib({ offers: tools });
  const client = new KeyClient(crib, 'ada');
  const ask = async (): Promise<string> =>
    String(
      (await client.ask('tools/call', { name: 'ask', arguments: { n: 1 } })).json?.result?.['requestState'],
    );
  const resume = (requestState: string, n = 1) =>
    client.ask('tools/call', {
      name: 'ask',
      arguments: { n },
      requestState,
      inputResponses: { sure: { action: 'accept', content: { yes: true } } },
    });
  const [first, second] = [await ask(), await ask()];
  await crib.gateway.close();
  inside(crib, (db) => db.run('update sealing_keys set created_at = created_at - ?', 25 * 3_600_000));
  await crib.restart();
  const third = await ask();
  expect(third.split('.')[0]).not.toBe(first.split('.')[0]);
  expect((await resume(first)).json?.result).toMatchObject({ content: [{ type: 'text' }] });
  expect((await resume(third)).json?.error).toBeUndefined();
  await crib.restart();
  expect((await resume(first)).json?.error?.code).toBe(-32602);
  expect((await resume(third)).json?.error?.code).toBe(-32602);
  // A removed key opens no state.
  inside(crib, (db) => db.run('delete from sealing_keys where id = ?', second.split('.')[0]!));
  await crib.restart();
  expect((await resume(second)).json?.error?.code).toBe(-32602);
  expect(ran).toHaveLength(2);
});

test('A11 a gateway refuses a state that is changed, for other arguments or from another caller; the original still works', async () => {
  const { tools, ran } = richOffers();
  const crib = await openCrib({ offers: tools, config: { stages: { rateLimit: false } } });
  const client = new KeyClient(crib, 'ada');
  const first = await client.ask('tools/call', { name: 'ask', arguments: { n: 1 } });
  const state = String(first.json?.result?.['requestState']);
  const resume = (as: KeyClient, requestState: string, { n = 1, name = 'ask' } = {}) =>
    as.ask('tools/call', {
      name,
      arguments: { n },
      requestState,
      inputResponses: { sure: { action: 'accept', content: { yes: true } } },
    });
  const bytes = Buffer.from(state, 'latin1');
  for (let sample = 0; sample < 256; sample++) {
    const changed = Buffer.from(bytes);
    const at = Math.floor((sample / 256) * bytes.length);
    changed[at] = changed[at] === 0x41 ? 0x42 : 0x41;
    if (changed.equals(bytes)) continue;
    const { json } = await resume(client, changed.toString('latin1'));
    expect([at, json?.error?.code]).toEqual([at, -32602]);
  }
  expect((await resume(client, state, { n: 2 })).json?.error?.code).toBe(-32602);
  expect((await resume(client, state, { name: 'ask-too' })).json?.error?.code).toBe(-32602);
  for (const holder of ['bob', 'cyn', 'other ada'] as const)
    expect((await resume(new KeyClient(crib, holder), state)).json?.error?.code).toBe(-32602);
  expect(ran).toEqual([]);
  expect((await resume(client, state)).json?.result).toBeDefined();
  expect(ran).toHaveLength(1);
});

const tampering: readonly [how: string, change: (db: SqliteDatabase) => void][] = [
  [
    'one letter of a row',
    (db) => db.run(`update journal set rows = replace(rows, '"caller":"ada"', '"caller":"eve"')`),
  ],
  ['a group taken out', (db) => db.run('delete from journal where id = 2')],
  ['the end cut off', (db) => db.run('delete from journal where id > 2')],
  [
    'a checkpoint changed',
    (db) => db.run(`update checkpoints set line = replace(line, 'a', 'b') where n = 1`),
  ],
];

test.each(tampering)('E1 the record of a gateway reveals %s', async (_how, change) => {
  const crib = await openCrib({
    offers: [defineTool({ name: 'act', description: 'Acts.' }, () => 'acted')],
  });
  for (const holder of everybody)
    for (const version of versions.slice(0, 2)) await (await crib.connect(holder, { version })).call('act');
  await crib.gateway.close();
  const good = verify(crib);
  expect(good.problem).toBeUndefined();
  // A start and a stop are among them.
  expect(good.rows).toBe(18);
  inside(crib, change);
  expect(verify(crib).problem).toBeDefined();
});

function inside<T>(crib: Crib, use: (db: SqliteDatabase) => T): T {
  const db = new SqliteDatabase(crib.path('toolcrib.db'), 'existing');
  try {
    return use(db);
  } finally {
    db.close();
  }
}

function verify(crib: Crib): JournalVerdict {
  const { checking } = checkpointKeys(openSecrets(crib.path('toolcrib.secrets')).signingKey);
  return inside(crib, (db) =>
    verifyJournal(db, { checkpointFiles: [crib.path('toolcrib.checkpoints')], key: checking }),
  );
}
