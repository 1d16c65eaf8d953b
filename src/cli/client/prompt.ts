import { exactly } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import type { Client } from '../../client/client.ts';
import { mayHave } from '../../client/opening/handshake.ts';
import { unlessStopped } from '../../client/server-questions.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { formatExact, formatTable, printable } from '../table.ts';
import { firstLine } from './readable.ts';
import { lookFor } from './render-markdown.ts';
import { showContent } from './show-content.ts';
import { splitTarget, type ServerFlags } from './target.ts';
import { typedArguments } from './typed-arguments.ts';
import { withClient } from './with-client.ts';

/** Options of `toolcrib prompt`. */
export interface PromptFlags extends ServerFlags {
  readonly save?: string;
}

/** `toolcrib prompt`: shows the messages of a prompt, or lists the prompts. */
export async function prompt(
  words: readonly string[],
  command: readonly string[],
  flags: PromptFlags,
): Promise<void> {
  const { meant, rest } = splitTarget(words, command, flags);
  const [name, ...pairs] = rest;
  const args = typedArguments(pairs, undefined) as Record<string, string>;
  await withClient({
    meant,
    talk: async (client, signal) => {
      if (name === undefined) return unlessStopped(signal, listAll(client, flags));
      const result = await client.getPrompt(name, args, { signal });
      process.stdout.write(flags.json ? formatExact(exactly(result)) : await show(result, name, flags));
    },
  });
}

async function show({ messages }: JsonObject, name: string, { save = '.' }: PromptFlags): Promise<string> {
  const options = { folder: save, name, look: lookFor(process.stdout) };
  const parts: string[] = [];
  for (const message of Array.isArray(messages) ? (messages as unknown[]) : []) {
    if (!isObject(message)) continue;
    const role = typeof message['role'] === 'string' ? printable(message['role']) : 'somebody';
    parts.push(`${role}:\n${await showContent([message['content']].flat(), options)}`);
  }
  return parts.join('\n');
}

async function listAll(client: Client, { json }: ServerFlags): Promise<void> {
  const prompts = mayHave(client.server, 'prompts') ? await client.listPrompts() : [];
  if (json) {
    process.stdout.write(formatExact({ prompts: prompts.map(exactly) }));
    return;
  }
  const rows = prompts.map(({ name, arguments: args, description }) => [
    textOf(name),
    (Array.isArray(args) ? (args as unknown[]) : []).map(argumentOf).join(', '),
    firstLine(textOf(description), 80),
  ]);
  process.stdout.write(formatTable(['PROMPT', 'TAKES', 'IS FOR'], rows, 'The server has no prompts.'));
}

function argumentOf(argument: unknown): string {
  if (!isObject(argument)) return '';
  return `${textOf(argument['name'])}${argument['required'] === true ? '' : '?'}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
