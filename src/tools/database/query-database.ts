import type { z } from 'zod';
import { systemClock, type Clock } from '../../base/clock.ts';
import type { ToolContext } from '../../core/context.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import { namingOf } from '../naming-options.ts';
import { queryDatabaseOptions } from './options.ts';
import {
  checkQuery,
  misspelt,
  placeOf,
  tableNames,
  tableNotAllowed,
  tableRules,
  viewOf,
  type Complaint,
  type DatabaseQuery,
  type TableRule,
} from './rules.ts';
import { selectStatement } from './statement.ts';
import { sharedPatience, sqlError, type SqlDriver } from '../sql/driver.ts';
import { sqlFailure } from '../sql/failure.ts';

/** What the tool is made with: the options without the URL, and the database itself. */
export interface DatabaseQueryConfig extends Omit<z.input<typeof queryDatabaseOptions>, 'url'> {
  /** The database, or where a call finds it, such as among the services its registry shares. */
  readonly db: SqlDriver | ((context: ToolContext) => SqlDriver);
  /** Hears why a query failed, in the database's own words; callers never do. */
  readonly onFailure?: (error: unknown) => void;
  readonly clock?: Clock;
}

/** The `query_database` tool: reads rows of the tables it is given, by equality and up to a limit, and nothing else. */
export function databaseQueryTool(config: DatabaseQueryConfig): Tool {
  const { db, onFailure, clock = systemClock, ...rest } = config;
  const options = queryDatabaseOptions.omit({ url: true }).parse(rest, { jitless: true });
  const ruleOf = tableRules(options.tables);
  const read = async (
    query: DatabaseQuery,
    rule: TableRule,
    context: ToolContext,
  ): Promise<Read | Complaint> => {
    const driver = typeof db === 'function' ? db(context) : db;
    return readTable({ query, rule, context, driver, options });
  };
  return defineTool(describe(options), async (query, context) => {
    const { table } = query;
    const complaint = misspelt(query);
    if (complaint) return complaint;
    const rule = ruleOf(table);
    if (!rule) return tableNotAllowed(table, options.tables);
    try {
      const answer = await read(query, rule, context);
      if ('error' in answer) return answer;
      const { data, isCut } = answer;
      const at = new Date(clock.now()).toISOString();
      return { table, row_count: data.length, data, ...(isCut && { truncated: true }), query_timestamp: at };
    } catch (error) {
      if (context.signal.aborted) throw error;
      onFailure?.(error);
      return sqlFailure(error);
    }
  });
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
}): Promise<Read | Complaint> {
  const { query, rule, context, driver, options } = parts;
  const { signal, tenant } = context;
  const patience = sharedPatience({ signal, timeoutMs: options.timeoutSeconds * 1000 });
  const place = placeOf(query.table, rule, driver.dialect);
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
  // One row more than was asked for tells whether there are more.
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

function describe(options: Options) {
  const { tables, maxRows } = options;
  const names = tableNames(tables);
  const choice = names.length === 0 ? '' : ` Tables: ${names.join(', ')}.`;
  return {
    description: `Reads rows of a database table. Returns the rows that match, as objects, and how many there are; \`truncated\` means more would match. Use it to look up records by the values of their columns; it changes nothing.${choice}`,
    ...namingOf(options),
    input: {
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
          additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
          default: {},
          description:
            'Columns and the values they must equal, all of them; null finds rows without a value.',
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
    },
    output: {
      type: 'object',
      properties: {
        table: { type: 'string', description: 'The table that was read.' },
        row_count: { type: 'integer', description: 'How many rows were returned.' },
        data: { type: 'array', items: { type: 'object' }, description: 'The rows.' },
        truncated: { type: 'boolean', description: 'Whether more rows match than were returned.' },
        query_timestamp: { type: 'string', description: 'When the rows were read, in ISO 8601.' },
      },
      required: ['table', 'row_count', 'data', 'query_timestamp'],
    },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  } as const;
}
