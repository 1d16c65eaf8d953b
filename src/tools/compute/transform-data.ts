import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { ToolcribError } from '../../base/errors.ts';
import { parseJson } from '../../base/parse-json.ts';
import { Overdue, within } from '../../base/within.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import { transformDataOptions } from './transform-data-options.ts';
import { FORMATS, type Format, type TransformReply, type TransformRequest } from './transform-messages.ts';

/** How much `transform_data` takes and gives, and how long it may take. */
export type TransformDataOptions = z.input<typeof transformDataOptions>;

/** What the tool is made with beside its options. */
export interface TransformDataParts {
  /** The code of the thread; found by itself unless set. */
  readonly worker?: URL;
}

/** The arguments of `transform_data`. */
export type TransformDataArguments = {
  readonly data: string;
  readonly from: Format;
  readonly query: string;
  readonly to: Format;
};

const MAX_THREADS = 4;
const HEAP_MB = 128;

/** The `transform_data` tool: asks JMESPath of JSON, CSV or YAML, in a thread that is ended when it takes too long. */
export function transformDataTool(
  options: TransformDataOptions = {},
  { worker = workerEntry() }: TransformDataParts = {},
): Tool<TransformDataArguments> {
  const { maxBytes, timeoutSeconds } = transformDataOptions.parse(options, { jitless: true });
  let running = 0;
  return defineTool(describe(maxBytes), async ({ data, from, query, to }, { signal }) => {
    if (Buffer.byteLength(data) > maxBytes)
      return {
        error: 'Data too large',
        message: `A call takes ${maxBytes} bytes of data at most; send less.`,
      };
    if (running >= MAX_THREADS)
      throw new ToolcribError('busy', 'Too many transformations are under way; try again in a moment.');
    running++;
    try {
      const asked = { data, from, query, to, maxBytes };
      const reply = await runInThread(worker, asked, { timeoutMs: timeoutSeconds * 1_000, signal });
      if ('error' in reply) return reply;
      return to === 'json' ? { data: parseJson(reply.text) } : { text: reply.text };
    } finally {
      running--;
    }
  });
}

interface Patience {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

async function runInThread(
  entry: URL,
  request: TransformRequest,
  { timeoutMs, signal }: Patience,
): Promise<TransformReply> {
  signal.throwIfAborted();
  // It gets nothing of the environment of this process, and its output is dropped.
  const worker = new Worker(entry, {
    workerData: request,
    env: {},
    stdout: true,
    stderr: true,
    execArgv: entry.pathname.endsWith('.ts') ? ['--import', 'jiti/register'] : [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 16, stackSizeMb: 2 },
  });
  const reply = new Promise<TransformReply>((proceed, refuse) => {
    worker.once('message', proceed);
    worker.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ERR_WORKER_OUT_OF_MEMORY' || error instanceof RangeError
        ? proceed(TOO_MUCH)
        : refuse(error),
    );
    worker.once('exit', () => proceed(TOO_MUCH));
  });
  try {
    return await within(timeoutMs, signal, reply);
  } catch (error) {
    if (error instanceof Overdue) return TOO_LONG;
    throw error;
  } finally {
    await worker.terminate();
  }
}

const TOO_LONG: TransformReply = {
  error: 'Took too long',
  message: 'The query took too long and was ended; ask for less, or send less data.',
};
const TOO_MUCH: TransformReply = {
  error: 'Took too much memory',
  message: 'The query took too much memory and was ended; ask for less, or send less data.',
};

// Beside this module while it is source; beside or above it once it is part of a bundle.
function workerEntry(): URL {
  const candidates = ['./transform-worker.ts', './transform-worker.js', '../transform-worker.js'];
  const entry = candidates.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
  if (entry) return entry;
  throw new ToolcribError('invalid_setup', 'The package is incomplete: transform-worker.js is missing.');
}

function describe(maxBytes: number) {
  const form = z.enum(FORMATS);
  return {
    name: 'transform_data',
    title: 'Data transformation',
    description:
      'Filters, selects and reshapes JSON, CSV or YAML with a JMESPath query, such as "[?age > `30`].name". Returns the result as data, or as text in another form. Use it to convert data, or to get at parts of it.',
    input: z.strictObject({
      data: z
        .string()
        .max(maxBytes)
        .describe('The data as text. CSV needs names in its first row; its values are text.'),
      from: form.default('json').describe('The form of the data.'),
      query: z.string().min(1).max(2_000).default('@').describe('A JMESPath query; "@" is everything.'),
      to: form.default('json').describe('The form of the result.'),
    }),
    output: z.object({
      data: z.unknown().optional().describe('The result, if it is JSON.'),
      text: z.string().exactOptional().describe('The result as CSV or YAML.'),
    }),
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  } as const;
}
