import { z } from 'zod';

const matched = {
  description: z.string().min(1).max(500).describe('What to put there, for the model.'),
  pattern: z
    .string()
    .min(1)
    .max(1_000)
    .exactOptional()
    .describe('What the whole argument must look like, in RE2 syntax; needed unless `path` is set.'),
  path: z
    .boolean()
    .default(false)
    .describe('It is a relative path without `..`; the program gets it with `./` in front.'),
  allowDash: z
    .boolean()
    .default(false)
    .describe('Whether it may begin with `-`, which most programs take for an option.'),
};

const needsShape = {
  error: 'An argument needs a pattern, such as "[a-z]+", or path: true.',
};

function hasShape({ pattern, path }: { readonly pattern?: string; readonly path: boolean }): boolean {
  return path || pattern !== undefined;
}

/** One argument as written. */
const commandArgument = z
  .strictObject({
    name: z.string().min(1).max(64).exactOptional().describe('What the model knows it by.'),
    ...matched,
  })
  .refine(hasShape, needsShape);

/** The arguments after the named ones. */
const commandRest = z
  .strictObject({
    ...matched,
    max: z.int().min(1).max(1_000).default(16).describe('How many of them there may be.'),
  })
  .refine(hasShape, needsShape);

/** One program the model may run, and with which arguments. */
export const commandOptions = z.strictObject({
  file: z.string().min(1).describe('The program, as an absolute path; a shell is refused.'),
  description: z
    .string()
    .min(1)
    .max(1_000)
    .describe('What it does and when to use it: this is what the model chooses by.'),
  args: z
    .array(z.string())
    .max(100)
    .default([])
    .describe('Arguments that always come first; end them with `--` where the program knows it.'),
  arguments: z
    .array(commandArgument)
    .max(100)
    .default([])
    .describe('The arguments the model gives, in order; all of them are needed.'),
  rest: commandRest.exactOptional().describe('Further arguments the model may give.'),
  readOnly: z.boolean().default(false).describe('Whether it changes nothing.'),
});

/** What the `run_command` tool may run, and how. */
export const runCommandOptions = z.strictObject({
  commands: z
    .record(z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/), commandOptions)
    .refine((commands) => Object.keys(commands).length > 0, { error: 'There must be at least one command.' })
    .describe('The commands, by the name the model uses.'),
  folder: z
    .string()
    .min(1)
    .describe(
      'Where commands run; it must exist. `{tenant}` in it stands for the tenant of the caller, by id.',
    ),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
    .default({})
    .describe('The whole environment of the commands; not even `PATH` is there unless set.'),
  timeoutSeconds: z.number().positive().max(3_600).default(10).describe('The longest a command may take.'),
  maxOutputBytes: z
    .int()
    .min(1)
    .max(1_048_576)
    .default(65_536)
    .describe('How much is kept of standard output, and of standard error.'),
});

/** A command with every default filled in. */
export type CommandOptions = z.output<typeof commandOptions>;
