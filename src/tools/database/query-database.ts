import type { z } from 'zod';
import { systemClock, type Clock } from '../../base/clock.ts';
import type { ToolContext } from '../../core/context.ts';
import { AbstractTool } from '../../core/authoring/abstract-tool.ts';
import { readOutputSchema, type JsonSchema } from '../../schema/schema.ts';
import { queryDatabaseOptions } from './options.ts';
import {
  checkQuery,
  misspelt,
  tableNameOf,
  tableNames,
  tableNotAllowed,
  tableRules,
  viewOf,
  type QueryComplaint,
  type DatabaseQuery,
  type TableRule,
} from './rules.ts';
import { selectStatement } from './statement.ts';
import { columnsOfTables, type TableColumns } from './table-columns.ts';
import { sharedPatience, sqlError, type SqlDriver } from '../sql/driver.ts';
import { sqlFailure } from '../sql/failure.ts';

/** The options of the tool without the URL, and the database itself. */
export interface DatabaseQueryConfig extends Omit<z.input<typeof queryDatabaseOptions>, 'url'> {
  /** The database, or how a call finds it, such as among the services of its registry. */
  readonly db: SqlDriver | ((context: ToolContext) => SqlDriver);
  /** Called with the database's own error of a failed query; callers never see it. */
  readonly onFailure?: (error: unknown) => void;
  readonly clock?: Clock;
}

/** Reads rows of the tables it is given, by equality and up to a limit, and nothing else. */
export class DatabaseQueryTool extends AbstractTool<DatabaseQuery> {
  readonly title: string;
  readonly outputSchema: JsonSchema = readOutputSchema(OUTPUT).json;
  readonly #config: DatabaseQueryConfig;
  readonly #options: Options;
  readonly #ruleOf: (table: string) => TableRule | undefined;

  constructor(config: DatabaseQueryConfig) {
    const { db: _db, onFailure: _onFailure, clock: _clock, ...rest } = config;
    const options = queryDatabaseOptions.omit({ url: true }).parse(rest, { jitless: true });
    super(options.name, options.description ?? describe(options), inputOf(options), HINTS);
    this.title = options.title ?? 'Database rows';
    this.#config = config;
    this.#options = options;
    this.#ruleOf = tableRules(options.tables);
  }

