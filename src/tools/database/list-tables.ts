import { z } from 'zod';
import type { ToolContext } from '../../core/context.ts';
import type { ToolSource } from '../../core/source.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import { troubleOf } from '../sql/driver.ts';
import { sqlFailure } from '../sql/failure.ts';
import type { TableColumns } from './table-columns.ts';

/** A tool that reads tables and can list them, such as those of `sqlQueryTool` and `databaseQueryTool`. */
export interface TableReader {
  readonly name: string;
  tables(context: ToolContext): Promise<readonly TableColumns[]>;
}

/** Whose tables are listed. */
export interface ListTablesConfig {
  readonly readers: readonly TableReader[];
  /**
   * What callers see: the tables of a tool are listed only for those who can see the tool. Without it, all are listed
   * for everyone.
   */
  readonly source?: Pick<ToolSource, 'list'>;
  /** Called with the database's own error. */
  readonly onFailure?: (error: unknown) => void;
}

const MOST_TABLES = 200;

/** The `list_tables` tool: which tables and columns the tools beside it can read. */
export function listTablesTool({ readers, source, onFailure }: ListTablesConfig): Tool<{ table?: string }> {
  return defineTool(DEFINITION, async ({ table }, context) => {
    const visible = source && new Set((await source.list(context.caller)).map(({ name }) => name));
    const told: (TableColumns & { readonly tool: string })[] = [];
    try {
      for (const reader of readers) {
        if (visible && !visible.has(reader.name)) continue;
        for (const one of await reader.tables(context))
          if (table === undefined || one.table === table) told.push({ tool: reader.name, ...one });
      }
    } catch (error) {
      // A cancelled call is no failure of the database, and neither is a bug of ours.
      if (!troubleOf(error)) throw error;
      onFailure?.(error);
      return sqlFailure(error);
    }
    const tables = told.slice(0, MOST_TABLES).map((one) => ({ ...one, columns: [...one.columns] }));
    return { tables, ...(told.length > MOST_TABLES && { truncated: true as const }) };
  });
}

const DEFINITION = {
  name: 'list_tables',
  title: 'Tables',
  description:
    'Lists the database tables that can be read here. Returns for each table its name, its columns and the tool that reads it. Use it before the first query.',
  input: z.strictObject({
    table: z.string().max(130).exactOptional().describe('Only this table; all of them unless given.'),
  }),
  output: z.object({
    tables: z.array(
      z.object({
        tool: z.string().describe('The tool that reads it.'),
        table: z.string().describe('Its name, as a query writes it.'),
        columns: z.array(z.string()).describe('Its columns, in order.'),
      }),
    ),
    truncated: z.literal(true).exactOptional().describe('Set when there are more; ask for one by its name.'),
  }),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
} as const;
