import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { Worker } from 'node:worker_threads';
import { expect, test, vi } from 'vitest';
import { createStoreFolder, newSigningKey, type StoreFolder } from '../../../test/store-folder.ts';
import { describeStore } from '../../../test/store-contract.ts';
import type { KeyRecord, TenantRecord } from '../../core/memory/identities.ts';
import type { TaskRecord } from '../../core/memory/memory.ts';
import type { Reservation } from '../../core/memory/memory.ts';
import { genesis, parseRow, writeRow } from '../journal/chain.ts';
import { processName } from '../../core/record.ts';
import { readJournal } from '../journal/reader.ts';
import { SqliteDatabase } from './database.ts';
import { schemaVersion } from './schema.ts';
import type { Entry, Store } from '../store.ts';

const HOUR_MS = 3_600_000;
const files = new WeakMap<Store, string>();

describeStore(
  'the SQLite store',
  async () => {
    const folder = createStoreFolder();
    const store = await folder.open();
    files.set(store, folder.file);
    return store;
  },
  (store, chain) => bodiesIn(files.get(store)!, chain),
);

test('all data survives a close and a reopen', async () => {
  const folder = createStoreFolder();
  const first = await folder.open();
  const window = { startsAt: Date.now(), endsAt: Date.now() + HOUR_MS };
  const task = { ...facts('t1'), status: 'working' as const, updatedAt: Date.now(), ttlMs: HOUR_MS };
  const session = { ...facts('s1'), protocolVersion: '2025-11-25', client: { name: 'a' } };
  await first.identities.putTenant(acme);
  await first.identities.putKey(keyOf('k1'));
  await first.identities.revokeKey('k1', 5_000);
  await first.journal.commit({ chain: 'acme', body: '{}' }, reservationOf('k'));
  await first.reservations.finish('ada', 'k', '{"paid":5}');
  await first.quotas.take('acme', window);
  await first.memory.tasks.put(task);
  await first.memory.sessions.put(session);
  const sealing = await first.memory.keys.current();
  await first.memory.spent.spend('state', Date.now() + HOUR_MS, 'ada');
  for (const id of ['1', '2', '3'])
    await first.memory.events.keep('stream', { id, text: `event ${id}` }, '4:acme/ada');
  await first.close();

  const { identities, reservations, journal, quotas, memory } = await folder.open();
  expect(await identities.listTenants()).toEqual([acme]);
  expect(await identities.findKey('hash of k1')).toEqual({
    key: { ...keyOf('k1'), revokedAt: 5_000 },
    tenant: acme,
  });
  expect(await reservations.find('ada', 'k')).toEqual({ subject: 'pay 5', outcome: '{"paid":5}' });
  expect(await journal.commit({ chain: 'acme', body: '{}' }, reservationOf('k'))).toBe('taken');
  expect(await quotas.take('acme', window)).toBe(2);
  expect(await memory.tasks.get('t1')).toEqual(task);
  expect(await memory.sessions.get('s1')).toEqual(session);
  expect(await memory.keys.current()).toEqual(sealing);
  expect(await memory.keys.find(sealing.id)).toEqual(sealing);
  expect(await memory.spent.spend('state', Date.now() + HOUR_MS, 'ada')).toBe(false);
  expect(await memory.events.after('stream', '1', '4:acme/ada')).toEqual([
    { id: '2', text: 'event 2' },
    { id: '3', text: 'event 3' },
  ]);
  expect(folder.verify().problem).toBeUndefined();
});

test('A9 a session that ends while it is read is not cached from that read', async () => {
  const folder = createStoreFolder();
  const [here, there] = [await folder.open(), await folder.open()];
  await here.memory.sessions.put({ ...facts('s1'), protocolVersion: '2025-11-25', client: {} });
  const reading = there.memory.sessions.get('s1');
  await there.memory.sessions.delete('s1');
  await reading;
  expect(await there.memory.sessions.get('s1')).toBeUndefined();
});

