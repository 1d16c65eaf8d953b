import { resolve } from 'node:path';
import { isObject } from '../base/json.ts';
import { Filling, type EntryProblem, type FillOptions } from './fill-entry.ts';

/** What a file sets for a server beside where it is. */
interface TargetSettings {
  readonly protocol?: string;
  readonly timeoutMs?: number;
}

/** A server at an address. */
export interface UrlTarget extends TargetSettings {
  readonly kind: 'url';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly transport?: 'sse';
}

/** A server that is a program to start. */
export interface CommandTarget extends TargetSettings {
  readonly kind: 'command';
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly folder?: string;
}

/** Where a server is. */
export type Target = UrlTarget | CommandTarget;

/** A server in a file, as it is written there. */
export interface WrittenEntry extends FillOptions {
  readonly entry: unknown;
}

/** What an entry means: where the server is, or why it cannot be used. */
export interface ReadEntry {
  readonly target?: Target;
  /** Why there is no target, by places in the entry. */
  readonly problems: readonly EntryProblem[];
  /** The first of them as a sentence. */
  readonly problem?: string;
  readonly isDisabled: boolean;
  /** Values from outside the file, which are not to be shown. */
  readonly secrets: readonly string[];
}

type Entry = Readonly<Record<string, unknown>>;

/** Reads an entry of any known client: `mcpServers`, `servers`, `mcp` of opencode, `mcp_servers` of Codex. */
export function readEntry(written: WrittenEntry): ReadEntry {
  const { filled, ...known } = fillEntry(written);
  if (!filled) return known;
  const problems = problemsIn(filled);
  if (problems.length > 0) return { ...known, ...unusable(problems) };
  const filling = new Filling(written);
  const target = targetOf(filled, written.folder, filling);
  const secrets = [...known.secrets, ...filling.secrets];
  if (filling.problems.length > 0) return { ...known, ...unusable(filling.problems), secrets };
  return target ? { ...known, target, secrets } : { ...known, ...unusable([NEITHER]), secrets };
}

/** The first step alone: an entry with its `${...}` filled in, or why that cannot be done. */
export function fillEntry(written: WrittenEntry): ReadEntry & { readonly filled?: Entry } {
  const { entry } = written;
  if (!isObject(entry)) return { ...unusable([NO_GROUP]), isDisabled: false, secrets: [] };
  const filling = new Filling(written);
  const filled = filledIn(entry, filling);
  const isDisabled = entry['disabled'] === true || entry['enabled'] === false;
  const { secrets, problems } = filling;
  if (problems.length > 0) return { ...unusable(problems), isDisabled, secrets };
  return { filled, problems: [], isDisabled, secrets };
}

function unusable(problems: readonly EntryProblem[]): Pick<ReadEntry, 'problems' | 'problem'> {
  const [{ message, remedy } = NEITHER] = problems;
  return { problems, problem: `It ${message}${remedy === undefined ? '' : `; ${remedy}`}.` };
}

const NO_GROUP: EntryProblem = { path: [], message: 'must be a group of keys' };
const NEITHER: EntryProblem = {
  path: [],
  message: 'names neither a command nor an address',
  remedy: 'add "command" or "url"',
};

type Kind = 'text' | 'texts' | 'words' | 'group' | 'flag';

/** What clients write into an entry, as far as it is used here. */
const KEYS: Readonly<Record<string, Kind>> = {
  url: 'text',
  serverUrl: 'text',
  httpUrl: 'text',
  type: 'text',
  headers: 'group',
  http_headers: 'group',
  command: 'words',
  args: 'texts',
  env: 'group',
  environment: 'group',
  cwd: 'text',
  disabled: 'flag',
  enabled: 'flag',
};

/** The same for keys whose values are names of variables. */
const NAMING: Readonly<Record<string, Kind>> = {
  env_http_headers: 'group',
  bearer_token_env_var: 'text',
  env_vars: 'texts',
};

const WANTED: Readonly<Record<Kind, string>> = {
  text: 'must be text',
  texts: 'must be a list of texts',
  words: 'must be text, or a list of texts',
  group: 'must be a group of names with texts',
  flag: 'must be true or false',
};

function filledIn(entry: Entry, filling: Filling): Entry {
  return Object.fromEntries(
    Object.entries(entry).map(([key, value]) => [key, key in KEYS ? filling.value(value, [key]) : value]),
  );
}

// Other keys are the affair of the client whose file it is.
function problemsIn(entry: Entry): EntryProblem[] {
  const wrong = Object.entries({ ...KEYS, ...NAMING }).flatMap(([key, kind]): EntryProblem[] =>
    isOf(kind, entry[key]) ? [] : [{ path: [key], message: WANTED[kind] }],
  );
  const [key, url] = addressOf(entry);
  const isAddress = url === undefined || (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol));
  if (!isAddress) wrong.push({ path: [key], message: 'must be an http or https address' });
  return wrong;
}

function isOf(kind: Kind, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  switch (kind) {
    case 'text':
      return typeof value === 'string';
    case 'texts':
      return Array.isArray(value) && value.every(isPlain);
    case 'words':
      return typeof value === 'string' || (Array.isArray(value) && value.every(isPlain));
    case 'group':
      return isObject(value) && Object.values(value).every(isPlain);
    case 'flag':
      return typeof value === 'boolean';
  }
}

function isPlain(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

function addressOf(entry: Entry): readonly [key: string, url: string | undefined] {
  const key = ['url', 'serverUrl', 'httpUrl'].find((each) => typeof entry[each] === 'string') ?? 'url';
  return [key, entry[key] as string | undefined];
}

function targetOf(entry: Entry, folder: string, filling: Filling): Target | undefined {
  const [, url] = addressOf(entry);
  return url === undefined ? programTarget(entry, folder, filling) : urlTarget(url, entry, filling);
}

function urlTarget(url: string, entry: Entry, filling: Filling): UrlTarget {
  const headers = textsIn(entry['headers'] ?? entry['http_headers']);
  for (const [name, variable] of Object.entries(textsIn(entry['env_http_headers'])))
    headers[name] = filling.variable(variable, ['env_http_headers', name]);
  const bearer = entry['bearer_token_env_var'];
  if (typeof bearer === 'string')
    headers['Authorization'] = `Bearer ${filling.variable(bearer, ['bearer_token_env_var'])}`;
  return { kind: 'url', url, headers, ...(entry['type'] === 'sse' && { transport: 'sse' as const }) };
}

function programTarget(entry: Entry, folder: string, filling: Filling): CommandTarget | undefined {
  const [command, ...args] = [entry['command'] ?? [], entry['args'] ?? []].flat(2).map(String);
  if (command === undefined || command === '') return undefined;
  const env = textsIn(entry['env'] ?? entry['environment']);
  for (const [at, name] of ((entry['env_vars'] ?? []) as unknown[]).entries())
    env[String(name)] = filling.variable(String(name), ['env_vars', at]);
  const cwd = entry['cwd'];
  return {
    kind: 'command',
    command,
    args,
    env,
    ...(typeof cwd === 'string' && { folder: resolve(folder, cwd) }),
  };
}

function textsIn(value: unknown): Record<string, string> {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, String(text)]));
}
