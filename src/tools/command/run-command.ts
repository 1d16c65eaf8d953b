import { z } from 'zod';
import { systemClock } from '../../base/clock.ts';
import type { ToolContext } from '../../core/context.ts';
import { ToolcribError } from '../../base/errors.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import { compileArguments, MAX_ARGUMENT_LENGTH, type ReadArguments } from './arguments.ts';
import { runCommandOptions, type CommandOptions } from './options.ts';
import { requireBelow } from './paths.ts';
import { runProcess, type ProcessEnd } from '../../net/processes/run-process.ts';
import { checkProgram, workingFolders } from './setup.ts';

/** The `run_command` tool, which must be closed. */
export interface RunCommandTool extends Tool<{ command: string; arguments: string[] }> {
  /** Lets the commands under way finish. */
  close(): Promise<void>;
}

/** What the tool needs beside its options. */
export interface RunCommandParts {
  /** What relative paths in the options are relative to; the working directory unless set. */
  readonly folder?: string;
}

/** The `run_command` tool: programs the operator lists, with arguments the operator allows, and never a shell. */
export function runCommandTool(
  options: z.input<typeof runCommandOptions>,
  { folder = process.cwd() }: RunCommandParts = {},
): RunCommandTool {
  if (process.platform === 'win32')
    throw new ToolcribError(
      'invalid_setup',
      'run_command needs process groups, which Windows does not have.',
    );
  const settings = runCommandOptions.parse(options, { jitless: true });
  const commands = new Map(
    Object.entries(settings.commands).map(([name, command]) => [name, prepare(name, command)]),
  );
  const folderOf = workingFolders(settings.folder, folder);
  const underWay = new Set<Promise<unknown>>();

  const run = async (name: string, given: readonly string[], { tenant, signal }: ToolContext) => {
    const { file, args, read } = commands.get(name)!;
    const startedAt = systemClock.ticks();
    const own = read(given);
    const place = await folderOf(tenant.id);
    await requireBelow(place, own);
    const plan = {
      file,
      args: [...args, ...own.map(({ text }) => text)],
      folder: place,
      env: settings.env,
      timeoutMs: settings.timeoutSeconds * 1_000,
      maxOutputBytes: settings.maxOutputBytes,
    };
    const ended = await runProcess(plan, signal).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new ToolcribError('tool_failed', `${name} could not be started; ask the operator to check it.`, {
        cause,
      });
    });
    if (ended.stopped === 'cancelled') signal.throwIfAborted();
    return report({
      name,
      ended,
      durationMs: systemClock.ticks() - startedAt,
      limitSeconds: settings.timeoutSeconds,
    });
  };

  const tool = defineTool(describe(settings.commands), (args, context) => {
    const running = run(args.command, args.arguments, context);
    underWay.add(running);
    const done = (): boolean => underWay.delete(running);
    running.then(done, done);
    return running;
  });
  return {
    ...tool,
    close: async () => {
      await Promise.allSettled(underWay);
    },
  };
}

interface Prepared {
  readonly file: string;
  readonly args: readonly string[];
  readonly read: ReadArguments;
}

function prepare(name: string, command: CommandOptions): Prepared {
  checkProgram(name, command.file);
  return { file: command.file, args: command.args, read: compileArguments(name, command) };
}

const output = z.strictObject({
  command: z.string().describe('The command that ran.'),
  exit_code: z.int().describe('Its exit code: 0.'),
  stdout: z.string().describe('What it wrote to standard output.'),
  stderr: z.string().describe('What it wrote to standard error.'),
  truncated: z.boolean().describe('Whether one of them was cut; a note at its end says where.'),
  duration_ms: z.int().describe('How long it took, in milliseconds.'),
});

function describe(commands: Readonly<Record<string, CommandOptions>>) {
  const all = Object.values(commands);
  const isReadOnly = all.every(({ readOnly }) => readOnly);
  const most = Math.max(...all.map((command) => command.arguments.length + (command.rest?.max ?? 0)));
  return {
    name: 'run_command',
    title: 'Run a command',
    description:
      'Runs one of the commands listed under "command", without a shell. Returns its exit code and what it wrote to standard output and standard error. Use it when one of these commands does what is needed; there are no others.',
    input: z.strictObject({
      command: z
        .enum(Object.keys(commands))
        .describe(
          [
            'The command, by its name:',
            ...Object.entries(commands).flatMap(([name, command]) => linesOf(name, command)),
          ].join('\n'),
        ),
      arguments: z
        .array(z.string().max(MAX_ARGUMENT_LENGTH))
        .max(most)
        .default([])
        .describe(
          'Its arguments, one entry each, as the program should get them: no quotes, no shell syntax.',
        ),
    }),
    output,
    annotations: {
      readOnlyHint: isReadOnly,
      destructiveHint: !isReadOnly,
      idempotentHint: isReadOnly,
      openWorldHint: true,
    },
  };
}

function linesOf(name: string, command: CommandOptions): string[] {
  const named = command.arguments.map((argument, index) => ({
    ...argument,
    label: `<${argument.name ?? `argument ${index + 1}`}>`,
  }));
  const all = [
    ...named,
    ...(command.rest ? [{ ...command.rest, label: `up to ${command.rest.max} more` }] : []),
  ];
  const usage = [name, ...named.map(({ label }) => label), ...(command.rest ? ['...'] : [])].join(' ');
  return [
    `- ${usage}: ${command.description}`,
    ...all.map(({ label, description, path, pattern }) => {
      const rules = [
        ...(path ? ['a relative path'] : []),
        ...(pattern === undefined ? [] : [`matches ${pattern}`]),
      ];
      return `  - ${label}: ${description} (${rules.join(', ')})`;
    }),
  ];
}

interface Run {
  readonly name: string;
  readonly ended: ProcessEnd;
  readonly durationMs: number;
  readonly limitSeconds: number;
}

function report({ name, ended, durationMs, limitSeconds }: Run) {
  const { exitCode, signal, stdout, stderr, isCut } = ended;
  const facts = { stdout, stderr, truncated: isCut, duration_ms: Math.round(durationMs) };
  const error = failureOf(ended, limitSeconds);
  if (error === undefined) return { command: name, exit_code: 0, ...facts };
  return { error, command: name, exit_code: exitCode, ...(signal !== null && { signal }), ...facts };
}

function failureOf({ stopped, exitCode }: ProcessEnd, limitSeconds: number): string | undefined {
  switch (stopped) {
    case 'timed_out':
      return `Command timed out after ${limitSeconds} seconds`;
    case 'flooded':
      return 'Command wrote too much and was stopped';
    case 'cancelled':
    case undefined:
      return exitCode === 0 ? undefined : 'Command failed';
  }
}