test('expired tasks, sessions and ended sessions are removed', async () => {
  const { memory } = await createStoreFolder().open();
  const past = Date.now() - 48 * HOUR_MS;
  const task = { ...facts('t1'), status: 'completed' as const, updatedAt: past, ttlMs: HOUR_MS };
  await memory.tasks.put({ ...task, createdAt: past });
  expect(await memory.tasks.get('t1')).toBeUndefined();
  await memory.sessions.put({ ...facts('s1'), protocolVersion: '2025-11-25', client: {} });
  await memory.sessions.delete('s1');
  expect(await memory.sessions.get('s1')).toBeUndefined();
});

test('two stores on one file take turns without forking a chain', async () => {
  const folder = createStoreFolder();
  const stores = [
    await folder.open({ checkpointRows: 7 }),
    await folder.open({ checkpointRows: 11 }),
  ] as const;
  for (let round = 0; round < 30; round++) {
    await Promise.all(
      stores.flatMap(({ journal }, from) =>
        Array.from({ length: 3 }, (_, n) =>
          journal.append({ chain: `tenant-${n}`, body: JSON.stringify({ from, round, n }) }),
        ),
      ),
    );
  }
  for (const store of stores) await store.close();
  expect(folder.verify()).toMatchObject({ problem: undefined, rows: 180, chains: 3, unproven: 0 });
  expect(bodiesIn(folder.file, 'tenant-0')).toHaveLength(60);
});

test('a store that was idle while another wrote, signed and cut rows continues with the right heads', async () => {
  const folder = createStoreFolder();
  const [busy, idle] = [await folder.open({ checkpointRows: 2 }), await folder.open()];
  for (let n = 0; n < 6; n++) await busy.journal.append({ chain: 'acme', body: `{"n":${n}}` });
  await busy.close();
  folder.inside((db) => db.run('delete from journal'));
  await idle.journal.append({ chain: 'acme', body: '{"n":6}' });
  const rows = folder.inside((db) => [...readJournal(db, { chain: 'acme', limit: 10, order: 'newest' })]);
  expect(rows[0]).toMatchObject({ seq: 7, facts: { n: 6 } });
});

test('a tenant named __proto__ has a chain like any other, also after a restart', async () => {
  const folder = createStoreFolder();
  for (let n = 0; n < 3; n++) {
    const { journal, close } = await folder.open();
    await journal.append({ chain: '__proto__', body: `{"n":${n}}` });
    await journal.append({ chain: 'constructor', body: `{"n":${n}}` });
    await close();
  }
  expect(folder.verify()).toMatchObject({ problem: undefined, rows: 6, chains: 2, checkpoints: 3 });
});

test('a key revoked through one store is noticed by another', async () => {
  const folder = createStoreFolder();
  const [mine, theirs] = [await folder.open(), await folder.open()];
  await mine.identities.putKey(keyOf('k1'));
  // What was noticed before is not what this is about.
  const heard = vi.fn<() => void>();
  await vi.waitFor(() => expect(heardSince(theirs, heard)).toBe(true), { timeout: 5_000 });
  heard.mockClear();
  await mine.identities.revokeKey('k1', 5_000);
  await vi.waitFor(() => expect(heard).toHaveBeenCalled(), { timeout: 5_000 });
  expect((await theirs.identities.findKey('hash of k1'))?.key.revokedAt).toBe(5_000);
});

test('a request state is used once, by 100 parallel attempts through two stores', async () => {
  const folder = createStoreFolder();
  const stores = [await folder.open(), await folder.open()];
  const attempts = Array.from({ length: 100 }, async (_, n) =>
    stores[n % 2]!.memory.spent.spend('state', Date.now() + HOUR_MS, 'ada'),
  );
  expect((await Promise.all(attempts)).filter(Boolean)).toHaveLength(1);
});

test('R6 of 100 commits under one key through two stores one succeeds', async () => {
  const folder = createStoreFolder();
  const stores = [await folder.open(), await folder.open()];
  const attempts = Array.from({ length: 100 }, (_, n) =>
    stores[n % 2]!.journal.commit({ chain: 'acme', body: `{"n":${n}}` }, reservationOf('k')),
  );
  expect((await Promise.all(attempts)).filter((answer) => answer === 'committed')).toHaveLength(1);
  expect(bodiesIn(folder.file, 'acme')).toHaveLength(1);
});

