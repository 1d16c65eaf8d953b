import type { Kysely } from 'kysely';
import type { SqliteDatabase } from './sqlite-database.ts';

type Step = (db: Kysely<unknown>) => Promise<void>;

// Forward only: a step that was released is never changed, a new one is added.
const steps: readonly Step[] = [firstTables, approvalTable];

/** Which step the schema is at when everything has been applied. */
export const schemaVersion = steps.length;

/** Brings a database up to date. */
export async function migrate(database: SqliteDatabase): Promise<void> {
  // Loaded only when there is something to do, which is once per release.
  const { Kysely, SqliteDialect } = await import('kysely');
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: database.raw }) });
  database.run('begin immediate');
  try {
    // Another process may have been first.
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
  // A group of rows is one row here: what is written together is kept together, and costs one insert however many tenants it is about.
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
