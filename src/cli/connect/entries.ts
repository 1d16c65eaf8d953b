import { isObject } from '../../base/json.ts';
import { shapeFor, type ToldServer } from './client-shapes.ts';

/** A server as a client reaches it: at an address, or as a program that the client starts. */
export type Reached = ReachedByUrl | ReachedByCommand;

/** A server at an address. */
export interface ReachedByUrl {
  readonly name: string;
  readonly url: string;
  /** The credential that is sent, if one is needed. */
  readonly key: string | undefined;
}

/** A server that a client starts. */
export interface ReachedByCommand {
  readonly name: string;
  /** Absolute, because clients start programs in folders of their own and without the PATH of a shell. */
  readonly command: string;
  readonly args: readonly string[];
  readonly key: string | undefined;
}

/** The text to paste into a client. */
export interface ClientSnippet {
  /** The clients that read it. */
  readonly clients: string;
  /** Where it goes. */
  readonly place: string;
  readonly text: string;
}

/** The entry for each client that can reach a server in this way. */
export function entriesFor(server: Reached): readonly ClientSnippet[] {
  return 'url' in server ? forUrl(server) : forCommand(server);
}

function forUrl({ name, url, key }: ReachedByUrl): readonly ClientSnippet[] {
  const told = { url, key: toldKey(key) };
  return [
    {
      clients: 'Claude Code, Cursor',
      place: '.mcp.json, .cursor/mcp.json',
      text: json({ mcpServers: { [name]: shapeFor('claude-code', told) } }),
    },
    ...forOthers(name, told),
  ];
}

function forCommand({ name, command, args, key }: ReachedByCommand): readonly ClientSnippet[] {
  const told = { command, args, key: toldKey(key) };
  return [
    {
      clients: 'Claude Desktop, Claude Code, Cursor',
      place: 'claude_desktop_config.json, .mcp.json, .cursor/mcp.json',
      text: json({ mcpServers: { [name]: shapeFor('claude-desktop', told) } }),
    },
    ...forOthers(name, told),
  ];
}

function forOthers(name: string, told: ToldServer): readonly ClientSnippet[] {
  return [
    {
      clients: 'VS Code',
      place: '.vscode/mcp.json',
      text: json({ servers: { [name]: shapeFor('vscode', told) } }),
    },
    {
      clients: 'Codex',
      place: '~/.codex/config.toml',
      text: [`[mcp_servers.${tomlKey(name)}]`, ...tomlLines(shapeFor('codex', told))].join('\n'),
    },
    {
      clients: 'opencode',
      place: 'opencode.json',
      text: json({ mcp: { [name]: shapeFor('opencode', told) } }),
    },
  ];
}

function toldKey(key: string | undefined): ToldServer['key'] {
  return key === undefined ? undefined : { text: key, variable: undefined };
}

function json(value: object): string {
  return JSON.stringify(value);
}

// Texts and lists of texts are the same in JSON; a table has to stay on one line.
function tomlLines(entry: object): readonly string[] {
  return Object.entries(entry).map(([key, value]) =>
    isObject(value)
      ? `${tomlKey(key)} = { ${tomlLines(value).join(', ')} }`
      : `${tomlKey(key)} = ${JSON.stringify(value)}`,
  );
}

function tomlKey(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}