test('a database of a newer version is refused with a message, and not changed', async () => {
  const folder = createStoreFolder();
  await (await folder.open()).close();
  folder.inside((db) => db.run(`pragma user_version = ${schemaVersion + 1}`));
  await expect(folder.open()).rejects.toMatchObject({
    code: 'invalid_setup',
    message: expect.stringContaining('was written by a newer version of Toolcrib'),
  });
  expect(folder.inside((db) => db.version)).toBe(schemaVersion + 1);
});

test('migrations only go forward: an empty file is migrated, and existing content is kept', async () => {
  const folder = createStoreFolder();
  new SqliteDatabase(folder.file).close();
  expect(folder.inside((db) => db.version)).toBe(0);
  const stores = await Promise.all([folder.open(), folder.open()]);
  await stores[0].identities.putTenant(acme);
  for (const store of stores) await store.close();
  expect(folder.inside((db) => db.version)).toBe(schemaVersion);
  expect(await (await folder.open()).identities.listTenants()).toEqual([acme]);
});

test('a file that is not a database, and a missing folder, are refused with a message', async () => {
  const folder = createStoreFolder();
  writeFileSync(folder.file, 'Dear diary, '.repeat(1_000));
  const refused = {
    code: 'invalid_setup',
    message: expect.stringContaining('cannot be opened as a database'),
  };
  await expect(folder.open()).rejects.toMatchObject(refused);
  expect(readFileSync(folder.file, 'utf8')).toContain('Dear diary');
  await expect(folder.open({ file: `${folder.file}/none/x.db` })).rejects.toMatchObject(refused);
});

test('a worker thread that cannot start is reported in one line', async () => {
  const worker = new Worker('throw new Error("no native part\\nRequire stack: ...")', { eval: true });
  await expect(createStoreFolder().open({ worker })).rejects.toMatchObject({
    code: 'invalid_setup',
    message: 'The store cannot be opened: no native part',
  });
});

test('secrets of another deployment are refused before anything is signed with them', async () => {
  const folder = createStoreFolder();
  const store = await folder.open();
  await store.journal.append({ chain: 'acme', body: '{}' });
  await store.close();
  await expect(folder.open({ signingKey: newSigningKey() })).rejects.toMatchObject({
    code: 'invalid_setup',
    message: expect.stringContaining('the secrets do not belong to'),
  });
});

test('E4 the database and the copies can be read by their owner only', async () => {
  const folder = createStoreFolder();
  const store = await folder.open();
  await store.journal.append({ chain: 'acme', body: '{}' });
  const modes = [folder.file, `${folder.file}-wal`].map((file) => statSync(file).mode & 0o777);
  await store.close();
  expect([...modes, statSync(folder.copy).mode & 0o777]).toEqual([0o600, 0o600, 0o600]);
});

test('E2 text that would make several rows is refused, without an effect on other requests', async () => {
  const folder = createStoreFolder();
  const { journal } = await folder.open();
  const good = journal.append({ chain: 'acme', body: '{"good":true}' });
  for (const entry of [
    { chain: 'acme', body: '{}\nother\t1\tx\t{}' },
    { chain: 'acme', body: '{}\t' },
    { chain: 'acme\tother', body: '{}' },
    { chain: 'acme\n', body: '{}' },
    { chain: '', body: '{}' },
  ]) {
    await expect(journal.append(entry)).rejects.toBeInstanceOf(TypeError);
    await expect(journal.commit(entry, reservationOf('k'))).rejects.toBeInstanceOf(TypeError);
  }
  await good;
  expect(folder.verify()).toMatchObject({ problem: undefined, rows: 1 });
  // Written as it is, such a text would be two rows.
  const forged = writeRow('acme', genesis('acme'), '{}\nother\t1\tx\t{}').split('\n');
  expect(parseRow(forged[1]!)).toMatchObject({ chain: 'other', seq: 1 });
});

const dead: readonly [which: string, holder: string][] = [
  ['another process', '999999999.0123456789ab'],
  ['one that had our id before us', `${process.pid}.0123456789ab`],
];
const alive: readonly [which: string, holder: string][] = [
  ['our own', processName],
  ['the one that started us', `${process.ppid}.0123456789ab`],
];

