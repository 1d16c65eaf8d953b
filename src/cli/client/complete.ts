import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { formatJson, printable } from '../table.ts';
import { splitTarget, type ServerFlags } from './target.ts';
import { typedArguments } from './typed-arguments.ts';
import { withClient } from './with-client.ts';

/** `toolcrib complete`: shows what a server suggests for an argument of a prompt or a template. */
export async function complete(
  words: readonly string[],
  command: readonly string[],
  flags: ServerFlags,
): Promise<void> {
  const { meant, rest } = splitTarget(words, command, flags);
  const [reference, asked, ...pairs] = rest;
  const [, argument, value = ''] = /^([^=]+)(?:=([^]*))?$/.exec(asked ?? '') ?? [];
  if (reference === undefined || argument === undefined)
    throw new ToolcribError(
      'invalid_setup',
      'Say what to complete, such as: PROMPT city=Be, or file:///{path} path=a.',
    );
  const chosen = typedArguments(pairs, undefined) as Record<string, string>;
  const target = reference.includes('://') ? { template: reference } : { prompt: reference };
  await withClient({
    meant,
    talk: async (client, signal) => {
      const found = await client.complete({ ...target, argument, value }, chosen, { signal });
      if (flags.json) process.stdout.write(formatJson(found, 2));
      else for (const one of valuesIn(found)) process.stdout.write(`${printable(one)}\n`);
    },
  });
}

function valuesIn(found: unknown): readonly string[] {
  const values = isObject(found) && Array.isArray(found['values']) ? (found['values'] as unknown[]) : [];
  return values.filter((value) => typeof value === 'string');
}
