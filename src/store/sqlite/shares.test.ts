import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createStoreFolder, type StoreFolder } from '../../../test/store-folder.ts';
import type { TenantRecord } from '../../core/memory/identities.ts';
import type { Reservation } from '../../core/memory/memory.ts';
import { SqliteDatabase } from './database.ts';
import { schemaVersion } from './schema.ts';
import { SqliteShares } from './shares.ts';
import { sweepSlice } from './sweep.ts';

const HOUR_MS = 3_600_000;
const acme: TenantRecord = { id: 'acme', name: 'Acme', data: { plan: 'pro' }, disabled: false };

test.each([1, 2])(
  'a database of version %d is migrated, and its content is kept and counted',
  async (version) => {
    const folder = createStoreFolder();
    new SqliteDatabase(folder.file).close();
    const at = Date.now();
    const kept = { ...facts('t1'), status: 'working' as const, updatedAt: at, ttlMs: HOUR_MS };
    const session = { ...facts('s1'), protocolVersion: '2025-11-25', client: {} };
    const outcome = 'x'.repeat(100_000);
    folder.inside((db) => {
      db.raw.exec(readFileSync(new URL('../../../test/fixtures/schema-2.sql', import.meta.url), 'utf8'));
      db.run('insert into tenants values (?, ?)', 'acme', JSON.stringify(acme));
      const soon = at + HOUR_MS;
      db.run('insert into tasks values (?, ?, ?, ?)', 't1', JSON.stringify(kept), soon, '999999999.0');
      db.run('insert into sessions values (?, ?, ?, ?)', 's1', JSON.stringify(session), soon, '999999999.0');
      db.run('insert into events values (?, ?, ?, ?, ?)', 's1/a', 1, 'a.1', '', at);
      db.run('insert into events values (?, ?, ?, ?, ?)', 's1/a', 2, 'a.2', 'two', at);
      db.run('insert into reservations values (?, ?, ?, ?, ?)', kept.owner, 'k', 'pay 5', outcome, soon);
      if (version === 1) db.run('drop table approvals');
      db.run(`pragma user_version = ${version}`);
    });
    const store = await folder.open();
    expect(await store.approvals.list()).toEqual([]);
    expect(await store.identities.listTenants()).toEqual([acme]);
    expect(await store.memory.tasks.get('t1')).toMatchObject({ id: 't1', status: 'failed' });
    expect(await store.memory.sessions.get('s1')).toEqual(session);
    expect(await store.memory.events.after('s1/a', 'a.1', kept.owner)).toEqual([{ id: 'a.2', text: 'two' }]);
    expect(await store.reservations.find(kept.owner, 'k')).toEqual({ subject: 'pay 5', outcome });
    expect(folder.inside((db) => db.version)).toBe(schemaVersion);
    expect(heldIn(folder, 'reservations')).toEqual({ '4:acme': [1, 100_000], '4:acme/ada': [1, 100_000] });
    expect(heldIn(folder, 'events')).toEqual({ '4:acme': [2, 3], '4:acme/ada': [2, 3] });
    expect(Object.keys(heldIn(folder, 'tasks'))).toEqual(['4:acme', '4:acme/ada']);
  },
);

test('C4 older pins without an account are counted for each account after an update', async () => {
  const folder = createStoreFolder();
  await (await folder.open()).close();
  folder.inside((db) => {
    db.run('drop table pins');
    db.run(`create table pins (server text not null, tool text not null, digest text, definition text, at integer,
      pinned_by text, held_digest text, held_definition text, held_at integer, revision integer not null,
      constraint pins_key primary key (server, tool))`);
    db.run('create index pins_revision on pins (revision)');
    db.run(`insert into pins values ('web', 'search', 'one', '{}', 5, 'ada', 'two', '{"v":2}', 6, 3)`);
    db.run('pragma user_version = 4');
  });
  const { pins } = await folder.open();
  const place = { server: 'web', account: '', tool: 'search' };
  const pinned = { digest: 'one', definition: '{}', at: 5, by: 'ada' };
  const held = { digest: 'two', definition: '{"v":2}', at: 6 };
  expect(await pins.list()).toEqual([{ ...place, pinned, held, revision: 3 }]);
  const first = await pins.pinFirst({ ...place, account: 'acme' }, held);
  expect(first).toMatchObject({ account: 'acme', pinned, held: undefined });
});