test.each(dead.flatMap((one) => [true, false].map((isClosed) => [...one, isClosed] as const)))(
  'intents of a dead process (%s %s, its last rows checkpointed: %s) are closed as unknown at the next start, once',
  async (_which, holder, isClosed) => {
    const folder = createStoreFolder();
    const first = await folder.open();
    await first.journal.commit(intentOf(`${holder}-1`), undefined);
    await first.journal.commit(intentOf(`${holder}-2`), undefined);
    await first.journal.append(outcomeOf(`${holder}-2`));
    if (isClosed) await first.close();
    for (let start = 0; start < 2; start++) await (await folder.open()).close();
    expect(
      bodiesIn(folder.file, 'acme')
        .slice(3)
        .map((body) => JSON.parse(body)),
    ).toEqual([
      {
        kind: 'outcome',
        call: `${holder}-1`,
        at: expect.any(String),
        ...who,
        tool: 'pay',
        outcome: 'unknown',
        reason: 'The process ended while the call ran.',
      },
    ]);
    expect(keptIntents(folder)).toEqual([]);
    expect(folder.verify().problem).toBeUndefined();
  },
);

test.each([
  ['{"kind":"intent","call":"999999999.0123456789ab-1","tool":"pay"}', { tool: 'pay' }],
  ['{"kind":"intent","call":"999999999.0123456789ab-1",', {}],
])(
  'an intent without a caller, or without any content, is closed as unknown as well: %s',
  async (body, said) => {
    const folder = createStoreFolder();
    const first = await folder.open();
    await first.journal.append({ chain: 'acme', body });
    await first.close();
    await (await folder.open()).close();
    expect(JSON.parse(bodiesIn(folder.file, 'acme')[1]!)).toEqual({
      kind: 'outcome',
      call: '999999999.0123456789ab-1',
      at: expect.any(String),
      ...said,
      outcome: 'unknown',
      reason: 'The process ended while the call ran.',
    });
  },
);

test('E2 text that is copied from an intent stays escaped', async () => {
  const folder = createStoreFolder();
  const first = await folder.open();
  const body = `{"kind":"intent","call":"999999999.0123456789ab-1","caller":"a\\u202eb","tool":"\\u001b[2J"}`;
  await first.journal.append({ chain: 'acme', body });
  await first.close();
  await (await folder.open()).close();
  const [, outcome] = bodiesIn(folder.file, 'acme');
  expect(outcome).toMatch(/^[\x20-\x7e]+$/);
  expect(JSON.parse(outcome!)).toMatchObject({ caller: 'a\u202eb', tool: '\u001b[2J' });
});

test.each(alive)('intents of a running process (%s) are left alone', async (_which, holder) => {
  const folder = createStoreFolder();
  const first = await folder.open();
  const intent = intentOf(`${holder}-1`);
  await first.journal.commit(intent, undefined);
  await first.close();
  await (await folder.open()).close();
  expect(bodiesIn(folder.file, 'acme')).toEqual([intent.body]);
  expect(keptIntents(folder)).toEqual([`${holder}-1`]);
});

test('a second store of the same process does not close the intents and tasks of the first', async () => {
  const folder = createStoreFolder();
  const first = await folder.open();
  const call = `${processName}-1`;
  const rows = [intentOf(call), outcomeOf(call)] as const;
  await first.journal.commit(rows[0], undefined);
  await first.memory.tasks.put(taskOf('t1'));
  const second = await folder.open();
  expect(bodiesIn(folder.file, 'acme')).toEqual([rows[0].body]);
  expect(await second.memory.tasks.get('t1')).toEqual(taskOf('t1'));
  // The call goes on, and ends as it would have.
  await first.journal.append(rows[1]);
  expect(bodiesIn(folder.file, 'acme')).toEqual(rows.map(({ body }) => body));
  // The one that saw neither row being written closes last, and has to know of both.
  for (const store of [first, second]) await store.close();
  expect(keptIntents(folder)).toEqual([]);
  expect(folder.verify().problem).toBeUndefined();
});

