import { z } from 'zod';
import { content } from '../../core/content.ts';
import type { ToolContext } from '../../core/context.ts';
import { ToolcribError } from '../../base/errors.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import { namingOf } from '../naming-options.ts';
import { querySqlOptions } from './query-sql-options.ts';
import { openDatabases, type TenantDatabase } from './databases.ts';
import { sharedPatience, toRecords, troubleOf, type SqlRows, type SqlValue } from '../sql/driver.ts';
import type { TableColumns } from './table-columns.ts';
import { sqlFailure } from '../sql/failure.ts';
import { postgresFunctions, sqliteFunctions } from '../sql/query-functions.ts';
import {
  describeTable,
  plainName,
  SqlRefusal,
  type AllowedTable,
  type SqlRules,
} from '../sql/query-rules.ts';

/** What `query_sql` may read, and its limits. */
export type SqlQueryOptions = z.input<typeof querySqlOptions>;

/** What the tool needs beside its options. */
export interface SqlQueryParts {
  /** What file paths are relative to; the working directory unless set. */
  readonly folder?: string;
  /** Called with every failure of the database and its cause: the model gets less. */
  readonly onFailure?: (error: unknown) => void;
}

/** The `query_sql` tool, which must be closed. */
export interface SqlQueryTool extends Tool<SqlQueryArguments> {
  /** Lets queries under way finish, then closes connections and processes. */
  close(): Promise<void>;
  /** The tables that can be read, with their columns. */
  tables(context: ToolContext): Promise<readonly TableColumns[]>;
}

/** The arguments of `query_sql`. */
export type SqlQueryArguments = {
  readonly query: string;
  readonly parameters: readonly SqlValue[];
  readonly limit?: number | undefined;
};

/** The `query_sql` tool: one SELECT with parameters, over listed tables and functions, and nothing else. */
export function sqlQueryTool(options: SqlQueryOptions, parts: SqlQueryParts = {}): SqlQueryTool {
  const settings = querySqlOptions.parse(options, { jitless: true });
  const databases = openDatabases(settings, parts);
  const rules = rulesFrom(settings, databases.dialect);
  const limits = { maxBytes: settings.maxBytes, timeoutMs: settings.timeoutSeconds * 1_000 };

  const run = async ({ query, parameters, limit }: SqlQueryArguments, { tenant, signal }: ToolContext) => {
    const database = databases.of(tenant.id);
    if (!database) return { error: 'No database', message: 'Your organisation has no database here.' };
    const maxRows = Math.min(limit ?? settings.maxRows, settings.maxRows);
    try {
      const ask = { sql: query, values: parameters, maxRows, ...limits, signal };
      return toAnswer(await database.query(ask, rules));
    } catch (error) {
      if (error instanceof SqlRefusal) return toRefusal(error, query, rules);
      // A cancelled call is no failure of the database, and neither is a bug of ours.
      if (!troubleOf(error)) throw error;
      parts.onFailure?.(error);
      return sqlFailure(error);
    }
  };
  const tool = defineTool(describe(settings, rules, databases.dialect), run);
  const tables: SqlQueryTool['tables'] = async ({ tenant, signal }) => {
    const patience = sharedPatience({ signal, timeoutMs: limits.timeoutMs });
    return (await databases.of(tenant.id)?.tables(rules, patience)) ?? [];
  };
  return { ...tool, tables, close: () => databases.close() };
}

type Settings = z.output<typeof querySqlOptions>;
type Dialect = TenantDatabase['dialect'];

function rulesFrom({ tables, functions }: Settings, dialect: Dialect): SqlRules {
  const entries = Array.isArray(tables)
    ? tables.map((name) => [name, {}] as const)
    : Object.entries(tables).map(([name, { columns }]) => [name, columns ? { columns } : {}] as const);
  if (entries.length === 0) throw new ToolcribError('invalid_setup', 'tables must name at least one table.');
  const known = dialect === 'sqlite' ? sqliteFunctions : postgresFunctions;
  return {
    tables: entries
      .map(([name, columns]) => ({ ...placeOf(name, dialect), ...columns }))
      .map(checkTable(dialect)),
    functions: new Set([...known, ...functions]),
  };
}

