import { z } from 'zod';
import { namingOptions } from '../naming-options.ts';
import { sqlLimits } from '../sql/limits.ts';
import { plainName } from '../sql/query-rules.ts';

const name = z.string().regex(plainName, 'must be a plain name: letters, digits and "_", at most 63 of them');

const table = z.strictObject({
  schema: name
    .exactOptional()
    .describe('The schema the table is in; `public`, or `main` for SQLite, unless set.'),
  columns: z
    .array(z.string().min(1))
    .min(1)
    .exactOptional()
    .describe('Columns that can be read; all of them unless set.'),
  redact: z
    .array(z.string().min(1))
    .default([])
    .describe('Columns whose values are never shown, only `[redacted]`, and by which nobody can filter.'),
  tenantColumn: z
    .string()
    .min(1)
    .exactOptional()
    .describe("The column that holds the id of a row's tenant; a caller gets rows of its own tenant only."),
});

/** What `query_database` may read, and its limits. */
export const queryDatabaseOptions = z.strictObject({
  url: z
    .string()
    .min(1)
    .describe(
      '`sqlite:./file.db`, relative to this file, `postgres://user:password@host/database` or `mysql://user:password@host/database`.',
    ),
  tables: z
    .union([z.literal('*'), z.array(name), z.record(name, table)])
    .default([])
    .describe(
      'Tables that can be read: a list of names, or names with what can be read of each; `*` for all; none unless set.',
    ),
  maxRows: z.int().min(1).max(100).default(100).describe('The most rows a call can ask for.'),
  ...sqlLimits,
  ...namingOptions('query_database'),
});
