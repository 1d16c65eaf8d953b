import type { z } from 'zod';
import { defineTool, type Tool, type ToolDefinition } from '../../core/tool.ts';
import { namingOf } from '../naming-options.ts';
import { createRoots } from './jail-roots.ts';
import { remove } from './delete.ts';
import { failureOf } from './failure.ts';
import { info } from './info.ts';
import { list } from './list.ts';
import { move } from './move.ts';
import { fileOperationsOptions } from './options.ts';
import { read } from './read.ts';
import { inputSchema, outputSchema, type FileArguments } from './schema.ts';
import type { FileSettings, Operation } from './site.ts';
import { write } from './write.ts';

/** The options of `file_operations`, as written. */
export type FileOperationsOptions = z.input<typeof fileOperationsOptions>;

/** What the tool needs beside its options. */
export interface FileOperationsParts {
  /** What relative paths in the options are relative to; the working directory unless set. */
  readonly folder?: string;
}

/** The `file_operations` tool: files below one folder, which no path, link or race leads out of. */
export function fileOperationsTool(
  options: FileOperationsOptions,
  { folder = process.cwd() }: FileOperationsParts = {},
): Tool<FileArguments> {
  const settings = fileOperationsOptions.parse(options, { jitless: true });
  const findRoot = createRoots({ ...settings, folder });
  const operations: ReadonlyMap<string, Operation> = new Map(
    Object.entries(settings.write ? { ...reading, ...writing } : reading),
  );
  return defineTool({ ...definition(settings), output: outputSchema }, async (args, { tenant, signal }) => {
    const operation = operations.get(args.operation);
    if (!operation)
      return {
        error: 'Unknown operation',
        message: `Use one of these: ${[...operations.keys()].join(', ')}.`,
      };
    const root = findRoot(tenant.id);
    try {
      return await operation(args, { settings, root, signal });
    } catch (error) {
      signal.throwIfAborted();
      return failureOf(error, args.operation, settings);
    }
  });
}

const reading = { read, list, info };
const writing = { write, move, delete: remove };

function definition(settings: FileSettings): ToolDefinition<z.ZodType<FileArguments>> {
  const { write: mayWrite } = settings;
  return {
    title: 'Files',
    description: mayWrite ? `${READS} ${WRITES}` : READS,
    ...namingOf(settings),
    input: inputSchema(settings),
    annotations: {
      readOnlyHint: !mayWrite,
      destructiveHint: mayWrite,
      idempotentHint: !mayWrite,
      openWorldHint: false,
    },
  };
}

const READS =
  'Works with the files below one folder. read returns the content of a file, list the entries of a folder, info the size, permissions and times of either. Use it to find and read documents; begin with list and the path ".".';
const WRITES =
  'write puts text into a file, move gives a file or folder another path, delete removes a file or an empty folder. Nothing that is there is replaced unless overwrite is true.';
