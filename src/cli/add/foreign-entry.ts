import { isObject } from '../../base/json.ts';
import { Concealing } from './conceal.ts';
import { readCommand, type NewEntry, type Proposal } from './new-entry.ts';

/** A server as a file of another client has it. */
export interface ForeignEntry {
  readonly name: string;
  readonly entry: Readonly<Record<string, unknown>>;
  readonly file: string;
}

/** An entry of another client in the words of our own file, without its secrets; `undefined` if it names no server. */
export function fromForeign({ name, entry, file }: ForeignEntry): Proposal | undefined {
  const hide = new Concealing(name, `"${name}" of ${file}`);
  const url = entry['url'] ?? entry['serverUrl'] ?? entry['httpUrl'];
  const made = typeof url === 'string' ? fromUrl(url, entry, hide) : fromProgram(entry, hide);
  if (!made) return undefined;
  const warnings = 'command' in made ? readCommand([made.command, ...(made.args ?? [])]).warnings : [];
  const asks = JSON.stringify(made).includes('${input:')
    ? ['It asks an editor for a value; replace ${input:...}.']
    : [];
  return { name, entry: made, variables: hide.variables, warnings: [...warnings, ...asks] };
}

function fromUrl(url: string, entry: ForeignEntry['entry'], hide: Concealing): NewEntry {
  const headers = mapped(entry['headers'] ?? entry['http_headers'], (key, value) => hide.header(key, value));
  for (const [header, variable] of Object.entries(texts(entry['env_http_headers'])))
    headers[header] = `\${${variable}}`;
  const bearer = entry['bearer_token_env_var'];
  if (typeof bearer === 'string') headers['Authorization'] = `Bearer \${${bearer}}`;
  return {
    ...(entry['type'] === 'sse' && { type: 'sse' }),
    url: hide.address(url),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}

function fromProgram(entry: ForeignEntry['entry'], hide: Concealing): NewEntry | undefined {
  const [command, ...words] = [entry['command'], entry['args'] ?? []].flat(2);
  if (typeof command !== 'string' || command === '') return undefined;
  const args = words.filter((word) => typeof word === 'string');
  const env = mapped(entry['env'] ?? entry['environment'], (key, value) => hide.env(key, value));
  for (const variable of [entry['env_vars'] ?? []].flat())
    if (typeof variable === 'string') env[variable] = `\${${variable}}`;
  const { cwd } = entry;
  return {
    command: hide.word(command, undefined),
    ...(args.length > 0 && { args: args.map((word, at) => hide.word(word, args[at - 1])) }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(typeof cwd === 'string' && { cwd }),
  };
}

function mapped(value: unknown, write: (key: string, text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(texts(value)).map(([key, text]) => [key, write(key, text)]));
}

function texts(value: unknown): Record<string, string> {
  if (!isObject(value)) return {};
  const pairs = Object.entries(value).flatMap(([key, text]) =>
    typeof text === 'string' || typeof text === 'number' ? [[key, String(text)] as const] : [],
  );
  return Object.fromEntries(pairs);
}
