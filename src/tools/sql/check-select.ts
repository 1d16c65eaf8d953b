import { namesIn, visitChildren, visitValue, type Fields } from './query-grammar.ts';
import { postgresCastTypes } from './query-functions.ts';
import { LoadCheck } from './query-load.ts';
import {
  checkText,
  functionRefusal,
  selectRefusal,
  SqlRefusal,
  tableRefusal,
  type AllowedTable,
  type SqlRules,
  quoteName,
} from './query-rules.ts';
import { lexSql, parseSql, type SqlToken } from './query-parser.ts';

/** A query that may be sent to PostgreSQL. */
export interface CheckedSelect {
  /** With every table qualified by its schema and restricted to its visible columns. */
  readonly sql: string;
  /** How many parameters it takes. */
  readonly parameterCount: number;
  /** The parameters, counted from one, that may only hold a short text. */
  readonly shortParameters: ReadonlySet<number>;
}

/**
 * Checks that a text is one SELECT of PostgreSQL within the rules, or throws an `SqlRefusal`. Must run with
 * `search_path` set to `pg_catalog`.
 */
export async function checkSelect(sql: string, rules: SqlRules): Promise<CheckedSelect> {
  checkText(sql);
  const tokens = await lexSql(sql);
  const first = new Check(rules);
  first.statement(await parseSql(sql));
  const written = rewrite(sql, tokens, first.places);
  // The text that will be sent is checked again, and now every table must be qualified.
  const second = new Check(rules, 'written');
  second.statement(await parseWritten(written));
  const { parameterCount, load } = first;
  return { sql: written, parameterCount, shortParameters: load.shortParameters };
}

async function parseWritten(sql: string): Promise<readonly Fields[]> {
  try {
    return await parseSql(sql);
  } catch {
    throw new SqlRefusal('Query not allowed', 'Name tables in FROM and JOIN, with nothing but an alias.');
  }
}

/** The position of a table name in the text, in bytes. */
interface Place {
  readonly start: number;
  readonly isQualified: boolean;
  readonly hasAlias: boolean;
  readonly isOnly: boolean;
  readonly table: AllowedTable;
}

const MAX_DEPTH = 400;
const CLOCKS: ReadonlySet<unknown> = new Set(
  ['DATE', 'TIME', 'TIME_N', 'TIMESTAMP', 'TIMESTAMP_N'].map((name) => `SVFOP_CURRENT_${name}`),
);
const LOCAL_CLOCKS: ReadonlySet<unknown> = new Set(
  ['LOCALTIME', 'LOCALTIME_N', 'LOCALTIMESTAMP', 'LOCALTIMESTAMP_N'].map((name) => `SVFOP_${name}`),
);

/** One walk through the tree of a statement. */
class Check {
  readonly places: Place[] = [];
  parameterCount = 0;
  readonly load = new LoadCheck();
  readonly #rules: SqlRules;
  readonly #isWritten: boolean;
  readonly #functionColumns = new Map<string, Set<string>>();
  readonly #columnRefs: (readonly string[])[] = [];
  #depth = 0;

  constructor(rules: SqlRules, text: 'as asked' | 'written' = 'as asked') {
    this.#rules = rules;
    this.#isWritten = text === 'written';
  }

  statement(statements: readonly Fields[]): void {
    const [only, ...more] = statements;
    const select = (only?.['stmt'] as Fields | undefined)?.['SelectStmt'] as Fields | undefined;
    if (!select || more.length > 0) throw selectRefusal();
    this.#visit('SelectStmt', select, new Set());
    this.#columnRefs.forEach((path) => this.#columnRef(path));
    this.load.finish();
  }

