import { isAbsolute, resolve } from 'node:path';
import { isObject } from '../../base/json.ts';
import { Concealing, reference, spelled } from './conceal.ts';
import { isRelative, readCommand, type NewEntry, type Proposal } from './new-entry.ts';

/** A server as a file of another client has it. */
export interface ForeignEntry {
  readonly name: string;
  readonly entry: Readonly<Record<string, unknown>>;
  readonly file: string;
  /** Where its client starts programs; not known for files that are there for all projects. */
  readonly folder?: string | undefined;
}

/** An entry of another client in the words of our own file, without its secrets; `undefined` if it names no server. */
export function fromForeign({ name, entry, file, folder }: ForeignEntry): Proposal | undefined {
  const hide = new Concealing(name, `"${name}" of ${file}`);
  const url = entry['url'] ?? entry['serverUrl'] ?? entry['httpUrl'];
  const made = typeof url === 'string' ? fromUrl(url, entry, hide) : fromProgram(entry, hide, folder);
  if (!made) return undefined;
  const warnings = 'command' in made ? readCommand([made.command, ...(made.args ?? [])]).warnings : [];
  const asked = /\$\$\{[^{}]*\}/.exec(JSON.stringify(made))?.[0].slice(1);
  const asks = asked === undefined ? [] : [`Only the other client knows what ${asked} is; replace it.`];
  const isOff = entry['disabled'] === true || entry['enabled'] === false;
  return {
    name,
    entry: { ...made, ...(isOff && { disabled: true }) },
    variables: hide.variables,
    warnings: [...warnings, ...asks, ...pathWarnings(made)],
  };
}

function pathWarnings(made: NewEntry): readonly string[] {
  const path = 'command' in made && made.cwd === undefined ? made.args?.find(isRelative) : undefined;
  if (path === undefined) return [];
  return [`${path} is a relative path, and it is started in a folder of its own: write the absolute one.`];
}

function fromUrl(url: string, entry: ForeignEntry['entry'], hide: Concealing): NewEntry {
  const headers = mapped(entry['headers'] ?? entry['http_headers'], (key, value) => hide.header(key, value));
  for (const [header, variable] of Object.entries(texts(entry['env_http_headers'])))
    headers[header] = reference(variable);
  const bearer = entry['bearer_token_env_var'];
  if (typeof bearer === 'string') headers['Authorization'] = `Bearer ${reference(bearer)}`;
  return {
    ...(entry['type'] === 'sse' && { type: 'sse' }),
    url: hide.address(url),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}

function fromProgram(
  entry: ForeignEntry['entry'],
  hide: Concealing,
  folder: string | undefined,
): NewEntry | undefined {
  const { cwd } = entry;
  const place = typeof cwd === 'string' ? placeOf(cwd, folder) : undefined;
  const [command, ...words] = [entry['command'], entry['args'] ?? []].flat(2);
  if (typeof command !== 'string' || command === '') return undefined;
  const written = words.filter((word) => typeof word === 'string');
  const args = place === undefined ? written.map((word) => placed(word, folder)) : written;
  const env = mapped(entry['env'] ?? entry['environment'], (key, value) => hide.env(key, value));
  for (const variable of [entry['env_vars'] ?? []].flat())
    if (typeof variable === 'string') env[variable] = reference(variable);
  return {
    command: hide.word(placed(command, place ?? folder), undefined),
    ...(args.length > 0 && { args: args.map((word, at) => hide.word(word, args[at - 1])) }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(place !== undefined && { cwd: spelled(place) }),
  };
}

// Where it begins with a variable, only the client knows.
function placeOf(cwd: string, folder: string | undefined): string {
  return folder === undefined || cwd.startsWith('$') ? cwd : resolve(folder, cwd);
}

function placed(word: string, folder: string | undefined): string {
  return folder !== undefined && isAbsolute(folder) && isRelative(word) ? resolve(folder, word) : word;
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
