import type { View } from './rules.ts';
import type { SqlDriver, SqlValue } from '../sql/driver.ts';
import { quoteName } from '../sql/query-rules.ts';

/** What to select from a table. */
export interface Selection {
  /** Columns to fetch, without redacted ones. */
  readonly columns: readonly string[];
  readonly where: readonly (readonly [column: string, value: SqlValue])[];
  readonly limit: number;
  /** The tenant whose rows are selected, if the table has a column for it. */
  readonly tenantId: string;
}

/** Writes the SELECT: names are quoted, and every value is bound. */
export function selectStatement(
  view: View,
  selection: Selection,
  dialect: SqlDriver['dialect'],
): { readonly sql: string; readonly values: readonly SqlValue[] } {
  const { columns, where, limit, tenantId } = selection;
  const values: SqlValue[] = [];
  const bind = (value: SqlValue): string => {
    // Its protocol would turn every number into a fraction, which a limit must not be.
    if (dialect === 'mysql' && typeof value !== 'string') return String(value);
    const place = values.push(value);
    return dialect === 'mysql' ? '?' : `${dialect === 'sqlite' ? '?' : '$'}${place}`;
  };
  const conditions = where.map(([column, value]) =>
    value === null ? `${quote(column)} is null` : `${quote(column)} = ${bind(value)}`,
  );
  if (view.tenantColumn !== undefined) {
    const column = quote(view.tenantColumn);
    conditions.push(`${column} = ${bind(tenantId)}`, exactly(column, bind(tenantId), dialect));
  }
  const list = columns.length === 0 ? '1' : columns.map(quote).join(', ');
  const table = `${quoteName(view.name.schema)}.${quoteName(view.name.table)}`;
  const filter = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
  return { sql: `select ${list} from ${table} as "t"${filter} limit ${bind(limit)}`, values };
}

// Equal is not enough: some columns hold a and A, 1 and 01, or text with and without blanks behind it for the same.
function exactly(column: string, value: string, dialect: SqlDriver['dialect']): string {
  if (dialect === 'sqlite') return `cast(${column} as text) collate binary = ${value}`;
  if (dialect === 'postgres') return `${column}::text collate "C" = ${value}`;
  return `cast(convert(${column} using utf8mb4) as binary) = cast(convert(${value} using utf8mb4) as binary)`;
}

// With the table in front a name is always a column, never a string literal or a whole row.
function quote(column: string): string {
  return `"t".${quoteName(column)}`;
}