function placeOf(name: string, dialect: Dialect): AllowedTable {
  const [first = '', second] = name.split('.');
  if (second !== undefined) return { schema: first, table: second };
  return { schema: dialect === 'sqlite' ? 'main' : 'public', table: first };
}

function checkTable(dialect: Dialect): (table: AllowedTable) => AllowedTable {
  return (allowed) => {
    const { schema, table, columns } = allowed;
    if (dialect === 'sqlite' && columns)
      throw new ToolcribError(
        'invalid_setup',
        `columns of ${table} cannot be kept back in SQLite; use query_database, or a file with those columns only.`,
      );
    if (dialect === 'sqlite' && schema !== 'main')
      throw new ToolcribError(
        'invalid_setup',
        `${schema}.${table} is not a table of an SQLite file; name it without a schema.`,
      );
    if (/^(pg_|information_schema$)/.test(schema) || /^(pg_|sqlite_)/.test(table))
      throw new ToolcribError(
        'invalid_setup',
        `${table} belongs to the database itself; take it out of tables.`,
      );
    return allowed;
  };
}

function describe(settings: Settings, rules: SqlRules, dialect: Dialect) {
  const { maxRows, timeoutSeconds } = settings;
  const tables = rules.tables.map(describeTable).join(', ');
  const [product, mark] = dialect === 'sqlite' ? ['SQLite', '?'] : ['PostgreSQL', '$1, $2'];
  return {
    title: 'SQL query',
    description: `Runs one read-only SELECT in ${product} SQL over these tables: ${tables}. Returns column names and at most ${maxRows} rows, also as a Markdown table; takes ${timeoutSeconds} seconds at most. Use it for joins, filters and totals.`,
    ...namingOf(settings),
    input: z.strictObject({
      query: z
        .string()
        .min(1)
        .max(10_000)
        .describe(
          `One SELECT, or WITH ... SELECT. Write ${mark} where a value goes, and put the value in parameters.`,
        ),
      parameters: z
        .array(z.union([z.string().max(10_000), z.number(), z.boolean(), z.null()]))
        .max(100)
        .default([])
        .describe(`The values, in order, that ${mark} stand for.`),
      limit: z
        .int()
        .min(1)
        .max(maxRows)
        .optional()
        .describe(`The most rows to return; ${maxRows} unless set.`),
    }),
    output: z.strictObject({
      columns: z.array(z.string()).describe('The names of the columns, in order.'),
      rows: z.array(z.record(z.string(), z.unknown())).describe('One object a row.'),
      rowCount: z.int().min(0).describe('How many rows there are here.'),
      truncated: z.boolean().describe('Whether there are more rows than could be returned.'),
    }),
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  } as const;
}

// A table that is not listed is as good as not there.
function toRefusal({ error, message }: SqlRefusal, query: string, { tables }: SqlRules) {
  const table = error === 'Table not allowed' ? missingTable(query, tables) : undefined;
  if (table === undefined) return { error, message };
  return {
    content: [content.text(`Error: Table '${table}' not found`), content.text(message)],
    isError: true,
  };
}

// The first name after FROM or JOIN that is not listed, as it is written.
function missingTable(query: string, tables: readonly AllowedTable[]): string | undefined {
  const words = query.split(/[\s(),;]/).filter(Boolean);
  const named = words.filter((_, at) => /^(?:from|join)$/i.test(words[at - 1] ?? ''));
  const plain = named.map((word) =>
    word
      .replaceAll(/["`[\]]/g, '')
      .split('.')
      .at(-1)!,
  );
  return plain.find(
    (name) => plainName.test(name) && !tables.some(({ table }) => table.toLowerCase() === name.toLowerCase()),
  );
}

function toAnswer({ columns, rows, isCut }: SqlRows) {
  const records = toRecords({ columns, rows });
  const names = toRecords({ columns, rows: [columns] }).flatMap((record) => Object.keys(record));
  const count = `${records.length} row${records.length === 1 ? '' : 's'}`;
  const said = isCut ? `Query returned ${count}, and there are more:` : `Query returned ${count}:`;
  const data = { columns: names, rows: records, rowCount: records.length, truncated: isCut };
  return { content: [content.text(`${said}\n\n${content.table(records).text}`)], structuredContent: data };
}