test.each(dead)(
  'running tasks of a process (%s) that died are failed after a restart',
  async (_which, holder) => {
    const folder = createStoreFolder();
    const first = await folder.open();
    const asking = { ...taskOf('t2'), status: 'input_required' as const, inputRequests: { q: {} } };
    const done = { ...taskOf('t3'), status: 'completed' as const, result: { paid: 5 } };
    for (const task of [taskOf('t1'), asking, done]) await first.memory.tasks.put(task);
    await first.close();
    folder.inside((db) => db.run('update tasks set holder = ?', holder));

    const { memory } = await folder.open();
    for (const id of ['t1', 't2'])
      expect(await memory.tasks.get(id)).toEqual({
        ...taskOf(id),
        status: 'failed',
        updatedAt: expect.any(Number),
        error: { code: -32603, message: expect.stringContaining('its outcome is unknown') },
      });
    expect((await memory.tasks.get('t1'))!.updatedAt).toBeGreaterThan(TASK_AT);
    expect(await memory.tasks.get('t3')).toEqual(done);
  },
);

test.each(alive)('running tasks of a process that lives (%s) continue', async (_which, holder) => {
  const folder = createStoreFolder();
  const first = await folder.open();
  await first.memory.tasks.put(taskOf('t1'));
  await first.close();
  folder.inside((db) => db.run('update tasks set holder = ?', holder));
  expect(await (await folder.open()).memory.tasks.get('t1')).toEqual(taskOf('t1'));
});

test('a closed store accepts no rows and no requests', async () => {
  const store = await createStoreFolder().open();
  await store.close();
  await store.close();
  expect(store.journal.isReady).toBe(false);
  const refused = { code: 'record_unavailable' };
  await expect(store.journal.append({ chain: 'acme', body: '{}' })).rejects.toMatchObject(refused);
  await expect(store.journal.commit({ chain: 'acme', body: '{}' }, reservationOf('k'))).rejects.toMatchObject(
    refused,
  );
  await expect(store.identities.listKeys()).rejects.toMatchObject(refused);
});

test('requests from before the close are completed', async () => {
  const folder = createStoreFolder();
  const { journal, close } = await folder.open();
  const rows = Array.from({ length: 100 }, (_, n) => journal.append({ chain: 'acme', body: `{"n":${n}}` }));
  await close();
  await Promise.all(rows);
  expect(folder.verify()).toMatchObject({ problem: undefined, rows: 100, unproven: 0 });
});

test('an invalid request does not affect later ones', async () => {
  const { identities, journal } = await createStoreFolder().open();
  await identities.putKey(keyOf('k1'));
  await expect(identities.putKey(keyOf('k1'))).rejects.toMatchObject({ code: 'record_unavailable' });
  expect(journal.isReady).toBe(true);
  await journal.append({ chain: 'acme', body: '{}' });
  expect(await identities.listKeys()).toHaveLength(1);
});

test('E3 the queue of rows is limited', async () => {
  const { journal } = await createStoreFolder().open();
  const answers = await Promise.allSettled(
    Array.from({ length: 20_100 }, () => journal.append({ chain: 'acme', body: '{}' })),
  );
  const refused = answers.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(100);
  expect(refused[0]).toMatchObject({ reason: { code: 'record_unavailable' } });
});

test('E3 the queue of all other requests is limited too: an intent beyond it is refused, and uses no key', async () => {
  const folder = createStoreFolder();
  const { journal, reservations } = await folder.open();
  const reads = Array.from({ length: 19_999 }, async () => reservations.find('ada', 'none'));
  const commits = ['a', 'b', 'c'].map((key) => journal.commit(intentOf(key), reservationOf(key)));
  const refused = { status: 'rejected', reason: { code: 'record_unavailable' } };
  expect(await Promise.allSettled([...commits, reservations.find('ada', 'none')])).toMatchObject([
    { status: 'fulfilled', value: 'committed' },
    refused,
    refused,
    refused,
  ]);
  expect(new Set(await Promise.all(reads))).toEqual(new Set([undefined]));
  const taken = await Promise.all(['a', 'b', 'c'].map(async (key) => reservations.find('ada', key)));
  expect(taken.map((found) => found?.subject)).toEqual(['pay 5', undefined, undefined]);
  expect(bodiesIn(folder.file, 'acme')).toEqual([intentOf('a').body]);
});

