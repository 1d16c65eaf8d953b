import { ToolcribError } from '../../base/errors.ts';
import type { SqlDriver, SqlPatience } from '../sql/driver.ts';
import { describeTable, type AllowedTable } from '../sql/query-rules.ts';

/** A table and the columns that can be read of it. */
export interface TableColumns {
  readonly table: string;
  readonly columns: readonly string[];
}

/** Reads the columns of tables, as the database has them now. */
export async function columnsOfTables(
  driver: SqlDriver,
  tables: readonly AllowedTable[],
  patience: SqlPatience,
): Promise<TableColumns[]> {
  const told: TableColumns[] = [];
  for (const { schema, table, columns } of tables) {
    const found = await driver.columns({ schema, table }, patience);
    told.push({
      table: describeTable({ schema, table }),
      columns: columns ? found.filter((name) => columns.includes(name)) : found,
    });
  }
  return told;
}

/** The tables a query names; all of them if none is found in it. */
export function namedTables(sql: string, tables: readonly AllowedTable[]): readonly AllowedTable[] {
  const words = new Set(sql.toLowerCase().split(/[^\p{L}\p{N}_$]+/u));
  const named = tables.filter(({ table }) => words.has(table.toLowerCase()));
  return (named.length > 0 ? named : tables).slice(0, MOST_TABLES);
}

/** The same error, with the existing columns. */
export function withColumns(error: ToolcribError, tables: readonly TableColumns[]): ToolcribError {
  const { code, message, data, cause } = error;
  const known = tables
    .filter(({ columns }) => columns.length > 0)
    .map(({ table, columns }) => `${table} has ${listOf(columns)}.`);
  return new ToolcribError(code, [message, ...known].join(' '), { ...(data && { data }), cause });
}

const MOST_TABLES = 5;
const MOST_COLUMNS = 60;

function listOf(columns: readonly string[]): string {
  const shown = columns.slice(0, MOST_COLUMNS).join(', ');
  return columns.length > MOST_COLUMNS ? `${shown} and ${columns.length - MOST_COLUMNS} more` : shown;
}
