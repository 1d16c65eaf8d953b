import { ToolcribError } from '../../base/errors.ts';
import type { CallResult } from '../../client/calls/call-result.ts';
import type { Client } from '../../client/client.ts';
import { unlessStopped } from '../../client/server-questions.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { complain } from '../complain.ts';
import { formatExact, printable } from '../table.ts';
import { exitCodes } from './exit-codes.ts';
import { toolIn } from './list.ts';
import { createProgressBar } from './progress-bar.ts';
import { readableJson } from './readable.ts';
import { lookFor } from './render-markdown.ts';
import { showContent } from './show-content.ts';
import { splitTarget, type ServerFlags } from './target.ts';
import { argumentsFrom, knownNames, typedArguments, unknownNames } from './typed-arguments.ts';
import { withClient } from './with-client.ts';

/** Options of `toolcrib call`. */
export interface CallFlags extends ServerFlags {
  readonly input?: string;
  readonly save?: string;
}

/** `toolcrib call`: calls a tool and shows its result. */
export async function call(
  words: readonly string[],
  command: readonly string[],
  flags: CallFlags,
): Promise<void> {
  const { meant, rest } = splitTarget(words, command, flags);
  const [tool, ...pairs] = rest;
  if (tool === undefined)
    throw new ToolcribError('invalid_setup', 'Say which tool; toolcrib list shows them.');
  const given = flags.input === undefined ? {} : argumentsFrom(flags.input);
  await withClient({
    meant,
    talk: async (client, signal) => {
      const schema = await unlessStopped(signal, schemaOf(client, tool, pairs));
      const typed = typedArguments(pairs, schema);
      const args = { ...given, ...typed };
      for (const name of unknownNames(typed, schema)) complain(notThere(tool, name, schema));
      const result = await callShowingProgress(client, { tool, args, signal });
      process.stdout.write(flags.json ? readableJson(result.json) : await show(result, tool, flags));
      if (result.isError) process.exitCode = exitCodes.failed;
    },
  });
}

// Without words to type, the schema is loaded by the call itself.
async function schemaOf(client: Client, tool: string, pairs: readonly string[]): Promise<unknown> {
  if (pairs.length === 0) return undefined;
  return (await client.listTools()).find(({ name }) => name === tool)?.inputSchema;
}

// Only a warning, because the call is sent: many servers ignore unknown arguments, and do something else then.
function notThere(tool: string, name: string, schema: unknown): string {
  const known = knownNames(schema).map(printable).join(', ') || 'none';
  return `The schema of ${printable(tool)} has no "${printable(name)}", which is sent all the same; it has: ${known}.`;
}

interface ToolCall {
  readonly tool: string;
  readonly args: JsonObject;
  readonly signal: AbortSignal;
}

async function callShowingProgress(client: Client, { tool, args, signal }: ToolCall): Promise<CallResult> {
  const bar = process.stderr.isTTY ? createProgressBar(process.stderr, () => performance.now()) : undefined;
  try {
    return await client.callTool(tool, args, { signal, onProgress: (progress) => bar?.show(progress) });
  } catch (error) {
    // Says which tools there are instead.
    if (error instanceof ToolcribError && error.code === 'unknown_tool')
      toolIn(await unlessStopped(signal, client.listTools()), tool);
    throw error;
  } finally {
    bar?.clear();
  }
}

// Blocks if they say anything, else the data.
async function show(result: CallResult, tool: string, { save = '.' }: CallFlags): Promise<string> {
  const look = lookFor(process.stdout);
  const text = await showContent(result.content, { folder: save, name: tool, look });
  if (text.trim() !== '') return text;
  if (result.structuredContent !== undefined) return formatExact(result.data({ exact: true }));
  return result.isError ? `${printable(tool)} failed and gave no reason.\n` : '';
}
