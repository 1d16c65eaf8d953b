/** The words of a command line, and the command of a local server after `--`. */
export interface SplitWords {
  readonly words: readonly string[];
  readonly command: readonly string[];
}

const NONE: readonly string[] = [];

/** Cuts a command line at `--`; what follows is never read as an option of ours. */
export function splitServerCommand(argv: readonly string[]): SplitWords {
  const at = argv.indexOf('--');
  return at < 0 ? { words: argv, command: NONE } : { words: argv.slice(0, at), command: argv.slice(at + 1) };
}
