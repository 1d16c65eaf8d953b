import { join } from 'node:path';
import { homeFolder, settingsFolder } from './places.ts';

/** The names of the clients whose files are known. */
export const clientNames = [
  'claude-code',
  'claude-desktop',
  'cursor',
  'vscode',
  'codex',
  'opencode',
  'lm-studio',
  'gemini',
] as const;

/** The name of a client whose file is known. */
export type ClientName = (typeof clientNames)[number];

/** Where a client keeps the servers of its user. */
export interface ClientFile {
  readonly name: ClientName;
  /** Its name for people. */
  readonly title: string;
  readonly file: string;
  readonly format: 'json' | 'toml';
  /** The member of the file that holds servers by name. */
  readonly member: string;
}

/** The files of all known clients, for this user. */
export function clientFiles(): readonly ClientFile[] {
  const [home, settings] = [homeFolder(), settingsFolder()];
  const apps = process.platform === 'darwin' ? join(home, 'Library/Application Support') : settings;
  const json = { format: 'json', member: 'mcpServers' } as const;
  return [
    { name: 'claude-code', title: 'Claude Code', file: join(home, '.claude.json'), ...json },
    {
      name: 'claude-desktop',
      title: 'Claude Desktop',
      file: join(apps, 'Claude/claude_desktop_config.json'),
      ...json,
    },
    { name: 'cursor', title: 'Cursor', file: join(home, '.cursor/mcp.json'), ...json },
    {
      name: 'vscode',
      title: 'VS Code',
      file: join(apps, 'Code/User/mcp.json'),
      format: 'json',
      member: 'servers',
    },
    {
      name: 'codex',
      title: 'Codex',
      file: join(home, '.codex/config.toml'),
      format: 'toml',
      member: 'mcp_servers',
    },
    {
      name: 'opencode',
      title: 'opencode',
      file: join(settings, 'opencode/opencode.json'),
      format: 'json',
      member: 'mcp',
    },
    { name: 'lm-studio', title: 'LM Studio', file: join(home, '.lmstudio/mcp.json'), ...json },
    { name: 'gemini', title: 'Gemini CLI', file: join(home, '.gemini/settings.json'), ...json },
  ];
}
