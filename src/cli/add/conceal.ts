import { isCount } from '../../base/secret-spellings.ts';
import { Secrets } from '../../observe/secrets.ts';
import { inOne, literal, variableFrom } from './new-entry.ts';

/** Values that were replaced by variables. */
export interface Concealed {
  readonly name: string;
  readonly what: string;
}

/** Writes values of other files for our own: secrets become variables, and references keep their meaning. */
export class Concealing {
  readonly variables: Concealed[] = [];
  readonly #server: string;
  readonly #where: string;

  constructor(server: string, where: string) {
    this.#server = server;
    this.#where = where;
  }

  /** A variable of the environment of a program. */
  env(name: string, value: string): string {
    const own = referring(name, value);
    if (own !== undefined) return own;
    if (!isSecret(name, value)) return literal(value);
    return this.#variable(name, `the value of ${name}`);
  }

  /** A header; nearly all of them are credentials. */
  header(name: string, value: string): string {
    const scheme = SCHEME.exec(value)?.[0] ?? '';
    const isPlain = PLAIN_HEADERS.has(name.toLowerCase());
    const inner = referring(isPlain ? name : CREDENTIAL, value.slice(scheme.length));
    if (inner !== undefined) return scheme + inner;
    if (isPlain) return literal(value);
    const variable = variableFrom(this.#server, scheme === '' ? name : 'token');
    return (
      scheme + this.#variable(variable, `the header ${name}${scheme === '' ? '' : ' without its scheme'}`)
    );
  }

  /** A word of a command line; `before` is the word in front of it. */
  word(word: string, before: string | undefined): string {
    const option = before?.startsWith('-') === true ? before : '';
    const [, name = '', value] = /^(-{0,2}[\w.-]+)=([^]+)$/.exec(word) ?? [];
    const own = value === undefined ? referring(option, word) : referring(name, value);
    if (own !== undefined) return value === undefined ? own : `${name}=${own}`;
    if (value !== undefined && isSecret(name, value))
      return `${name}=${this.#variable(variableFrom(this.#server, name.replace(/^-+/, '')), `the value of ${name}`)}`;
    if (!isSecret(option, word)) return literal(word);
    const called = option.replace(/^-+/, '') || 'argument';
    return this.#variable(variableFrom(this.#server, called), `the word after ${option || 'the command'}`);
  }

  /** An address; a password in it, or a secret behind the question mark, becomes a variable. */
  address(text: string): string {
    // A variable holds no secret of the file, but its default may be one.
    const bare = text.replaceAll(REFERENCE, (whole) => /:-([^{}]*)\}$/.exec(whole)?.[1] ?? '');
    if (bare === '' || !URL.canParse(bare)) return spelled(text);
    const url = new URL(bare);
    const hasSecret =
      url.password !== '' || [...url.searchParams].some(([name, value]) => isSecret(name, value));
    return hasSecret ? this.#variable(variableFrom(this.#server, 'url'), 'the whole address') : spelled(text);
  }

  #variable(name: string, what: string): string {
    this.variables.push({ name, what: `${what} in ${this.#where}` });
    return `\${${name}}`;
  }
}

/**
 * Text of another client in the writing of our own: variables keep their meaning, all else stands for itself. What
 * stands in for a variable is left out where that, or the name of the text, tells of a secret.
 */
export function spelled(text: string, called = ''): string {
  const parts: string[] = [''];
  let from = 0;
  for (const found of text.matchAll(REFERENCE)) {
    const [whole, home, own, usual, fallback = '', inBraces, alone] = found;
    const name = home === undefined ? (own ?? usual ?? inBraces ?? alone!) : 'HOME';
    const shown = [name, called].some((one) => isSecret(one, fallback.slice(2))) ? '' : fallback;
    parts.push(literal(text.slice(from, found.index)), `\${${name}${shown}}`);
    from = found.index + whole.length;
  }
  return inOne([...parts, literal(text.slice(from))]);
}

/** A variable of the environment; text that cannot be the name of one stays as it is. */
export function reference(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `\${${name}}` : literal(`\${${name}}`);
}

// Values that hold variables, unless there is a secret beside them.
function referring(name: string, value: string): string | undefined {
  const rest = value.replaceAll(REFERENCE, '').trim();
  const isOther = rest === value.trim() || isSecret(name, rest.replace(SCHEME_ALONE, ''));
  return isOther ? undefined : spelled(value, name);
}

// How clients write a variable of the environment; an editor has others, such as the folder of a project.
const REFERENCE =
  /\$\{(?:(userHome)|env[:.]([A-Za-z_]\w*)|(?!workspace|userHome|pathSeparator)([A-Za-z_]\w*)(:-[^{}]*)?)\}|(?<![$\w])\{env:([A-Za-z_]\w*)\}|^\$([A-Z_]\w*)$/g;
const SCHEME = /^(?:Bearer|Basic|Token) (?=\S)/i;
const SCHEME_ALONE = /^(?:Bearer|Basic|Token)$/i;
const CREDENTIAL = 'credential';

const PLAIN_HEADERS = new Set([
  'accept',
  'accept-language',
  'content-type',
  'user-agent',
  'mcp-protocol-version',
]);
const TELLING_NAME = /key|token|secret|passw|pwd|auth|cred|cookie|session|signature|private|dsn|jwt|pat$/i;
const PLAIN_VALUE =
  /^(?:true|false|yes|no|on|off|\d{1,9}|[a-z]{1,12}|https?:\/\/[\w.:/-]*|[~.]{0,2}\/[\w./-]*)$/i;
const formats = new Secrets();

// Better one variable too many than one secret in a file that is shared.
function isSecret(name: string, value: string): boolean {
  if (value === '' || isCount(name, value)) return false;
  if (TELLING_NAME.test(name)) return true;
  if (formats.redact(value) !== value) return true;
  if (PLAIN_VALUE.test(value)) return false;
  return (
    value.length >= 20 &&
    /^[\w+/=.~-]+$/.test(value) &&
    /\d/.test(value) &&
    /[A-Za-z]/.test(value) &&
    !/[@.]\d/.test(value)
  );
}
