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
  const bind = (value: SqlValue): string => `${dialect === 'sqlite' ? '?' : '$'}${values.push(value)}`;
  const conditions = where.map(([column, value]) =>
    value === null ? `${quote(column)} is null` : `${quote(column)} = ${bind(value)}`,
  );
  if (view.tenantColumn !== undefined) {
    const column = quote(view.tenantColumn);
    // Equality is not enough: in some columns a and A, or 1 and 01, are equal.
    const text =
      dialect === 'sqlite' ? `cast(${column} as text) collate binary` : `${column}::text collate "C"`;
    conditions.push(`${column} = ${bind(tenantId)}`, `${text} = ${bind(tenantId)}`);
  }
  const list = columns.length === 0 ? '1' : columns.map(quote).join(', ');
  const table = `${quoteName(view.name.schema)}.${quoteName(view.name.table)}`;
  const filter = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
  return { sql: `select ${list} from ${table} as "t"${filter} limit ${bind(limit)}`, values };
}

// With the table in front a name is always a column, never a string literal or a whole row.
function quote(column: string): string {
  return `"t".${quoteName(column)}`;
}
