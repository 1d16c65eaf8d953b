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

/** What to paste into a client. */
export interface Entry {
  /** The clients that read it. */
  readonly clients: string;
  /** Where it goes. */
  readonly place: string;
  readonly text: string;
}

/** The environment variable that `toolcrib serve --stdio` reads its key from. */
export const KEY_VARIABLE = 'TOOLCRIB_KEY';

/** The entry for each client that can reach a server in this way. */
export function entriesFor(server: Reached): readonly Entry[] {
  return 'url' in server ? forUrl(server) : forCommand(server);
}

function forUrl({ name, url, key }: ReachedByUrl): readonly Entry[] {
  const headers = key !== undefined && { headers: { Authorization: `Bearer ${key}` } };
  const http = { type: 'http', url, ...headers };
  const variable = key === undefined ? '' : `\nbearer_token_env_var = "${KEY_VARIABLE}"`;
  return [
    {
      clients: 'Claude Code, Cursor',
      place: '.mcp.json, .cursor/mcp.json',
      text: json({ mcpServers: { [name]: http } }),
    },
    { clients: 'VS Code', place: '.vscode/mcp.json', text: json({ servers: { [name]: http } }) },
    {
      clients: 'Codex',
      place: '~/.codex/config.toml',
      text: `[mcp_servers.${tomlKey(name)}]\nurl = ${JSON.stringify(url)}${variable}`,
    },
    {
      clients: 'opencode',
      place: 'opencode.json',
      text: json({ mcp: { [name]: { type: 'remote', url, enabled: true, ...headers } } }),
    },
  ];
}

function forCommand({ name, command, args, key }: ReachedByCommand): readonly Entry[] {
  const variables = key === undefined ? undefined : { [KEY_VARIABLE]: key };
  const env = variables && { env: variables };
  const toml = key === undefined ? '' : `\nenv = { ${KEY_VARIABLE} = ${JSON.stringify(key)} }`;
  return [
    {
      clients: 'Claude Desktop, Claude Code, Cursor',
      place: 'claude_desktop_config.json, .mcp.json, .cursor/mcp.json',
      text: json({ mcpServers: { [name]: { command, args, ...env } } }),
    },
    {
      clients: 'VS Code',
      place: '.vscode/mcp.json',
      text: json({ servers: { [name]: { type: 'stdio', command, args, ...env } } }),
    },
    {
      clients: 'Codex',
      place: '~/.codex/config.toml',
      text: `[mcp_servers.${tomlKey(name)}]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}${toml}`,
    },
    {
      clients: 'opencode',
      place: 'opencode.json',
      text: json({
        mcp: {
          [name]: {
            type: 'local',
            command: [command, ...args],
            enabled: true,
            ...(variables && { environment: variables }),
          },
        },
      }),
    },
  ];
}

function json(value: object): string {
  return JSON.stringify(value);
}

function tomlKey(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}
