import type { z } from 'zod';
import type { queryDatabaseOptions } from './options.ts';
import type { SqlDriver, SqlValue, TableName } from '../sql/driver.ts';
import { plainName } from '../sql/query-rules.ts';

type Tables = z.output<typeof queryDatabaseOptions>['tables'];

/** What can be read of a table. */
export interface TableRule {
  readonly schema?: string;
  readonly columns?: readonly string[];
  readonly redact: readonly string[];
  readonly tenantColumn?: string;
}

/** Finds the rule of a table; `undefined` for a table that may not be read. */
export function tableRules(tables: Tables): (table: string) => TableRule | undefined {
  if (tables === '*') return () => NO_LIMITS;
  const rules = new Map<string, TableRule>(
    Array.isArray(tables) ? tables.map((table) => [table, NO_LIMITS]) : Object.entries(tables),
  );
  return (table) => rules.get(table);
}

/** The listed tables; none if all can be read. */
export function tableNames(tables: Tables): readonly string[] {
  if (tables === '*') return [];
  return Array.isArray(tables) ? tables : Object.keys(tables);
}

/** Refuses a table that is not listed, whether it exists or not. */
export function tableNotAllowed(table: string, tables: Tables): QueryComplaint {
  const names = tableNames(tables);
  const message =
    names.length === 0
      ? 'No table can be read here; its operator must list some.'
      : `${table} is not among the tables that can be read: ${names.join(', ')}.`;
  return { error: 'Table not allowed', message };
}

/** What can be read of an existing table. */
export interface View {
  readonly name: TableName;
  /** In the order of the table. */
  readonly columns: readonly string[];
  readonly tenantColumn?: string;
  isRedacted(column: string): boolean;
  /** Whether a caller may filter by it. */
  isFilter(column: string): boolean;
}

/**
 * Applies a rule to the columns a table really has, because databases read some other names as functions or row
 * numbers.
 */
export function viewOf(name: TableName, rule: TableRule, found: readonly string[]): View {
  const { columns, redact, tenantColumn } = rule;
  const visible = columns ? found.filter((column) => columns.includes(column)) : found;
  const isRedacted = (column: string): boolean => redact.some((hidden) => isSameColumn(hidden, column));
  return {
    name,
    columns: visible,
    ...(tenantColumn !== undefined && { tenantColumn }),
    isRedacted,
    isFilter: (column) =>
      visible.includes(column) &&
      !isRedacted(column) &&
      (tenantColumn === undefined || !isSameColumn(tenantColumn, column)),
  };
}

/** The schema of a table: that of its rule, or else the default one. */
export function tableNameOf(table: string, rule: TableRule, driver: SqlDriver): TableName {
  const usual = driver.schema ?? (driver.dialect === 'sqlite' ? 'main' : 'public');
  return { schema: rule.schema ?? usual, table };
}

/** The arguments of a query. */
export type DatabaseQuery = {
  readonly table: string;
  readonly columns: readonly string[];
  readonly where: Readonly<Record<string, unknown>>;
  readonly limit: number;
};

/** A result that says what to change. */
export interface QueryComplaint {
  readonly error: string;
  readonly message: string;
}

/** Complains about an invalid name, before any list is checked. */
export function misspelt({ table, columns, where }: DatabaseQuery): QueryComplaint | undefined {
  if (!plainName.test(table))
    return {
      error: 'Invalid table name',
      message:
        'Names have letters, digits and "_" only, 63 at most, and begin with no digit; leave out schemas and quotes.',
    };
  const column = columns.find((name) => name !== '*' && !plainName.test(name));
  if (column !== undefined)
    return invalidColumn('Names have letters, digits and "_" only, or are "*" for all.');
  const key = Object.keys(where).find((name) => !plainName.test(name));
  return key === undefined
    ? undefined
    : invalidKey('Keys are names of columns: letters, digits and "_" only.');
}

/** The columns a query selects and filters by, or what is wrong with it. */
export function checkQuery(
  { columns, where }: DatabaseQuery,
  view: View,
):
  | QueryComplaint
  | { readonly columns: readonly string[]; readonly where: readonly (readonly [string, SqlValue])[] } {
  const unknown = columns.find((name) => name !== '*' && !view.columns.includes(name));
  if (unknown !== undefined)
    return invalidColumn(`There is no column ${unknown}; there are ${view.columns.join(', ')}.`);
  const filters = Object.entries(where) as (readonly [string, SqlValue])[];
  const key = filters.find(([name]) => !view.isFilter(name))?.[0];
  if (key !== undefined)
    return invalidKey(
      `${key} cannot be filtered by; use ${view.columns.filter((name) => view.isFilter(name)).join(', ') || 'no filter'}.`,
    );
  const chosen = columns.flatMap((name) => (name === '*' ? view.columns : name));
  return { columns: [...new Set(chosen.length === 0 ? view.columns : chosen)], where: filters };
}

function invalidColumn(message: string): QueryComplaint {
  return { error: 'Invalid column name', message };
}

function invalidKey(message: string): QueryComplaint {
  return { error: 'Invalid where key', message };
}

const NO_LIMITS: TableRule = { redact: [] };

// SQLite ignores the case of column names.
function isSameColumn(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