  #visit(kind: string, fields: Fields, ctes: ReadonlySet<string>): void {
    if (++this.#depth > MAX_DEPTH) throw tooComplex();
    if (kind === 'SelectStmt') this.#select(fields, ctes);
    else {
      this.#inspect(kind, fields, ctes);
      this.load.inspect(kind, fields);
      visitChildren(kind, fields, (child, inner) => this.#visit(child, inner, ctes));
    }
    this.#depth--;
  }

  // A name from WITH refers to its query from there on; inside its own query only if it is recursive.
  #select(fields: Fields, outer: ReadonlySet<string>): void {
    const { withClause, ...rest } = fields;
    let ctes = outer;
    if (withClause) {
      const { recursive, ctes: list } = withClause as { recursive?: boolean; ctes: unknown };
      const named: Fields[] = [];
      visitValue(list, (_, cte) => named.push(cte));
      if (recursive) ctes = new Set([...ctes, ...named.map(nameOfCte)]);
      for (const cte of named) {
        this.#visit('CommonTableExpr', cte, ctes);
        ctes = new Set([...ctes, nameOfCte(cte)]);
      }
    }
    visitChildren('SelectStmt', rest, (kind, inner) => this.#visit(kind, inner, ctes));
  }

  #inspect(kind: string, fields: Fields, ctes: ReadonlySet<string>): void {
    switch (kind) {
      case 'RangeVar':
        return this.#table(fields, ctes);
      case 'RangeFunction':
        return this.#functionInFrom(fields);
      case 'FuncCall':
        return this.#call(namesIn(fields['funcname']));
      case 'ColumnRef':
        this.#columnRefs.push(namesIn(fields['fields']));
        return;
      case 'A_Indirection':
        return refuseFieldOf(fields['indirection']);
      case 'A_Expr':
        return refuseForeign(namesIn(fields['name']), 'operator');
      case 'SubLink':
        return refuseForeign(namesIn(fields['operName']), 'operator');
      case 'CollateClause':
        return refuseForeign(namesIn(fields['collname']), 'collation');
      case 'TypeName':
        return checkType(namesIn(fields['names']));
      case 'SQLValueFunction':
        return checkClock(fields['op']);
      case 'ParamRef':
        this.parameterCount = Math.max(this.parameterCount, Number(fields['number'] ?? 0));
    }
  }

  #table(fields: Fields, ctes: ReadonlySet<string>): void {
    const {
      schemaname: schema,
      relname,
      location,
      alias,
      inh,
    } = fields as {
      readonly schemaname?: string;
      readonly relname: string;
      readonly location?: number;
      readonly alias?: unknown;
      readonly inh?: boolean;
    };
    if (schema === undefined && ctes.has(relname)) return;
    const name = schema === undefined ? relname : `${schema}.${relname}`;
    const table = this.#find(schema, relname);
    if (!table || (this.#isWritten && schema === undefined)) throw tableRefusal(this.#rules, name);
    this.places.push({
      start: location ?? 0,
      isQualified: schema !== undefined,
      hasAlias: alias !== undefined,
      isOnly: inh !== true,
      table,
    });
  }

  // A name without a schema means the table in `public`, or else the only one of that name.
  #find(schema: string | undefined, relname: string): AllowedTable | undefined {
    const named = this.#rules.tables.filter(({ table }) => table === relname);
    const exact = named.find((table) => table.schema === (schema ?? 'public'));
    return exact ?? (schema === undefined && named.length === 1 ? named[0] : undefined);
  }

  #call(path: readonly string[]): void {
    const [schema, name] = path.length === 1 ? ['pg_catalog', path[0]!] : [path[0]!, path[1] ?? ''];
    const known = schema === 'pg_catalog' ? name : `${schema}.${name}`;
    if (path.length > 2 || !this.#rules.functions.has(known)) throw functionRefusal(path.join('.'));
  }

