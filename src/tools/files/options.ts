import { z } from 'zod';
import { namingOptions } from '../naming-options.ts';

/** The options of `file_operations`. */
export const fileOperationsOptions = z
  .strictObject({
    root: z
      .string()
      .min(1)
      .exactOptional()
      .describe(
        'The folder that is offered, relative to this file; `{tenant}` stands for the id of the tenant that calls.',
      ),
    rootsByTenant: z
      .record(z.string().min(1), z.string().min(1))
      .exactOptional()
      .describe('In the place of `root`: a folder for each tenant, by its id. Other tenants are refused.'),
    extensions: z
      .array(
        z
          .string()
          .regex(/^[^./\\\s]+$/, 'is written without a dot, such as txt')
          .toLowerCase(),
      )
      .default([])
      .describe(
        'The extensions of files that may be read and written, such as `txt`; all of them if the list is empty.',
      ),
    maxBytes: z
      .int()
      .min(4)
      .max(67_108_864)
      .default(1_048_576)
      .describe('The most bytes one call reads or writes; longer files are read in parts.'),
    hidden: z.boolean().default(false).describe('Whether names that begin with a dot are offered too.'),
    showOwner: z.boolean().default(true).describe('Whether `info` tells the owner and the group.'),
    write: z.boolean().default(false).describe('Whether files can also be written, moved and deleted.'),
    ...namingOptions('file_operations'),
  })
  .refine(({ root, rootsByTenant }) => (root === undefined) !== (rootsByTenant === undefined), {
    message: 'needs either root or rootsByTenant',
  });