  async execute(query: DatabaseQuery, context: ToolContext): Promise<unknown> {
    const { table } = query;
    const complaint = misspelt(query);
    if (complaint) return complaint;
    const rule = this.#ruleOf(table);
    if (!rule) return tableNotAllowed(table, this.#options.tables);
    const { onFailure, clock = systemClock } = this.#config;
    try {
      const driver = this.#driverOf(context);
      const answer = await readTable({ query, rule, context, driver, options: this.#options });
      if ('error' in answer) return answer;
      const { data, isCut } = answer;
      const at = new Date(clock.now()).toISOString();
      return { table, row_count: data.length, data, ...(isCut && { truncated: true }), query_timestamp: at };
    } catch (error) {
      if (context.signal.aborted) throw error;
      onFailure?.(error);
      return sqlFailure(error);
    }
  }

  /** The tables that can be read, with their columns. */
  async tables(context: ToolContext): Promise<readonly TableColumns[]> {
    const driver = this.#driverOf(context);
    const { tables, timeoutSeconds } = this.#options;
    const patience = sharedPatience({ signal: context.signal, timeoutMs: timeoutSeconds * 1000 });
    const names =
      tables === '*' ? ((await driver.tables?.(MOST_LISTED, patience)) ?? []) : tableNames(tables);
    const places = names.flatMap((table) => {
      const rule = this.#ruleOf(table);
      return rule ? [{ ...tableNameOf(table, rule, driver), ...columnsOf(rule) }] : [];
    });
    const told = await columnsOfTables(driver, places, patience);
    // A call names tables without their schema.
    return told.map(({ columns }, index) => ({ table: places[index]!.table, columns }));
  }

  #driverOf(context: ToolContext): SqlDriver {
    const { db } = this.#config;
    return typeof db === 'function' ? db(context) : db;
  }
}

const MOST_LISTED = 200;

function columnsOf({ columns }: TableRule): Pick<TableRule, 'columns'> {
  return columns ? { columns } : {};
}

/** The `query_database` tool. */
export function databaseQueryTool(config: DatabaseQueryConfig): DatabaseQueryTool {
  return new DatabaseQueryTool(config);
}

type Options = Omit<z.output<typeof queryDatabaseOptions>, 'url'>;

interface Read {
  readonly data: Record<string, unknown>[];
  readonly isCut: boolean;
}

async function readTable(parts: {
  readonly query: DatabaseQuery;
  readonly rule: TableRule;
  readonly context: ToolContext;
  readonly driver: SqlDriver;
  readonly options: Options;
}): Promise<Read | QueryComplaint> {
  const { query, rule, context, driver, options } = parts;
  const { signal, tenant } = context;
  const patience = sharedPatience({ signal, timeoutMs: options.timeoutSeconds * 1000 });
  const place = tableNameOf(query.table, rule, driver);
  const found = await driver.columns(place, patience);
  if (found.length === 0) throw sqlError('unknown_table');
  if (rule.tenantColumn !== undefined && !(found.includes(rule.tenantColumn) && tenant.id))
    return {
      error: 'Database query failed',
      message: 'This table cannot be read by tenant; its operator must set it up.',
    };
  const view = viewOf(place, rule, found);
  const checked = checkQuery(query, view);
  if ('error' in checked) return checked;
  const shown = checked.columns.filter((column) => !view.isRedacted(column));
  // One more row than asked for shows whether there are more.
  const selection = { columns: shown, where: checked.where, limit: query.limit + 1, tenantId: tenant.id };
  const { rows, isCut } = await driver.query({
    ...selectStatement(view, selection, driver.dialect),
    maxRows: query.limit,
    maxBytes: options.maxBytes,
    ...patience,
  });
  const data = rows.map((row) =>
    Object.fromEntries(
      checked.columns.map((column) => [
        column,
        view.isRedacted(column) ? '[redacted]' : row[shown.indexOf(column)],
      ]),
    ),
  );
  return { data, isCut };
}

function describe({ tables }: Options): string {
  const names = tableNames(tables);
  const choice = names.length === 0 ? '' : ` Tables: ${names.join(', ')}.`;
  return `Reads rows of a database table. Returns the rows that match, as objects, and how many there are; \`truncated\` means more would match. Use it to look up records by the values of their columns; it changes nothing.${choice}`;
}

function inputOf({ maxRows }: Options) {
  return {
    type: 'object',
    properties: {
      table: { type: 'string', description: 'The table to read.' },
      columns: {
        type: 'array',
        items: { type: 'string' },
        default: ['*'],
        description: 'The columns to return; all that can be read unless given.',
      },
      where: {
        type: 'object',
        additionalProperties: {
          anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { type: 'null' }],
        },
        default: {},
        description: 'Columns and the values they must equal, all of them; null finds rows without a value.',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: maxRows,
        default: Math.min(10, maxRows),
        description: 'The most rows to return.',
      },
    },
    required: ['table'],
    additionalProperties: false,
  } as const;
}

const OUTPUT = {
  type: 'object',
  properties: {
    table: { type: 'string', description: 'The table that was read.' },
    row_count: { type: 'integer', description: 'How many rows were returned.' },
    data: { type: 'array', items: { type: 'object' }, description: 'The rows.' },
    truncated: { type: 'boolean', description: 'Whether more rows match than were returned.' },
    query_timestamp: { type: 'string', description: 'When the rows were read, in ISO 8601.' },
  },
  required: ['table', 'row_count', 'data', 'query_timestamp'],
} as const;

const HINTS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
