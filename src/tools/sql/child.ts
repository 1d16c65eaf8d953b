import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { pathToFileURL } from 'node:url';
import type Database from 'libsql';
import { createRowTaker, type SqlTrouble, type SqlValue } from './driver.ts';
import { OUT_OF_MEMORY, type ChildReply, type ChildRequest } from './child-messages.ts';
import { countParameters, findBeyond, surveyPlan } from './survey.ts';

const WATCH_MS = 100;
const HEAP_BYTES = 64 * 1024 * 1024;
const PROCESS_BYTES = 512 * 1024 * 1024;

if (isMainThread) await serve();
else watch();

async function serve(): Promise<void> {
  // A statement blocks this thread, so a second thread watches the process; it must start before the first statement.
  const watcher = new Worker(new URL(import.meta.url));
  const watching = once(watcher, 'message');
  process.on('disconnect', () => process.exit());
  const { default: Libsql } = await import('libsql');
  const db = new Libsql(`${pathToFileURL(process.argv[2]!).href}?mode=ro`);
  for (const setting of [
    'query_only = 1',
    'trusted_schema = 0',
    'temp_store = memory',
    'busy_timeout = 500',
    `hard_heap_limit = ${HEAP_BYTES}`,
  ])
    db.prepare(`pragma ${setting}`).all();
  process.on('message', (request: ChildRequest) => process.send!(answer(db, request)));
  await watching;
  watcher.unref();
  process.send!({ ready: true });
}

// Ends the process if its server has ended or a statement uses too much memory.
function watch(): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
    if (process.memoryUsage.rss() > PROCESS_BYTES) process.kill(process.pid, OUT_OF_MEMORY);
  }, WATCH_MS);
  parentPort!.postMessage('watching');
}

function answer(db: Database.Database, request: ChildRequest): ChildReply {
  const { id } = request;
  try {
    db.exec('begin');
    try {
      return { id, ...perform(db, request) };
    } finally {
      db.exec('rollback');
    }
  } catch (error) {
    return { id, ...toTrouble(error as { code?: string; message: string }) };
  }
}

type Answer = ChildReply extends infer R ? (R extends unknown ? Omit<R, 'id'> : never) : never;

function perform(db: Database.Database, request: ChildRequest): Answer {
  switch (request.kind) {
    case 'columns':
      return { columns: columnsOf(db, request.table), rows: [], isCut: false };
    case 'tables':
      return { columns: tablesOf(db, request.limit), rows: [], isCut: false };
    case 'survey':
      return survey(db, request.sql);
    case 'query':
      return query(db, request);
  }
}

// Only what the schema declares: no virtual table, no internal table.
const DECLARED =
  "from sqlite_schema where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\' and (type = 'view' or rootpage > 0)";

function tablesOf(db: Database.Database, limit: number): string[] {
  const rows = db.prepare(`select name ${DECLARED} order by name limit ?1`).all(BigInt(limit));
  return (rows as { name: string }[]).map(({ name }) => name);
}

function columnsOf(db: Database.Database, table: string): string[] {
  const declared = db.prepare(`select 1 ${DECLARED} and name = ?1`).all(table);
  if (declared.length === 0) return [];
  const rows = db.prepare('select name from pragma_table_xinfo(?1) where hidden <> 1').all(table);
  return (rows as { name: string }[]).map(({ name }) => name);
}

function survey(db: Database.Database, sql: string): Answer {
  const bare = checkSelect(db, sql);
  return { survey: { ...surveyPlan(db, bare), parameterCount: countParameters(db, bare) } };
}

// In parentheses only a single SELECT parses; the statement must also parse without them.
function checkSelect(db: Database.Database, sql: string): string {
  if (sql.includes('\0')) throw new Error('The statement holds a NUL character.');
  const bare = withoutSemicolons(sql);
  db.prepare(`select * from (${bare}\n)`);
  return bare;
}

// Trailing semicolons and blanks are not part of the statement.
function withoutSemicolons(sql: string): string {
  let bare = sql.trimEnd();
  while (bare.endsWith(';')) bare = bare.slice(0, -1).trimEnd();
  return bare;
}

type Query = Extract<ChildRequest, { kind: 'query' }>;

function query(db: Database.Database, { sql, values, maxRows, maxBytes, scope }: Query): Answer {
  const bare = checkSelect(db, sql);
  const beyond = findBeyond(surveyPlan(db, bare), scope);
  if (beyond !== undefined)
    return { trouble: 'not_permitted', detail: `${beyond} is beyond what is allowed.` };
  const statement = db.prepare(bare).raw(true).safeIntegers(true);
  const columns = statement.columns().map(({ name }) => name);
  const bound = values.map(toBound);
  const taker = createRowTaker({ maxRows, maxBytes });
  for (const row of statement.iterate(...bound) as IterableIterator<unknown[]>) {
    if (!taker.take(row.map(toPlain))) break;
  }
  // An unfinished statement would keep its lock on the file; `get` releases it.
  if (taker.isCut) statement.get(...bound);
  return { columns, rows: taker.rows, isCut: taker.isCut };
}

// The library binds every number as a float, and crashes on a boolean.
function toBound(value: SqlValue): SqlValue {
  if (typeof value === 'boolean') return value ? 1n : 0n;
  return Number.isSafeInteger(value) ? BigInt(value as number) : value;
}

function toPlain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;
}

function toTrouble({ code = '', message }: { code?: string; message: string }): Answer {
  const word = /(?:no such column: |near ")([^"]{1,60})/.exec(message)?.[1];
  return {
    trouble: troubleFor(code, message),
    detail: `${code} ${message}`,
    ...(word !== undefined && { word }),
  };
}

function troubleFor(code: string, message: string): SqlTrouble {
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return 'busy';
  if (/^SQLITE_(NOMEM|TOOBIG)/.test(code)) return 'too_large';
  if (/^SQLITE_(READONLY|AUTH|PERM)/.test(code)) return 'not_permitted';
  if (/^SQLITE_(CANTOPEN|IOERR|NOTADB|CORRUPT|FULL)/.test(code)) return 'unavailable';
  if (message.includes('no such table')) return 'unknown_table';
  if (message.includes('no such column')) return 'unknown_column';
  return code === 'SQLITE_ERROR' ? 'invalid_statement' : 'failed';
}
