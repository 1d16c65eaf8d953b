import { z } from 'zod';
import { fillerTools } from './catalog.ts';

/** A filler tool with the schema written in zod, for the libraries whose documentation uses zod. */
export interface ZodFillerTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: z.ZodObject;
}

/** The input of both echo tools. */
export const zodEchoInput = z.object({ text: z.string() });

/** The output of `echo_object`. */
export const zodEchoOutput = z.object({ text: z.string(), length: z.int() });

/** The same filler tools as `fillerTools`, with zod schemas made once. */
export function zodFillerTools(total: number): ZodFillerTool[] {
  return fillerTools(total).map(({ name, description }) => ({
    name,
    description,
    inputSchema: z.object({ customer: z.string(), limit: z.int().min(1).max(100).optional() }),
  }));
}
