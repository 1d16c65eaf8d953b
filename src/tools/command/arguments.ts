import { ToolcribError } from '../../base/errors.ts';
import { linearPattern, type LinearPattern } from '../../base/linear-pattern.ts';
import type { CommandOptions } from './options.ts';

/** The most characters one argument may have. */
export const MAX_ARGUMENT_LENGTH = 4_096;

// Well below the limit of operating systems, whatever the environment adds.
const MAX_TOTAL_BYTES = 131_072;

/** One argument for a program. */
export interface Argument {
  /** What the program gets. */
  readonly text: string;
  /** The name the model knows it by. */
  readonly label: string;
  readonly isPath: boolean;
}

/** Turns what a model gives into arguments for the program; throws `invalid_arguments` if they are not allowed. */
export type ReadArguments = (given: readonly string[]) => readonly Argument[];

/** Compiles the check of a command's arguments; throws `invalid_setup` for an invalid pattern. */
export function compileArguments(name: string, command: CommandOptions): ReadArguments {
  const rules = command.arguments.map((argument, index) =>
    compileRule(argument, `commands.${name}.arguments[${index}]`),
  );
  const rest = command.rest && compileRule(command.rest, `commands.${name}.rest`);
  const most = rules.length + (command.rest?.max ?? 0);
  return (given) => {
    if (given.length < rules.length || given.length > most)
      throw refusal(`${name} takes ${amount(rules.length, most)}, not ${given.length}.`);
    const bytes = given.reduce((sum, argument) => sum + Buffer.byteLength(argument), 0);
    if (bytes > MAX_TOTAL_BYTES) throw refusal(`Together they may have ${MAX_TOTAL_BYTES} bytes at most.`);
    return given.map((argument, index) => readArgument(argument, index, (rules[index] ?? rest)!));
  };
}

/** The error for arguments that are not allowed. */
export function refusal(text: string): ToolcribError {
  return new ToolcribError('invalid_arguments', `Invalid arguments for run_command: ${text}`);
}

interface Rule {
  readonly label: string;
  readonly source: string | undefined;
  readonly pattern: LinearPattern | undefined;
  readonly isPath: boolean;
  readonly allowDash: boolean;
}

type RuleOptions = CommandOptions['arguments'][number] | NonNullable<CommandOptions['rest']>;

function compileRule(options: RuleOptions, place: string): Rule {
  const { pattern: source, path, allowDash } = options;
  const label = 'name' in options && options.name !== undefined ? ` (${options.name})` : '';
  return {
    label,
    source,
    pattern: source === undefined ? undefined : anchored(source, place),
    isPath: path,
    allowDash,
  };
}

function anchored(source: string, place: string): LinearPattern {
  try {
    // Compiled alone first: an unmatched parenthesis could escape the anchors.
    linearPattern(source);
    return linearPattern(`^(?:${source})$`);
  } catch (cause) {
    throw new ToolcribError(
      'invalid_setup',
      `${place}.pattern is not a pattern that RE2 can read; correct it.`,
      {
        cause,
      },
    );
  }
}

function readArgument(argument: string, index: number, rule: Rule): Argument {
  const label = `arguments[${index}]${rule.label}`;
  const say = (what: string): ToolcribError => refusal(`${label} ${what}`);
  if (argument.length > MAX_ARGUMENT_LENGTH) throw say(`may have ${MAX_ARGUMENT_LENGTH} characters at most.`);
  // The program must get exactly what was checked, and these characters cannot be passed unchanged.
  if (/\0|\p{Surrogate}/u.test(argument))
    throw say('holds a character no program can be given; leave it out.');
  if (argument.startsWith('-') && !rule.allowDash) throw say('may not begin with "-".');
  if (rule.isPath && !isRelative(argument))
    throw say('must be a path relative to the working folder, without "..".');
  if (rule.pattern && !rule.pattern.test(argument)) throw say(`must match ${rule.source} as a whole.`);
  return { text: rule.isPath ? `./${argument}` : argument, label, isPath: rule.isPath };
}

function isRelative(path: string): boolean {
  return path !== '' && !path.startsWith('/') && !path.split('/').includes('..');
}

function amount(least: number, most: number): string {
  if (most === 0) return 'no arguments';
  const noun = most === 1 ? 'argument' : 'arguments';
  return least === most ? `exactly ${most} ${noun}` : `${least} to ${most} ${noun}`;
}
