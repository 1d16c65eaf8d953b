import type { Kysely } from 'kysely';
import { tenantOf } from '../../core/caller.ts';
import type { SqliteDatabase } from './database.ts';

type Step = (db: Kysely<unknown>) => Promise<void>;

// Forward only: a released step is never changed; add a new one.
const steps: readonly Step[] = [firstTables, approvalTable, shareTables, pinTable, pinsByAccount];

/** The version of the current schema. */
export const schemaVersion = steps.length;

/** Brings a database up to date. */
export async function migrate(database: SqliteDatabase): Promise<void> {
  // Loaded only if there is something to migrate, once per release.
  const { Kysely, SqliteDialect } = await import('kysely');
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: database.raw }) });
  database.run('begin immediate');
  try {
    // Another process may have migrated first.
    for (let at = database.version; at < steps.length; at++) {
      await steps[at]!(db);
      database.run(`pragma user_version = ${at + 1}`);
    }
    database.run('commit');
  } catch (error) {
    database.run('rollback');
    throw error;
  }
}

async function firstTables(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  // A group of rows is one row here: one insert, however many tenants it is about.
  await schema
    .createTable('journal')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('at', 'integer', (column) => column.notNull())
    .addColumn('rows', 'text', (column) => column.notNull())
    .execute();
  await schema
    .createTable('checkpoints')
    .addColumn('n', 'integer', (column) => column.primaryKey())
    .addColumn('up_to', 'integer', (column) => column.notNull())
    .addColumn('at', 'integer', (column) => column.notNull())
    .addColumn('line', 'text', (column) => column.notNull())
    .execute();
  await schema
    .createTable('heads')
    .addColumn('chain', 'text', (column) => column.primaryKey())
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .execute();
  await schema
    .createTable('intents')
    .addColumn('call', 'text', (column) => column.primaryKey())
    .addColumn('chain', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .execute();
  await schema
    .createTable('reservations')
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text')
    .addColumn('expires_at', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('reservations_key', ['owner', 'key'])
    .execute();
  await schema
    .createTable('quotas')
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('starts_at', 'integer', (column) => column.notNull())
    .addColumn('ends_at', 'integer', (column) => column.notNull())
    .addColumn('taken', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('quotas_key', ['name', 'starts_at'])
    .execute();
  await identityTables(db);
  await protocolTables(db);
}

async function approvalTable({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('approvals')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('record', 'text', (column) => column.notNull())
    .addColumn('decision', 'text')
    .addColumn('used_at', 'integer')
    .addColumn('rounds', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('expires_at', 'integer', (column) => column.notNull())
    .execute();
  await schema.createIndex('approvals_owner').on('approvals').columns(['owner', 'subject']).execute();
}

// Stored data is counted per caller and per tenant.
async function shareTables(db: Kysely<unknown>): Promise<void> {
  const { sql } = await import('kysely');
  const run = async (text: string): Promise<void> => void (await sql.raw(text).execute(db));
  await run(
    `create table holdings (kind text not null, owner text not null, kept integer not null, bytes integer not null,
     primary key (kind, owner)) without rowid`,
  );
  for (const statement of NEW_COLUMNS) await run(statement);
  for (const { table, body } of SHARED) {
    await run(`update ${table} set bytes = coalesce(octet_length(${body}), 0)`);
    const owners = await sql.raw<{ owner: string }>(`select distinct owner from ${table}`).execute(db);
    for (const { owner } of owners.rows)
      await sql`update ${sql.table(table)} set tenant = ${tenantOf(owner)} where owner = ${owner}`.execute(
        db,
      );
    for (const column of ['owner', 'tenant'])
      await run(
        `insert into holdings select '${table}', ${column}, count(*), sum(bytes) from ${table} group by ${column}`,
      );
  }
  await run("insert into holdings select 'stream', stream, count(*), sum(bytes) from events group by stream");
  for (const index of NEW_INDEXES) await run(`create index ${index}`);
}

async function pinTable({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('pins')
    .addColumn('server', 'text', (column) => column.notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('digest', 'text')
    .addColumn('definition', 'text')
    .addColumn('at', 'integer')
    .addColumn('pinned_by', 'text')
    .addColumn('held_digest', 'text')
    .addColumn('held_definition', 'text')
    .addColumn('held_at', 'integer')
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('pins_key', ['server', 'tool'])
    .execute();
  await schema.createIndex('pins_revision').on('pins').column('revision').execute();
}

// Pins for a server count for each account until that has pins of its own.
async function pinsByAccount(db: Kysely<unknown>): Promise<void> {
  const { sql } = await import('kysely');
  const columns = `digest, definition, at, pinned_by, held_digest, held_definition, held_at, revision`;
  for (const statement of [
    'drop index pins_revision',
    'alter table pins rename to pins_of_servers',
    `create table pins (server text not null, account text not null, tool text not null, digest text,
     definition text, at integer, pinned_by text, held_digest text, held_definition text, held_at integer,
     revision integer not null, primary key (server, tool, account))`,
    `insert into pins (server, account, tool, ${columns}) select server, '', tool, ${columns} from pins_of_servers`,
    'drop table pins_of_servers',
    'create index pins_revision on pins (revision)',
  ])
    await sql.raw(statement).execute(db);
}

const SHARED = [
  { table: 'tasks', body: 'record' },
  { table: 'sessions', body: 'record' },
  { table: 'events', body: 'text' },
  { table: 'reservations', body: 'outcome' },
  { table: 'approvals', body: 'record' },
] as const;

const NEW_COLUMNS = [
  ...['tasks', 'sessions', 'events'].map(
    (table) => `alter table ${table} add column owner text not null default ''`,
  ),
  ...SHARED.flatMap(({ table }) => [
    `alter table ${table} add column tenant text not null default ''`,
    `alter table ${table} add column bytes integer not null default 0`,
  ]),
  'alter table tasks add column is_open integer not null default 0',
  'alter table reservations add column not_kept text',
  "update tasks set owner = coalesce(record ->> 'owner', ''), is_open = record ->> 'status' in ('working', 'input_required')",
  "update sessions set owner = coalesce(record ->> 'owner', '')",
  // The name of a stream begins with its session.
  `update events set owner = coalesce((select owner from sessions
   where id = substr(stream, 1, instr(stream || '/', '/') - 1)), '')`,
];

const NEW_INDEXES = [
  ...['tasks', 'sessions', 'reservations', 'approvals'].map(
    (table) => `${table}_expiry on ${table} (expires_at, bytes)`,
  ),
  'events_age on events (at, bytes)',
  'spent_expiry on spent (expires_at)',
  'quotas_end on quotas (ends_at)',
  ...['tasks', 'sessions', 'events'].flatMap((table) => [
    `${table}_of_caller on ${table} (owner)`,
    `${table}_of_tenant on ${table} (tenant)`,
  ]),
  'tasks_open on tasks (is_open) where is_open',
  'outcomes_of_caller on reservations (owner, expires_at) where bytes > 0',
  'outcomes_of_tenant on reservations (tenant, expires_at) where bytes > 0',
  'checkpoints_at on checkpoints (at)',
  'checkpoints_place on checkpoints (up_to)',
];

async function identityTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('tenants')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('record', 'text', (column) => column.notNull())
    .execute();
  await schema
    .createTable('keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('record', 'text', (column) => column.notNull())
    .addColumn('revoked_at', 'integer')
    .addColumn('last_used_at', 'integer')
    .execute();
}

async function protocolTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('sealing_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('bytes', 'text', (column) => column.notNull())
    .addColumn('created_at', 'integer', (column) => column.notNull())
    .execute();
  await schema
    .createTable('spent')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('expires_at', 'integer', (column) => column.notNull())
    .execute();
  for (const table of ['tasks', 'sessions']) {
    await schema
      .createTable(table)
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('record', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'integer', (column) => column.notNull())
      .addColumn('holder', 'text', (column) => column.notNull())
      .execute();
  }
  await schema
    .createTable('events')
    .addColumn('stream', 'text', (column) => column.notNull())
    .addColumn('n', 'integer', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addColumn('at', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('events_key', ['stream', 'n'])
    .execute();
}
