/** What a `WWW-Authenticate` header says about signing in. */
export interface ReadChallenge {
  /** Whether tokens have to be bound to a key: the server offers DPoP and nothing else. */
  readonly needsDpop: boolean;
  /** Where the server's metadata is. */
  readonly resourceMetadata: string | undefined;
  /** The scopes the request needs. */
  readonly scopes: readonly string[] | undefined;
  readonly error: string | undefined;
}

const MAX_LENGTH = 8_192;
const TOKEN = /[!#$%&'*+\-.^_`|~\w]+/y;
const SPACE = /[ \t]*/y;
const BETWEEN = /[ \t,]*/y;

/** Reads the challenges for bearer and DPoP tokens; anything that cannot be read says nothing. */
export function readChallenge(header: string | undefined): ReadChallenge {
  const challenges = parse(header === undefined || header.length > MAX_LENGTH ? '' : header);
  const known = challenges.filter(({ scheme }) => scheme === 'bearer' || scheme === 'dpop');
  const find = (name: string): string | undefined =>
    known.map(({ parameters }) => parameters.get(name)).find((value) => value !== undefined);
  const scopes = find('scope')?.split(' ').filter(Boolean);
  return {
    needsDpop: known.length > 0 && known.every(({ scheme }) => scheme === 'dpop'),
    resourceMetadata: find('resource_metadata'),
    scopes: scopes?.length ? scopes : undefined,
    error: find('error'),
  };
}

interface Parsed {
  readonly scheme: string;
  readonly parameters: Map<string, string>;
}

// RFC 9110, "WWW-Authenticate": a list of schemes, each with a list of parameters, both with commas between.
function parse(text: string): readonly Parsed[] {
  const found: Parsed[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) at = pattern.lastIndex;
    return match ?? undefined;
  };
  for (;;) {
    take(BETWEEN);
    const name = take(TOKEN)?.[0].toLowerCase();
    if (name === undefined) return found;
    const afterName = at;
    take(SPACE);
    if (text[at] !== '=') {
      at = afterName;
      found.push({ scheme: name, parameters: new Map() });
      continue;
    }
    at++;
    take(SPACE);
    const quoted = readQuoted(text, at);
    if (quoted) at = quoted.end;
    const value = quoted?.value ?? take(TOKEN)?.[0];
    // A credential such as "abc==" has the look of a parameter without a value.
    if (value === undefined) while (text[at] === '=') at++;
    else found.at(-1)?.parameters.set(name, value);
  }
}

// A quoted text that begins here; a backslash makes the next character literal.
function readQuoted(
  text: string,
  start: number,
): { readonly value: string; readonly end: number } | undefined {
  if (text[start] !== '"') return undefined;
  let value = '';
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '"') return { value, end: at + 1 };
    if (text[at] === '\\') at++;
    value += text[at] ?? '';
  }
  return undefined;
}
