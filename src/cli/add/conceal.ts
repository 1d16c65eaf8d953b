import { Secrets } from '../../observe/secrets.ts';
import { literal, variableFrom } from './new-entry.ts';

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
    const own = referenceIn(value);
    if (own !== undefined) return own;
    if (!isSecret(name, value)) return literal(value);
    return this.#variable(name, `the value of ${name}`);
  }

  /** A header; nearly all of them are credentials. */
  header(name: string, value: string): string {
    const own = referenceIn(value);
    if (own !== undefined) return own;
    if (PLAIN_HEADERS.has(name.toLowerCase())) return literal(value);
    const scheme = /^(?:Bearer|Basic|Token) (?=\S)/i.exec(value)?.[0] ?? '';
    const inner = referenceIn(value.slice(scheme.length));
    if (inner !== undefined) return scheme + inner;
    const variable = variableFrom(this.#server, scheme === '' ? name : 'token');
    return (
      scheme + this.#variable(variable, `the header ${name}${scheme === '' ? '' : ' without its scheme'}`)
    );
  }

  /** A word of a command line; `before` is the word in front of it. */
  word(word: string, before: string | undefined): string {
    const own = referenceIn(word);
    if (own !== undefined) return own;
    const [, name = '', value] = /^(-{0,2}[\w.-]+)=([^]+)$/.exec(word) ?? [];
    if (value !== undefined && isSecret(name, value))
      return `${name}=${this.#variable(variableFrom(this.#server, name.replace(/^-+/, '')), `the value of ${name}`)}`;
    const option = before?.startsWith('-') === true ? before : '';
    if (!isSecret(option, word)) return literal(word);
    const called = option.replace(/^-+/, '') || 'argument';
    return this.#variable(variableFrom(this.#server, called), `the word after ${option || 'the command'}`);
  }

  /** An address; a password in it, or a secret behind the question mark, becomes a variable. */
  address(text: string): string {
    const own = referenceIn(text);
    if (own !== undefined) return own;
    if (!URL.canParse(text)) return literal(text);
    const url = new URL(text);
    const hasSecret =
      url.password !== '' || [...url.searchParams].some(([name, value]) => isSecret(name, value));
    return hasSecret ? this.#variable(variableFrom(this.#server, 'url'), 'the whole address') : literal(text);
  }

  #variable(name: string, what: string): string {
    this.variables.push({ name, what: `${what} in ${this.#where}` });
    return `\${${name}}`;
  }
}

// The whole value is a variable, in the writing of one of the clients.
function referenceIn(value: string): string | undefined {
  const match = /^(?:\$\{(?:env:)?(\w+)\}|\{env:(\w+)\}|\$([A-Z_]\w*))$/.exec(value.trim());
  const name = match?.[1] ?? match?.[2] ?? match?.[3];
  return name === undefined ? undefined : `\${${name}}`;
}

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
  if (value === '') return false;
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
