import { z } from 'zod';

/** Name, title and description, for tools that can be offered several times. */
export function namingOptions(name: string) {
  return {
    name: z.string().min(1).default(name).describe('What the tool is called.'),
    title: z.string().min(1).exactOptional().describe('Its title for people; one of ours unless set.'),
    description: z
      .string()
      .min(1)
      .exactOptional()
      .describe('What the model is told about it, in place of our words.'),
  };
}

/** The options as read. */
export interface ToolNaming {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
}

/** The configured name, title and description, which replace the tool's own. */
export function namingOf({ name, title, description }: ToolNaming): ToolNaming {
  return { name, ...(title !== undefined && { title }), ...(description !== undefined && { description }) };
}
