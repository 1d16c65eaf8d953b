import { isObject } from '../../base/json.ts';
import { ToolcribError } from '../../base/errors.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import type { JsonSchema, SchemaLike } from '../../schema/schema.ts';
import type { Agent } from '../agent.ts';
import { contentParts, type ToldContent } from './content-parts.ts';
import { toModelSchema } from './model-schema.ts';
import { safeNames } from './safe-names.ts';

/** A schema as the AI SDK takes it. */
export interface AiSdkSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => { readonly value: unknown };
  };
}

/** A tool for `tools` of `generateText` and `streamText`. */
export interface AiSdkTool {
  readonly type: 'dynamic';
  readonly description: string;
  readonly inputSchema: AiSdkSchema;
  readonly execute: (input: unknown, options: AiSdkCall) => Promise<ToldContent>;
  readonly toModelOutput: (told: { readonly output: unknown }) => AiSdkOutput;
}

/** A result for the model, in the form of the AI SDK. */
export type AiSdkOutput =
  | { type: 'error-text'; value: string }
  | {
      type: 'content';
      value: ({ type: 'text'; text: string } | { type: 'image-data'; data: string; mediaType: string })[];
    };

interface AiSdkCall {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal | undefined;
}

/** A tool of the AI SDK, as far as it is read here. */
export interface ForeignTool {
  readonly description?: string | undefined;
  readonly title?: string | undefined;
  readonly inputSchema: unknown;
  /** Each has arguments of its own. */
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
}

const MARK = Symbol.for('vercel.ai.schema');

/** An agent's tools for the AI SDK; calls go through the agent, with all its rules. */
export function toAiSdkTools(
  agent: Pick<Agent, 'availableTools' | 'call'>,
  { images = true }: { readonly images?: boolean } = {},
): Record<string, AiSdkTool> {
  const names = safeNames(agent.availableTools);
  return Object.fromEntries(
    agent.availableTools.map(({ name, description, inputSchema, from, _meta }) => [
      names.get(name)!,
      {
        type: 'dynamic',
        description,
        inputSchema: toAiSdkSchema(toModelSchema(inputSchema)),
        execute: async (input, { toolCallId, abortSignal }) => {
          const args = isObject(input) ? input : {};
          const options = { id: toolCallId, ...(abortSignal && { signal: abortSignal }) };
          const result = await agent.call(name, args, options);
          return contentParts(result, { features: { images }, server: from.source, toolMeta: _meta });
        },
        toModelOutput: ({ output }) => toOutput(output as ToldContent),
      } satisfies AiSdkTool,
    ]),
  );
}

/** Tools of our own, made of tools of the AI SDK that have an `execute`. */
export async function fromAiSdkTools(tools: Readonly<Record<string, ForeignTool>>): Promise<Tool[]> {
  return Promise.all(
    Object.entries(tools).map(async ([name, { description = name, title, inputSchema, execute }]) => {
      if (!execute)
        throw new ToolcribError('invalid_tool', `${name} has no execute, so it cannot be called from here.`);
      const run = execute as (input: unknown, options: unknown) => unknown;
      const definition = {
        name,
        description,
        ...(title !== undefined && { title }),
        input: await fromAiSdkSchema(inputSchema),
      };
      return defineTool(definition, async (args, { signal }) =>
        lastOf(await run(args, { toolCallId: crypto.randomUUID(), messages: [], abortSignal: signal })),
      );
    }),
  );
}

// The mark makes the SDK take the schema as it is; the rest is what its types ask for.
function toAiSdkSchema(jsonSchema: JsonSchema): AiSdkSchema {
  const schema = {
    [MARK]: true,
    _type: undefined,
    validate: undefined,
    jsonSchema,
    '~standard': { version: 1 as const, vendor: 'toolcrib', validate: (value: unknown) => ({ value }) },
  };
  return schema;
}

function toOutput({ content, isError }: ToldContent): AiSdkOutput {
  if (isError)
    return {
      type: 'error-text',
      value: content.map((part) => (part.type === 'text' ? part.text : '[toolcrib: an image]')).join('\n'),
    };
  return {
    type: 'content',
    value: content.map((part) =>
      part.type === 'text' ? { ...part } : { type: 'image-data', data: part.data, mediaType: part.mimeType },
    ),
  };
}

async function fromAiSdkSchema(schema: unknown): Promise<SchemaLike> {
  const read: unknown =
    typeof schema === 'function' && !('~standard' in schema) ? (schema as () => unknown)() : schema;
  if (isObject(read) && 'jsonSchema' in read && !('~standard' in read))
    return (await read['jsonSchema']) as JsonSchema;
  return read as SchemaLike;
}

// A tool that reports on its way ends with its last report.
async function lastOf(output: unknown): Promise<unknown> {
  if (!isObject(output) || !(Symbol.asyncIterator in output)) return output;
  let last: unknown;
  for await (const value of output as unknown as AsyncIterable<unknown>) last = value;
  return last;
}
