import type Database from 'libsql';

/** What a statement reads and calls, according to SQLite's own plan. */
export interface Survey {
  /** The tables it opens, also behind views; an index counts as its table. */
  readonly tables: readonly string[];
  /** The functions it calls, in lower case; those SQLite compiles to plain steps, such as `coalesce`, are missing. */
  readonly functions: readonly string[];
  /** Steps that are not known to be harmless; a statement with any should be refused. */
  readonly unclear: readonly string[];
}

/** What a statement may read and call; a missing list is no limit, but files and other SQL are always refused. */
export interface Scope {
  readonly tables?: readonly string[];
  /** In lower case. */
  readonly functions?: readonly string[];
}

/** Reads from the plan of a SELECT what it opens and calls; the statement is not run. */
export function surveyPlan(db: Database.Database, sql: string): Survey {
  const owners = tablesByRoot(db);
  const tables = new Set<string>();
  const functions = new Set<string>();
  const unclear = new Set<string>();
  for (const { opcode, p2, p3, p4, p5 } of planOf(db, sql)) {
    if (opcode === 'OpenRead' || opcode === 'ReopenIdx') {
      const table = p3 === 0 && (p5 & ROOT_IN_REGISTER) === 0 ? owners.get(p2) : undefined;
      if (table === undefined) unclear.add(opcode);
      else tables.add(table);
    } else if (CALLS.has(opcode)) {
      functions.add((p4 ?? '').replace(/\(.*$/, '').toLowerCase());
    } else if (opcode === 'Transaction' ? p2 !== 0 : !STEPS.has(opcode)) {
      unclear.add(opcode);
    }
  }
  return { tables: [...tables], functions: [...functions], unclear: [...unclear] };
}

/** How many values a SELECT takes, also those its plan does not use; the statement is not run. */
export function countParameters(db: Database.Database, sql: string): number {
  // The last placeholder gets the number after the highest of the others.
  const steps = planOf(db, `select * from (${sql}\n) limit ?`);
  const numbers = steps.filter(({ opcode }) => opcode === 'Variable').map(({ p1 }) => p1);
  return Math.max(...numbers) - 1;
}

/** The first thing a statement reads, calls or does outside its scope, or that no scope can allow. */
export function findBeyond({ tables, functions, unclear }: Survey, scope: Scope = {}): string | undefined {
  return (
    unclear[0] ??
    functions.find((name) => NEVER.test(name) || scope.functions?.includes(name) === false) ??
    tables.find((table) => scope.tables?.includes(table) === false)
  );
}

// In this build of SQLite, a SELECT can read and write files, run other SQL and change internals.
const NEVER =
  /^(readfile|writefile|edit|lsmode|load_extension|eval|sha3_query|fts3_tokenizer|sqlite_(crypt|log)|sqlite3mc_.*|libsql_.*|rtree.*|geopoly_debug|fts5|optimize)$/;

interface Step {
  readonly opcode: string;
  readonly p1: number;
  readonly p2: number;
  readonly p3: number;
  readonly p4: string | null;
  readonly p5: number;
}

function planOf(db: Database.Database, sql: string): Step[] {
  const statement = db.prepare(`explain ${sql}`);
  const steps = statement.all() as Step[];
  // The library keeps a fully read plan open, and with it the file, unless it is asked for one row.
  statement.get();
  return steps;
}

const ROOT_IN_REGISTER = 0x10;
const CALLS: ReadonlySet<string> = new Set([
  'Function',
  'PureFunc',
  'AggStep',
  'AggStep1',
  'AggFinal',
  'AggInverse',
  'AggValue',
]);
// Steps that compute, jump, or read what an earlier step opened. Inserts and deletes need something opened for writing,
// or use scratch tables. Virtual tables, which read without pages, and steps of later versions are left out.
const STEPS: ReadonlySet<string> = new Set(
  `Add AddImm Affinity And BeginSubrtn BitAnd BitNot BitOr Blob Cast Close ClrSubtype CollSeq Column ColumnsUsed Compare Concat Copy Count CursorHint
  DecrJumpZero DeferredSeek Delete Divide ElseEq EndCoroutine Eq Explain Filter FilterAdd FinishSeek Found Ge GetSubtype Gosub Goto Gt Halt
  HaltIfNull IdxDelete IdxGE IdxGT IdxInsert IdxLE IdxLT IdxRowid If IfNoHope IfNot IfNotOpen IfNotZero IfNullRow IfPos IfSmaller Init InitCoroutine Insert
  Int64 IntCopy Integer IsNull IsTrue IsType Jump Last Le Lt MakeRecord MemMax Move Multiply MustBeInt Ne NewRowid Next NoConflict Noop Not
  NotExists NotFound NotNull Null NullRow OffsetLimit Once OpenAutoindex OpenDup OpenEphemeral OpenPseudo Or Permutation Prev Real RealAffinity
  ReleaseReg Remainder ResetSorter ResultRow Return Rewind RowData Rowid RowSetAdd RowSetRead RowSetTest SCopy SeekEnd SeekGE SeekGT SeekHit
  SeekLE SeekLT SeekRowid SeekScan Sequence SequenceTest SetSubtype ShiftLeft ShiftRight SoftNull Sort SorterCompare SorterData SorterInsert
  SorterNext SorterOpen SorterSort String String8 Subtract Variable Yield ZeroOrNull`.split(/\s+/),
);

// A table or index has the same root page in the plan and in the schema; the schema itself is at page one.
function tablesByRoot(db: Database.Database): Map<number, string> {
  const rows = db.prepare('select rootpage, tbl_name from sqlite_schema where rootpage > 0').all();
  return new Map([
    [1, 'sqlite_schema'],
    ...(rows as { rootpage: number; tbl_name: string }[]).map(
      ({ rootpage, tbl_name: table }) => [rootpage, table] as const,
    ),
  ]);
}
