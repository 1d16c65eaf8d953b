/** A server as it is written into `mcpServers` of our own file. */
export type NewEntry = NewProgram | NewAddress;

interface NewProgram {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly tools?: readonly string[];
  readonly disabled?: boolean;
}

interface NewAddress {
  readonly type?: 'sse';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tools?: readonly string[];
  readonly disabled?: boolean;
}

/** An entry, and notes and steps for its operator. */
export interface Proposal {
  readonly name: string;
  readonly entry: NewEntry;
  /** Variables to set, each with its meaning. */
  readonly variables: readonly { readonly name: string; readonly what: string }[];
  readonly warnings: readonly string[];
}

/** A name that the file takes, made of any text. */
export function nameFrom(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return words.join('-').slice(0, 32).replace(/-$/, '') || 'server';
}

/** The name of a variable, made of any text. */
export function variableFrom(...parts: readonly string[]): string {
  const name = parts
    .join('_')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase();
  return /^\d/.test(name) ? `_${name}` : name;
}

/** Whether a word of a command line is a path from some folder. */
export function isRelative(word: string): boolean {
  return /^\.{1,2}\//.test(word);
}

/** Text that stands for itself in our file, where `${` begins a variable. */
export function literal(text: string): string {
  // In the text of a replacement two dollars stand for one.
  return text.replaceAll('${', () => '$${');
}

/** Texts of which each is written for our file, as one text in which no variable begins between two of them. */
export function inOne(parts: readonly string[]): string {
  return parts.reduce((whole, part) =>
    whole.endsWith('$') && part.startsWith('{') ? `${whole}$${part}` : whole + part,
  );
}

/** The name of the server that a command line starts, and whether its version is left open. */
export function readCommand(words: readonly string[]): {
  readonly name: string;
  readonly warnings: readonly string[];
} {
  const [program = '', ...args] = words;
  const runner = program.split('/').at(-1) ?? program;
  const what = args.find(
    (word, at) => !word.startsWith('-') && !RUNNER_WORDS.has(word) && !VALUE_OPTIONS.has(args[at - 1] ?? ''),
  );
  const isRunner = RUNNERS.has(runner) && what !== undefined;
  const bare = (isRunner ? what : runner).replace(/(?<=.)@[^@/]*$/, '').replace(/[:=]=?[^/]*$/, '');
  const name = nameFrom(bare.split('/').at(-1) ?? bare);
  if (!isRunner || isFixed(runner, what)) return { name, warnings: [] };
  const example = runner === 'docker' || runner === 'podman' ? `${what}@sha256:...` : `${what}@1.2.3`;
  return {
    name,
    warnings: [
      `"${what}" has no fixed version: each start may run other code. Name one, such as ${example}.`,
    ],
  };
}

const RUNNERS = new Set(['npx', 'bunx', 'pnpm', 'yarn', 'uvx', 'pipx', 'docker', 'podman', 'dnx']);
// Options of docker that take the next word.
const VALUE_OPTIONS = new Set(
  '-e --env --env-file -v --volume --mount --name --network -p --publish -u --user -w --workdir'.split(' '),
);
const RUNNER_WORDS = new Set(['dlx', 'exec', 'run', 'x']);

function isFixed(runner: string, what: string): boolean {
  if (/^(?:docker|podman)$/.test(runner)) return /@sha256:|:(?!latest$)[^/:]+$/.test(what);
  return /(?:.@|==)v?\d/.test(what);
}
