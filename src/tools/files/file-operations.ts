import type { z } from 'zod';
import { AbstractTool } from '../../core/authoring/abstract-tool.ts';
import type { ToolContext } from '../../core/context.ts';
import type { ToolAnnotations } from '../../core/tool.ts';
import { readOutputSchema, type JsonSchema, type Parse } from '../../schema/schema.ts';
import { createRoots } from './jail-roots.ts';
import { remove } from './delete.ts';
import { fileFailure } from './failure.ts';
import { info } from './info.ts';
import { list } from './list.ts';
import { mkdir } from './mkdir.ts';
import { move } from './move.ts';
import { fileOperationsOptions } from './options.ts';
import { read } from './read.ts';
import { inputSchema, outputSchema, type FileArguments } from './schema.ts';
import { search } from './search.ts';
import type { FileSettings, FileOperation } from './site.ts';
import { write } from './write.ts';

/** The options of `file_operations`, as written. */
export type FileOperationsOptions = z.input<typeof fileOperationsOptions>;

/** What the tool needs beside its options. */
export interface FileOperationsParts {
  /** What relative paths in the options are relative to; the working directory unless set. */
  readonly folder?: string;
}

/** Files below one folder, which no path, link or race leads out of. */
export class FileOperationsTool extends AbstractTool<FileArguments> {
  readonly title: string;
  readonly outputSchema: JsonSchema;
  readonly parseOutput?: Parse;
  readonly #settings: FileSettings;
  readonly #findRoot: ReturnType<typeof createRoots>;
  readonly #operations: ReadonlyMap<string, FileOperation>;

  constructor(options: FileOperationsOptions, { folder = process.cwd() }: FileOperationsParts = {}) {
    const settings = fileOperationsOptions.parse(options, { jitless: true });
    const { name, description = describe(settings), title = 'Files' } = settings;
    super(name, description, inputSchema(settings), hintsOf(settings));
    const output = readOutputSchema(outputSchema);
    this.title = title;
    this.outputSchema = output.json;
    if (output.parse) this.parseOutput = output.parse;
    this.#settings = settings;
    this.#findRoot = createRoots({ ...settings, folder });
    this.#operations = new Map(Object.entries(settings.write ? { ...reading, ...writing } : reading));
  }

  async execute(args: FileArguments, { tenant, signal }: ToolContext): Promise<unknown> {
    const settings = this.#settings;
    const operation = this.#operations.get(args.operation);
    if (!operation)
      return {
        error: 'Unknown operation',
        message: `Use one of these: ${[...this.#operations.keys()].join(', ')}.`,
      };
    const root = this.#findRoot(tenant.id);
    try {
      return await operation(args, { settings, root, signal });
    } catch (error) {
      signal.throwIfAborted();
      return fileFailure(error, args.operation, settings);
    }
  }
}

/** The `file_operations` tool. */
export function fileOperationsTool(
  options: FileOperationsOptions,
  parts: FileOperationsParts = {},
): FileOperationsTool {
  return new FileOperationsTool(options, parts);
}

const reading = { read, list, info, search };
const writing = { write, mkdir, move, delete: remove };

function describe({ write: mayWrite }: FileSettings): string {
  return mayWrite ? `${READS} ${WRITES}` : READS;
}

function hintsOf({ write: mayWrite }: FileSettings): ToolAnnotations {
  return {
    readOnlyHint: !mayWrite,
    destructiveHint: mayWrite,
    idempotentHint: !mayWrite,
    openWorldHint: false,
  };
}

const READS =
  'Works with the files below one folder. read returns the content of a file, list the entries of a folder, info the size, permissions and times of either, search what is below a folder by name. Use it to find and read documents; begin with list and the path ".".';
const WRITES =
  'write puts text into a file, mkdir makes a folder, move gives a file or folder another path, delete removes a file or an empty folder. Nothing that is there is replaced unless overwrite is true.';
