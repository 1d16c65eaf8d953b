import { z } from 'zod';
import { namingOptions } from '../naming-options.ts';
import { sqlLimits } from '../sql/limits.ts';

const name = z
  .string()
  .regex(/^[^".\p{Cc}]{1,63}(\.[^".\p{Cc}]{1,63})?$/u, 'must be the name of a table, or schema.table');

const url = z.string().min(1);

/** What `query_sql` may read, and its limits. */
export const querySqlOptions = z.strictObject({
  url: url
    .exactOptional()
    .describe(
      '`sqlite:./file.db`, relative to this file, or `postgres://user:password@host/database`; leave it out with `urlByTenant`.',
    ),
  urlByTenant: z
    .record(z.string().min(1), url)
    .exactOptional()
    .describe(
      'For each tenant, by its id, the URL of its own login role or file; other tenants are refused.',
    ),
  tables: z
    .union([
      z.array(name).min(1),
      z.record(
        name,
        z.strictObject({
          columns: z
            .array(z.string().min(1).max(63))
            .min(1)
            .exactOptional()
            .describe('The only columns there are, for PostgreSQL; all of them unless set.'),
        }),
      ),
    ])
    .describe(
      'Tables and views that can be read: a list of names, or names with the columns of each; `schema.table` outside of `public`.',
    ),
  functions: z
    .array(z.string().regex(/^[^".\p{Cc}]+(\.[^".\p{Cc}]+)?$/u, 'must be a function, or schema.function'))
    .default([])
    .describe(
      'Functions that can be called beside the harmless ones; `schema.function` outside of PostgreSQL.',
    ),
  maxRows: z.int().min(1).max(10_000).default(1_000).describe('The most rows a call returns.'),
  ...sqlLimits,
  ...namingOptions('query_sql'),
});