  #functionInFrom(fields: Fields): void {
    const alias = fields['alias'] as { aliasname: string; colnames?: unknown } | undefined;
    const called: string[] = [];
    visitValue(fields['functions'], (_, { items }) =>
      visitValue(items, (kind, call) => {
        if (kind !== 'FuncCall')
          throw new SqlRefusal('Query not allowed', 'Only tables, queries and functions can follow FROM.');
        called.push(namesIn(call['funcname']).at(-1) ?? '');
      }),
    );
    const columns = namesIn(alias?.colnames);
    for (const name of alias ? [alias.aliasname] : called) {
      const own = new Set([...ROW_COLUMNS, ...(columns.length > 0 ? columns : [name])]);
      const others = this.#functionColumns.get(name) ?? own;
      // If two have the same name, only columns that both have are certain.
      this.#functionColumns.set(name, new Set([...own].filter((column) => others.has(column))));
    }
  }

  // PostgreSQL reads `x.f` as `f(x)` if x has no column f, so the result of a function in FROM could be passed to any
  // function.
  #columnRef(path: readonly string[]): void {
    const [name, column] = [path.at(-2), path.at(-1)];
    const columns = name === undefined ? undefined : this.#functionColumns.get(name);
    if (!columns || column === undefined || column === '*' || columns.has(column)) return;
    throw new SqlRefusal(
      'Column not allowed',
      `"${name}.${column}" is not a column: name the columns of a function with AS ${name}(...).`,
    );
  }
}

// The column names of functions that return several columns.
const ROW_COLUMNS = ['key', 'value', 'ordinality'];

function nameOfCte(fields: Fields): string {
  const name = String(fields['ctename']);
  // If the name were resolved as a table after all, it must not be one of the catalog.
  if (name.startsWith('pg_'))
    throw new SqlRefusal('Query not allowed', 'A name in WITH cannot begin with "pg_".');
  return name;
}

function refuseFieldOf(indirection: unknown): void {
  visitValue(indirection, (kind) => {
    if (kind === 'A_Indices') return;
    throw new SqlRefusal(
      'Query not allowed',
      'Only a column or an array element can be selected: write f(x) instead of (x).f.',
    );
  });
}

function refuseForeign(path: readonly string[], what: string): void {
  if (path.length <= 1 || (path.length === 2 && path[0] === 'pg_catalog')) return;
  throw new SqlRefusal('Query not allowed', `The ${what} ${path.join('.')} cannot be used: name no schema.`);
}

function checkType(path: readonly string[]): void {
  const name = path.at(-1) ?? '';
  const isBuiltIn = path.length === 1 || (path.length === 2 && path[0] === 'pg_catalog');
  if (!isBuiltIn || !postgresCastTypes.has(name))
    throw new SqlRefusal('Type not allowed', `Values cannot be cast to the type "${path.join('.')}" here.`);
}

function checkClock(op: unknown): void {
  if (CLOCKS.has(op) || LOCAL_CLOCKS.has(op)) return;
  throw functionRefusal(String(op).replace('SVFOP_', '').toLowerCase());
}

function tooComplex(): SqlRefusal {
  return new SqlRefusal('Query too complex', 'The query is nested too deeply: split it up.');
}

// Qualified names leave nothing to the search path; a table with restricted columns becomes a subquery of those.
function rewrite(sql: string, tokens: readonly SqlToken[], places: readonly Place[]): string {
  const bytes = Buffer.from(sql);
  const parts: string[] = [];
  let done = 0;
  for (const place of places.toSorted((a, b) => a.start - b.start)) {
    const end = place.isQualified || place.table.columns ? endOfName(tokens, place) : place.start;
    parts.push(bytes.toString('utf8', done, place.start));
    parts.push(
      place.isQualified && !place.table.columns ? bytes.toString('utf8', place.start, end) : textFor(place),
    );
    done = end;
  }
  return parts.join('') + bytes.toString('utf8', done);
}

function textFor({ table: { schema, table, columns }, hasAlias, isOnly }: Place): string {
  if (!columns) return `${quoteName(schema)}.`;
  if (isOnly) throw new SqlRefusal('Query not allowed', `"${table}" cannot be read with ONLY.`);
  const query = `(SELECT ${columns.map(quoteName).join(', ')} FROM ${quoteName(schema)}.${quoteName(table)})`;
  return hasAlias ? query : `${query} AS ${quoteName(table)}`;
}

function endOfName(tokens: readonly SqlToken[], { start, isQualified }: Place): number {
  const index = tokens.findIndex((token) => token.start === start);
  const last = tokens[index + (isQualified ? 2 : 0)];
  if (index < 0 || !last) throw tooComplex();
  return last.end;
}
