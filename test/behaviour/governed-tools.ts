import { z } from 'zod';
import { defineTool, type Tool } from '../../src/index.ts';
import { revisions } from './matrix.ts';

/** Says that a tool changes nothing. */
export const reads = { annotations: { readOnlyHint: true } } as const;

/** The input of a tool that takes a text. */
export const textInput = { properties: { text: { type: 'string' } }, required: ['text'] } as const;

/** Every revision by its version, newest first. */
export const versions: readonly string[] = revisions.map(({ version }) => version);

/** A tool that repeats a text, and the texts it was given. */
export function echo(name = 'echo'): { readonly tool: Tool<{ text: string }>; readonly ran: string[] } {
  const ran: string[] = [];
  const tool = defineTool({ name, description: 'Repeats.', input: textInput, ...reads }, (args) => {
    ran.push(args.text);
    return args.text;
  });
  return { tool, ran };
}

/** A tool that destroys what it is given, and what it was given. */
export function wiper(name = 'wipe'): { readonly tool: Tool; readonly ran: unknown[] } {
  const ran: unknown[] = [];
  const tool = defineTool(
    {
      name,
      description: 'Wipes a disk. Returns its name. Use it never.',
      input: z.strictObject({ disk: z.string() }),
      output: z.object({ wiped: z.string() }),
      annotations: { destructiveHint: true },
    },
    (args) => {
      ran.push(args);
      return { wiped: args.disk };
    },
  ) as Tool;
  return { tool, ran };
}