test('R3 while the disk hangs everything is refused; refused writes are undone when it works again', async () => {
  const folder = createStoreFolder();
  const [troubled, recovered] = [vi.fn<(reason: string) => void>(), vi.fn<() => void>()];
  const before = await folder.open();
  const approval = await approvedIn(before);
  await before.close();
  const store = await folder.open({ checkpointRows: 1, onTrouble: troubled, onRecovery: recovered });
  const { journal, reservations, approvals, identities } = store;
  rmSync(folder.copy);
  // Reading a pipe without a writer hangs like a disk that does not answer.
  execFileSync('mkfifo', [folder.copy]);
  await journal.append({ chain: 'acme', body: '{"n":1}' });
  const refused = { code: 'record_unavailable' };
  const late = [
    journal.commit(intentOf('c1'), undefined),
    journal.append(intentOf('c0')),
    journal.commit(intentOf('c2'), reservationOf('k'), approval),
    Promise.resolve(identities.findTenant('acme')),
  ];
  for (const answer of await Promise.allSettled(late)) expect(answer).toMatchObject({ reason: refused });
  expect(journal.isReady).toBe(false);
  expect(troubled).toHaveBeenCalledWith('The disk does not respond.');
  await expect(journal.append({ chain: 'acme', body: '{}' })).rejects.toMatchObject(refused);
  await expect(Promise.resolve(identities.findTenant('acme'))).rejects.toMatchObject(refused);

  const pipe = openSync(folder.copy, 'r+');
  rmSync(folder.copy);
  closeSync(pipe);
  await vi.waitFor(() => expect(recovered).toHaveBeenCalled(), { timeout: 5_000 });
  await vi.waitFor(async () => expect(await reservations.find('ada', 'k')).toBeUndefined());
  await vi.waitFor(async () => expect(await approvals.use(approval)).toBe(true));
  await journal.append({ chain: 'acme', body: '{"n":2}' });
  const kinds = bodiesIn(folder.file, 'acme').map((body) => JSON.parse(body));
  const outcome = { kind: 'outcome', ...who, tool: 'pay', outcome: 'record_unavailable' };
  expect(kinds).toEqual([
    { n: 1 },
    JSON.parse(intentOf('c1').body),
    // Of a call that is already running, whose process writes the outcome.
    JSON.parse(intentOf('c0').body),
    JSON.parse(intentOf('c2').body),
    expect.objectContaining({ ...outcome, call: 'c1' }),
    expect.objectContaining({ ...outcome, call: 'c2' }),
    { n: 2 },
  ]);
  await store.close();
  expect(keptIntents(folder)).toEqual(['c0']);
  expect(folder.verify()).toMatchObject({ problem: undefined, unproven: 0 });
});

test('R3 a damaged database is closed and opened again, and the gap is on record', async () => {
  const folder = createStoreFolder();
  const [troubled, recovered] = [vi.fn<(reason: string) => void>(), vi.fn<() => void>()];
  const { journal } = await folder.open({ onTrouble: troubled, onRecovery: recovered });
  folder.inside((db) => db.run('alter table journal rename to hidden'));
  const refused = { code: 'record_unavailable' };
  await expect(journal.append({ chain: 'acme', body: '{}' })).rejects.toMatchObject(refused);
  await vi.waitFor(() => expect(troubled).toHaveBeenCalledWith('SQLITE_ERROR'));
  expect(journal.isReady).toBe(false);
  folder.inside((db) => db.run('alter table hidden rename to journal'));
  await vi.waitFor(() => expect(recovered).toHaveBeenCalled(), { timeout: 5_000 });
  await journal.append({ chain: 'acme', body: '{}' });
  expect(bodiesIn(folder.file, '@operator').map((body) => JSON.parse(body))).toEqual([
    { kind: 'gap', at: expect.any(String), reason: 'SQLITE_ERROR', refused: 1 },
  ]);
  expect(folder.verify()).toMatchObject({ problem: undefined, rows: 2 });
});