test('A8 the counts of callers and tenants stay correct after any change, removal or expiry', async () => {
  const folder = createStoreFolder();
  const { journal, reservations, memory, close } = await folder.open();
  const owners = ['4:acme/ada', '4:acme/bob', '5:other/ada'];
  for (const [n, owner] of owners.entries()) {
    const task = { ...facts(`t${n}`), owner, status: 'working' as const, updatedAt: 1, ttlMs: HOUR_MS };
    await memory.tasks.put(task);
    await memory.tasks.put({ ...task, status: 'completed', result: { text: 'x'.repeat(n * 50_000) } });
    for (const key of ['a', 'b', 'c']) {
      const reservation = { ...reservationOf(key), owner, ...(key === 'c' && { expiresAt: Date.now() - 1 }) };
      await journal.commit({ chain: 'acme', body: '{}' }, reservation);
      await reservations.finish(owner, key, 'ü'.repeat(n * 20_000));
    }
    await journal.commit({ chain: 'acme', body: '{}' }, { ...reservationOf('d'), owner });
    await reservations.release(owner, 'd');
    await memory.sessions.put({ ...facts(`s${n}`), owner, protocolVersion: '2025-11-25', client: {} });
    for (let id = 0; id < 5; id++)
      await memory.events.keep(`s${n}`, { id: `${id}`, text: 'ü'.repeat(300_000) }, owner);
  }
  await memory.sessions.delete('s0');
  await memory.events.forget('s1', owners[1]!);
  await close();
  folder.inside((db) => {
    while (sweepSlice(db, new SqliteShares(db)));
    for (const table of ['tasks', 'sessions', 'events', 'reservations', 'approvals'])
      for (const column of ['owner', 'tenant']) {
        const counted = db.all<{ owner: string }>(
          `select owner, kept, bytes from holdings where kind = ? and owner in (select ${column} from ${table}) order by owner`,
          table,
        );
        const there = db.all<object>(
          `select ${column} as owner, count(*) as kept, sum(bytes) as bytes from ${table} group by ${column} order by 1`,
        );
        expect(counted.map(plain)).toEqual(there.map(plain));
      }
    expect(db.get('select count(*) as n from holdings where kept <= 0')).toMatchObject({ n: 0 });
    expect(db.get("select sum(bytes) as n from holdings where kind = 'stream'")).toMatchObject({
      n: db.get<{ n: number }>('select sum(bytes) as n from events')!.n,
    });
  });
});

test('A8 expired entries are removed in small slices, however many there are', async () => {
  const folder = createStoreFolder();
  const store = await folder.open();
  const outcome = 'x'.repeat(990_000);
  for (let n = 0; n < 12; n++) {
    await store.journal.commit({ chain: 'acme', body: '{}' }, reservationOf(`k${n}`));
    await store.reservations.finish('ada', `k${n}`, outcome);
  }
  await store.close();
  folder.inside((db) => {
    const left = (): number => db.get<{ n: number }>('select count(*) as n from reservations')!.n;
    const freed = (): number => db.get<{ freelist_count: number }>('pragma freelist_count')!.freelist_count;
    const [pages, before] = [db.get<{ page_count: number }>('pragma page_count')!.page_count, freed()];
    db.run('update reservations set expires_at = 1');
    const slices: number[] = [];
    do slices.push(left());
    while (sweepSlice(db, new SqliteShares(db)));
    expect(slices).toEqual([12, 7, 2, 0]);
    // The room is used again: the file grows no further.
    expect(freed() - before).toBeGreaterThan(12 * 60);
    expect(db.get<{ page_count: number }>('pragma page_count')!.page_count).toBeLessThan(pages + 100);
    const plan = db.all<{ detail: string }>(
      'explain query plan select rowid, bytes from reservations where expires_at <= 1 order by expires_at limit 5',
    );
    expect(plan[0]!.detail).toContain('USING COVERING INDEX reservations_expiry');
  });
});

test('A8 of small entries that have expired, a slice has only so many', async () => {
  const folder = createStoreFolder();
  await (await folder.open()).close();
  folder.inside((db) => {
    db.run(
      `insert into reservations (owner, key, subject, expires_at, tenant)
       select '4:acme/ada', value, 's', 1, '4:acme' from json_each(?)`,
      JSON.stringify(Array.from({ length: 1_200 }, (_, n) => `k${n}`)),
    );
    const slices: number[] = [];
    do slices.push(db.get<{ n: number }>('select count(*) as n from reservations')!.n);
    while (sweepSlice(db, new SqliteShares(db)));
    expect(slices).toEqual([1_200, 700, 200, 0]);
  });
});

test('A8 the keys of a caller and of a tenant are limited, and a used key stays used', async () => {
  const folder = createStoreFolder();
  await (await folder.open()).close();
  folder.inside((db) => {
    db.run(
      "insert into reservations (owner, key, subject, expires_at, tenant) values ('4:acme/ada', '7', 's', ?, '4:acme')",
      Date.now() + HOUR_MS,
    );
    for (const owner of ['4:acme', '4:acme/ada'])
      db.run("insert into holdings values ('reservations', ?, 250000, 0)", owner);
  });
  const { journal } = await folder.open();
  const commit = (owner: string, key: string): Promise<string> =>
    journal.commit({ chain: 'acme', body: '{}' }, { ...reservationOf(key), owner });
  expect(await commit('4:acme/ada', 'one more')).toBe('full');
  expect(await commit('4:acme/ada', '7')).toBe('taken');
  expect(await commit('4:acme/bob', 'one more')).toBe('committed');
  folder.inside((db) => db.run("update holdings set kept = 1000000 where owner = '4:acme'"));
  expect(await commit('4:acme/bob', 'two more')).toBe('full');
  expect(await commit('5:other/eve', 'one more')).toBe('committed');
});

/** What is counted of one kind, as rows and bytes by owner. */
function heldIn(folder: StoreFolder, kind: string): Record<string, readonly [number, number]> {
  const held = folder.inside((db) =>
    db.all<{ owner: string; kept: number; bytes: number }>(
      'select owner, kept, bytes from holdings where kind = ? order by owner',
      kind,
    ),
  );
  return Object.fromEntries(held.map(({ owner, kept, bytes }) => [owner, [kept, bytes]]));
}

// The driver puts something of its own into the first row.
function plain(row: object): object {
  return { ...row, _metadata: undefined };
}

function facts(id: string): { id: string; owner: string; createdAt: number } {
  return { id, owner: '4:acme/ada', createdAt: Date.now() };
}

function reservationOf(key: string): Reservation {
  return { owner: 'ada', key, subject: 'pay 5', expiresAt: Date.now() + 24 * HOUR_MS };
}
