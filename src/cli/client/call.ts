import { ToolcribError } from '../../base/errors.ts';
import type { CallResult } from '../../client/calls/call-result.ts';
import type { Client } from '../../client/client.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { formatJson, printable } from '../table.ts';
import { exitCodes } from './exit-codes.ts';
import { toolIn } from './list.ts';
import { createProgressBar } from './progress-bar.ts';
import { readableJson } from './readable.ts';
import { showContent } from './show-content.ts';
import { splitTarget, type ServerFlags } from './target.ts';
import { argumentsFrom, typedArguments } from './typed-arguments.ts';
import { withClient } from './with-client.ts';

/** Options of `toolcrib call`. */
export interface CallFlags extends ServerFlags {
  readonly input?: string;
  readonly save?: string;
}

/** `toolcrib call`: calls a tool and shows what it answers. */
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
      const args = { ...given, ...typedArguments(pairs, await schemaOf(client, tool, pairs)) };
      const result = await callShowingProgress(client, { tool, args, signal });
      process.stdout.write(
        flags.json ? readableJson(result.json, result.raw) : await show(result, tool, flags),
      );
      if (result.isError) process.exitCode = exitCodes.failed;
    },
  });
}

// Without words to type, the schema is loaded by the call itself.
async function schemaOf(client: Client, tool: string, pairs: readonly string[]): Promise<unknown> {
  if (pairs.length === 0) return undefined;
  return (await client.listTools()).find(({ name }) => name === tool)?.inputSchema;
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
      toolIn(await client.listTools(), tool);
    throw error;
  } finally {
    bar?.clear();
  }
}

// Blocks if they say anything, else the data.
async function show(result: CallResult, tool: string, { save = '.' }: CallFlags): Promise<string> {
  const isTerminal = process.stdout.isTTY;
  const text = await showContent(result.content, { folder: save, name: tool, isTerminal });
  if (text.trim() !== '') return text;
  if (result.structuredContent !== undefined) return formatJson(result.structuredContent, 2);
  return result.isError ? `${printable(tool)} failed and gave no reason.\n` : '';
}
