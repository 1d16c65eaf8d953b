import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, defineTool, ToolcribError, ToolRegistry } from 'toolcrib';
import { serveStdio } from 'toolcrib/node';
import { z } from 'zod';

const tables: Record<string, readonly Readonly<Record<string, unknown>>[]> = {
  users: [
    { id: 1, name: 'Alice', active: true },
    { id: 2, name: 'Bob', active: false },
  ],
};

const listTables = defineTool(
  {
    name: 'list_tables',
    description: 'Lists the tables of the database. Use it before query_database.',
    output: z.object({ tables: z.array(z.string()) }),
    annotations: { readOnlyHint: true },
  },
  () => ({ tables: Object.keys(tables) }),
);
const queryDatabase = defineTool(
  {
    name: 'query_database',
    description: 'Returns the rows of a table, all or only the active ones.',
    input: z.object({ table: z.string(), active: z.boolean().optional() }),
    output: z.object({ rows: z.array(z.record(z.string(), z.unknown())), rowCount: z.number() }),
    annotations: { readOnlyHint: true },
  },
  ({ table, active }) => {
    const all = Object.hasOwn(tables, table) ? tables[table] : undefined;
    if (!all)
      throw new ToolcribError(
        'tool_failed',
        `Table '${table}' not found; list_tables names those there are.`,
      );
    const rows = all.filter((row) => active === undefined || row['active'] === active);
    return { rows: [...rows], rowCount: rows.length };
  },
);
const countSlowly = defineTool(
  { name: 'count_slowly', description: 'Counts everything.', annotations: { readOnlyHint: true } },
  async (_, { signal }) => {
    await sleep(60_000, undefined, { signal });
    return 'Counted.';
  },
);
const dropTable = defineTool(
  {
    name: 'drop_table',
    description: 'Deletes a table for good.',
    input: z.object({ table: z.string() }),
    annotations: { destructiveHint: true },
  },
  ({ table }) => (delete tables[table] ? 'Deleted.' : 'Kept.'),
);

const registry = new ToolRegistry().registerTool(listTables, queryDatabase, countSlowly, dropTable);
await serveStdio(createServer({ name: 'database', source: registry }));
