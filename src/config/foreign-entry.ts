import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { isObject } from '../base/json.ts';
import { expand } from './expand.ts';

/** A server at an address. */
export interface UrlTarget {
  readonly kind: 'url';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly transport?: 'sse';
}

/** A server that is a program to start. */
export interface CommandTarget {
  readonly kind: 'command';
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly folder?: string;
}

/** Where a server is. */
export type Target = UrlTarget | CommandTarget;

/** A server in a file, as it is written there. */
export interface WrittenEntry {
  readonly entry: Readonly<Record<string, unknown>>;
  /** The folder that paths are relative to. */
  readonly folder: string;
  /** Whether `${file:PATH}` is filled in; only our own file has it. */
  readonly readsFiles: boolean;
  /** Where variables come from; the environment of this process unless set. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** What an entry means: where the server is, or why it cannot be used. */
export interface ReadEntry {
  readonly target?: Target;
  /** Why there is no target, as a sentence. */
  readonly problem?: string;
  readonly isDisabled: boolean;
  /** Values from outside the file, which are not to be shown. */
  readonly secrets: readonly string[];
}

/** Reads an entry of any known client: `mcpServers`, `servers`, `mcp` of opencode, `mcp_servers` of Codex. */
export function readEntry(written: WrittenEntry): ReadEntry {
  const { entry } = written;
  const isDisabled = entry['disabled'] === true || entry['enabled'] === false;
  const filling = new Filling(written);
  const url = entry['url'] ?? entry['serverUrl'] ?? entry['httpUrl'];
  const target = typeof url === 'string' ? urlTarget(url, entry, filling) : programTarget(entry, filling);
  const [problem] = filling.problems;
  const { secrets } = filling;
  if (problem !== undefined) return { problem, isDisabled, secrets };
  return target
    ? { target, isDisabled, secrets }
    : { problem: 'It names neither a command nor an address.', isDisabled, secrets };
}

function urlTarget(url: string, entry: WrittenEntry['entry'], filling: Filling): UrlTarget {
  const headers = filling.record(entry['headers'] ?? entry['http_headers']);
  for (const [name, variable] of Object.entries(textsIn(entry['env_http_headers'])))
    headers[name] = filling.variable(variable);
  const bearer = entry['bearer_token_env_var'];
  if (typeof bearer === 'string') headers['Authorization'] = `Bearer ${filling.variable(bearer)}`;
  const transport = entry['type'] === 'sse' ? { transport: 'sse' as const } : {};
  return { kind: 'url', url: filling.text(url), headers, ...transport };
}

function programTarget(entry: WrittenEntry['entry'], filling: Filling): CommandTarget | undefined {
  const [command, ...args] = [entry['command'], entry['args'] ?? []].flat(2);
  if (typeof command !== 'string' || command === '') return undefined;
  const folder = typeof entry['cwd'] === 'string' ? filling.text(entry['cwd']) : undefined;
  const env = filling.record(entry['env'] ?? entry['environment']);
  for (const name of [entry['env_vars'] ?? []].flat())
    if (typeof name === 'string') env[name] = filling.variable(name);
  return {
    kind: 'command',
    command: filling.text(command),
    args: args.filter((word) => typeof word === 'string').map((word) => filling.text(word)),
    env,
    ...(folder !== undefined && { folder: resolve(filling.folder, folder) }),
  };
}

/** Fills in `${NAME}` and what other clients call it. */
class Filling {
  readonly folder: string;
  readonly secrets: string[] = [];
  readonly problems: string[] = [];
  readonly #readsFiles: boolean;
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor({ folder, readsFiles, env = process.env }: WrittenEntry) {
    this.folder = folder;
    this.#readsFiles = readsFiles;
    this.#env = env;
  }

  text(text: string): string {
    const asked = /\$\{(?:input|command):([^}]*)\}/.exec(text);
    if (asked) {
      this.problems.push(
        `It asks for ${asked[0]}, which only an editor can: use \${NAME} of the environment.`,
      );
      return '';
    }
    const home = this.#env['HOME'] ?? homedir();
    const usual = text
      .replaceAll(/\$\{(?:workspaceFolder|workspaceRoot)\}/g, () => this.folder.replaceAll('${', '$${'))
      .replaceAll('${userHome}', () => home.replaceAll('${', '$${'))
      .replaceAll(
        /\$\{env[:.](\w+)\}|(?<![$\w])\{env:(\w+)\}/g,
        (_, own, other) => `\${${String(own ?? other)}}`,
      );
    const {
      text: filled,
      secrets,
      problems,
    } = expand(usual, {
      env: this.#env,
      readSecret: (path) => this.#readFile(path),
    });
    this.secrets.push(...secrets);
    this.problems.push(...problems.map(({ message, remedy }) => `It ${message}; ${remedy}.`));
    return filled;
  }

  variable(name: string): string {
    return this.text(`\${${name}}`);
  }

  record(value: unknown): Record<string, string> {
    const pairs = Object.entries(textsIn(value)).map(([name, text]) => [name, this.text(text)] as const);
    return Object.fromEntries(pairs);
  }

  #readFile(path: string): string {
    if (!this.#readsFiles) throw Object.assign(new Error(path), { code: 'only in toolcrib.yaml' });
    return readFileSync(resolve(this.folder, path), 'utf8').trim();
  }
}

function textsIn(value: unknown): Record<string, string> {
  if (!isObject(value)) return {};
  const pairs = Object.entries(value).flatMap(([name, text]) =>
    typeof text === 'string' || typeof text === 'number' ? [[name, String(text)] as const] : [],
  );
  return Object.fromEntries(pairs);
}