test('a copy that cannot be written is reported, and catches up when it can be written again', async () => {
  const folder = createStoreFolder();
  const warned = vi.fn<(reason: string) => void>();
  const store = await folder.open({ checkpointRows: 1, onWarning: warned });
  await store.journal.append({ chain: 'acme', body: '{"n":1}' });
  await vi.waitFor(() => expect(readFileSync(folder.copy, 'utf8').split('\n')).toHaveLength(2));
  const kept = readFileSync(folder.copy);
  // A folder in its place cannot be written to, not even by the owner of the machine.
  replaceByFolder(folder.copy);
  await store.journal.append({ chain: 'acme', body: '{"n":2}' });
  await vi.waitFor(() => expect(warned).toHaveBeenCalledWith(expect.stringContaining('EISDIR')));
  expect(store.journal.isReady).toBe(true);
  rmdirSync(folder.copy);
  // Half a line is what a disk that fills up leaves behind.
  appendFileSync(folder.copy, `${kept.toString()}${kept.toString().slice(0, 40)}`);
  await store.journal.append({ chain: 'acme', body: '{"n":3}' });
  await store.close();
  expect(folder.verify()).toMatchObject({ problem: undefined, checkpoints: 3, unproven: 0 });
});

function heardSince(store: Store, heard: ReturnType<typeof vi.fn<() => void>>): boolean {
  if (!watching.has(store)) store.identities.watch(heard);
  watching.add(store);
  return heard.mock.calls.length > 0;
}

const watching = new WeakSet<Store>();

function replaceByFolder(file: string): void {
  rmSync(file);
  mkdirSync(file);
}

function bodiesIn(file: string, chain: string): string[] {
  const db = new SqliteDatabase(file, 'existing');
  try {
    return Array.from(readJournal(db, { chain, limit: 10_000, order: 'oldest' }), ({ body }) => body);
  } finally {
    db.close();
  }
}

const acme: TenantRecord = { id: 'acme', name: 'Acme', data: { plan: 'pro' }, disabled: false };

function facts(id: string): { id: string; owner: string; createdAt: number } {
  return { id, owner: '4:acme/ada', createdAt: Date.now() };
}

const TASK_AT = Date.now() - 60_000;

function taskOf(id: string): TaskRecord {
  return { ...facts(id), createdAt: TASK_AT, status: 'working', updatedAt: TASK_AT, ttlMs: HOUR_MS };
}

/** An approval that can be used. */
async function approvedIn({ approvals }: Store): Promise<string> {
  const at = Date.now();
  const expiresAt = at + 60_000;
  const names = { owner: 'ada', subject: 'wipe', tenant: 'acme', caller: 'ada', tool: 'wipe' };
  const asked = await approvals.ask({ ...names, arguments: '{}', createdAt: at, expiresAt });
  const { id } = asked!.approval;
  const row = { chain: '@operator', body: '{}' };
  await approvals.decide(id, { isApproved: true, by: 'root', at, expiresAt }, row);
  return id;
}

function reservationOf(key: string): Reservation {
  return { owner: 'ada', key, subject: 'pay 5', expiresAt: Date.now() + 24 * HOUR_MS };
}

function keyOf(id: string): KeyRecord {
  return {
    id,
    hash: `hash of ${id}`,
    tenant: 'acme',
    caller: 'ada',
    scopes: [],
    roles: ['admin'],
    createdAt: 1_000,
    expiresAt: undefined,
    revokedAt: undefined,
    lastUsedAt: undefined,
  };
}

const who = { tenant: 'acme', caller: 'ada', credential: 'key_1' };

function intentOf(call: string): Entry {
  return { chain: 'acme', body: JSON.stringify({ kind: 'intent', call, ...who, tool: 'pay' }) };
}

function outcomeOf(call: string): Entry {
  return { chain: 'acme', body: JSON.stringify({ kind: 'outcome', call }) };
}

function keptIntents(folder: StoreFolder): string[] {
  return folder.inside((db) => db.all<{ call: string }>('select call from intents')).map(({ call }) => call);
}
