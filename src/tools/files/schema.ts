import { z } from 'zod';

/** The arguments of `file_operations`. */
export type FileArguments = {
  readonly operation: string;
  readonly path: string;
  readonly offset?: number;
  readonly length?: number;
  readonly cursor?: string;
  readonly limit: number;
  readonly name?: string;
  readonly content?: string;
  readonly to?: string;
  readonly overwrite?: boolean;
};

/** The input schema: reading operations only, or all. */
export function inputSchema({ write }: { readonly write: boolean }): z.ZodType<FileArguments> {
  return write ? writingInput : readingInput;
}

const MAX_PAGE = 1_000;

const readingArguments = {
  path: z
    .string()
    .max(4_096)
    .describe(
      'File or folder, relative to the offered folder, such as `reports/may.md`; `.` for the folder itself.',
    ),
  offset: z
    .int()
    .min(0)
    .exactOptional()
    .describe('read: the byte to begin at, to read a long file in parts.'),
  length: z
    .int()
    .min(4)
    .exactOptional()
    .describe('read: the most bytes to return, to read a long file in parts.'),
  cursor: z.string().max(255).exactOptional().describe('list: `next_cursor` of the page before.'),
  limit: z.int().min(1).max(MAX_PAGE).default(MAX_PAGE).describe('list, search: the most entries to return.'),
  name: z
    .string()
    .min(1)
    .max(255)
    .exactOptional()
    .describe('search: a part of the names to find, or a pattern such as `*.md`; case does not matter.'),
};

const readingInput = z.strictObject({
  operation: z
    .enum(['read', 'list', 'info', 'search'])
    .describe(
      'read returns a file, list the entries of a folder, info what is known about either, search what is below a folder by name.',
    ),
  ...readingArguments,
});

const writingInput = z.strictObject({
  operation: z
    .enum(['read', 'list', 'info', 'search', 'write', 'mkdir', 'move', 'delete'])
    .describe(
      'read returns a file, list the entries of a folder, info what is known about either, search what is below a folder by name; write puts text into a file, mkdir makes a folder, move gives a file or folder another path, delete removes a file or an empty folder.',
    ),
  ...readingArguments,
  content: z.string().exactOptional().describe('write: the whole text of the file.'),
  to: z.string().max(4_096).exactOptional().describe('move: the new path.'),
  overwrite: z
    .boolean()
    .default(false)
    .describe('write, move: whether a file that is there may be replaced.'),
});

const instant = z.string().describe('A time, as ISO 8601.');
const kind = z.enum(['file', 'directory']);

/** The result of the tool; its fields depend on the operation. */
export const outputSchema = z.strictObject({
  path: z.string().describe('The name without the folders it is in; `.` for the offered folder itself.'),
  size: z.int().exactOptional().describe('read, info, write: bytes of the whole file.'),
  content: z.string().exactOptional().describe('read: the text; bytes that are no text come as a resource.'),
  mime_type: z.string().exactOptional().describe('read: what kind of file it is.'),
  offset: z.int().exactOptional().describe('read: the byte this part begins at.'),
  next_offset: z
    .int()
    .nullable()
    .exactOptional()
    .describe('read: where the next part begins; null at the end.'),
  items: z
    .array(
      z.strictObject({
        name: z.string(),
        type: kind,
        size: z.int().nullable().describe('Bytes; null for folders.'),
        modified: instant,
      }),
    )
    .exactOptional()
    .describe('list: the entries, in the order of names; search: those found, with the folders on the way.'),
  count: z.int().exactOptional().describe('list, search: how many entries there are here.'),
  truncated: z.literal(true).exactOptional().describe('search: set when not everything was looked at.'),
  next_cursor: z
    .string()
    .exactOptional()
    .describe('list: pass it as cursor for the next page; absent on the last.'),
  type: kind.exactOptional().describe('info, mkdir, move, delete: what it is.'),
  permissions: z.string().exactOptional().describe('info: four octal digits.'),
  owner: z
    .union([z.string(), z.int()])
    .exactOptional()
    .describe('info: the name, or the number if it has none.'),
  group: z
    .union([z.string(), z.int()])
    .exactOptional()
    .describe('info: the name, or the number if it has none.'),
  created: instant.exactOptional(),
  modified: instant.exactOptional(),
  accessed: instant.exactOptional(),
  replaced: z.boolean().exactOptional().describe('write: whether there was a file of this name.'),
  deleted: z.literal(true).exactOptional().describe('delete: it is gone.'),
});
