/** Where expansions take their values from. */
export interface ExpansionSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The trimmed content of a file; throws if it cannot be read. */
  readonly readSecret: (path: string) => string;
}

/** A text with its `${...}` filled in; values from outside are listed, so that they are not printed. */
export interface Expanded {
  readonly text: string;
  /** The values from the environment or from files. */
  readonly secrets: readonly string[];
  /** What could not be filled in: a message and a remedy each. */
  readonly problems: readonly { readonly message: string; readonly remedy: string }[];
}

// Braces do not nest: inside is a name with an optional default, or a file.
const EXPANSION = /\$\$\{|\$\{([^{}]*)\}|\$\{/g;
const VARIABLE = /^([A-Za-z_]\w*)(?::-([^]*))?$/;

/**
 * Fills in `${NAME}`, `${NAME:-default}` and `${file:PATH}`; `$${` stands for `${` itself. Filled-in values are not
 * expanded again.
 */
export function expand(text: string, sources: ExpansionSources): Expanded {
  const secrets: string[] = [];
  const problems: Expanded['problems'][number][] = [];
  const filled = text.replaceAll(EXPANSION, (whole: string, inside: string | undefined) => {
    if (whole === '$${') return '${';
    const found = inside === undefined ? UNCLOSED : valueOf(inside, sources);
    if ('message' in found) {
      problems.push(found);
      return '';
    }
    if (found.isSecret && found.value !== '') secrets.push(found.value);
    return found.value;
  });
  return { text: filled, secrets, problems };
}

type Found =
  | { readonly value: string; readonly isSecret: boolean }
  | { readonly message: string; readonly remedy: string };

const UNCLOSED: Found = {
  message: 'has a "${" without its "}"',
  remedy: 'close it, or write "$${" for the characters themselves',
};

function valueOf(inside: string, { env, readSecret }: ExpansionSources): Found {
  if (inside.startsWith('file:')) return secretOf(inside.slice('file:'.length).trim(), readSecret);
  const [, name, fallback] = VARIABLE.exec(inside) ?? [];
  if (name === undefined) {
    return {
      message: 'has a "${...}" that holds neither the name of a variable nor "file:" and a path',
      remedy: 'write ${NAME}, ${NAME:-default} or ${file:PATH}, or "$${" for the characters themselves',
    };
  }
  const value = env[name];
  if (value !== undefined && value !== '') return { value, isSecret: true };
  if (fallback !== undefined) return { value: fallback, isSecret: false };
  return {
    message: `needs the environment variable ${name}, which is ${value === '' ? 'empty' : 'not set'}`,
    remedy: `set it, or give a default: \${${name}:-...}`,
  };
}

function secretOf(path: string, readSecret: ExpansionSources['readSecret']): Found {
  try {
    return { value: readSecret(path), isSecret: true };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    return {
      message: `needs the file ${path}, which ${reason}`,
      remedy: 'create it, or correct the path, which is relative to the configuration file',
    };
  }
}

/** From this many characters on, a value from outside is concealed. */
export const TELLING = 4;

/** A text with values from outside replaced by `${...}`. */
export function concealValues(text: string, values: readonly string[]): string {
  return values
    .filter(({ length }) => length >= TELLING)
    .toSorted((a, b) => b.length - a.length)
    .reduce((clean, value) => clean.replaceAll(value, () => '${...}'), text);
}
