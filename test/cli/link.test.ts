import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runCommandLine, type Run } from '../behaviour/run-command-line.ts';

interface Home {
  readonly path: (name: string) => string;
  readonly read: (name: string) => string;
  readonly run: (command: string, ...words: readonly string[]) => Promise<Run>;
}

function homeWith(files: Readonly<Record<string, string>> = {}): Home {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-home-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const path = (name: string): string => join(home, name);
  const all = { 'toolcrib.yaml': 'server: { name: crib }\n', ...files };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
  }
  const env = { HOME: home, XDG_CONFIG_HOME: path('.config') };
  return {
    path,
    read: (name) => readFileSync(path(name), 'utf8'),
    run: (command, ...words) =>
      runCommandLine(
        [command, ...words, ...(command === 'link' ? ['--config', path('toolcrib.yaml')] : [])],
        env,
      ),
  };
}

/** A file of each client as it is found on machines of users. */
const clients: readonly (readonly [client: string, file: string, text: string])[] = [
  [
    'claude-code',
    '.claude.json',
    `{
  "numStartups": 42,
  "tipsHistory": { "shift-enter": 12 },
  "mcpServers": {
    "github": { "type": "http", "url": "https://api.example/mcp/" }
  },
  "projects": {
    "/home/ada/shop": {
      "allowedTools": [],
      "mcpServers": {}
    }
  }
}
`,
  ],
  [
    'claude-desktop',
    '.config/Claude/claude_desktop_config.json',
    `{\n  "mcpServers": {\n    "files": {\n      "command": "npx",\n      "args": ["-y", "@a/files", "/tmp"]\n    }\n  },\n  "scale": 0\n}`,
  ],
  ['cursor', '.cursor/mcp.json', '{"mcpServers":{"a":{"url":"https://a.example/mcp"}}}'],
  [
    'vscode',
    '.config/Code/User/mcp.json',
    `{
\t// Servers of all workspaces
\t"inputs": [
\t\t{ "type": "promptString", "id": "key", "password": true },
\t],
\t"servers": {
\t\t"a": {
\t\t\t"type": "stdio", // local
\t\t\t"command": "a",
\t\t},
\t},
}
`,
  ],
  [
    'codex',
    '.codex/config.toml',
    `model = "gpt-5" # the usual one\napproval_policy = "on-request"\n\n[mcp_servers.docs]\ncommand = "npx"\nargs = ["-y", "docs"]\n\n[projects."/home/ada"]\ntrust_level = "trusted"\n`,
  ],
  [
    'opencode',
    '.config/opencode/opencode.json',
    `{\r\n  "$schema": "https://opencode.ai/config.json",\r\n  "mcp": {}\r\n}\r\n`,
  ],
  ['lm-studio', '.lmstudio/mcp.json', `{\n  "mcpServers": {}\n}\n`],
  [
    'gemini',
    '.gemini/settings.json',
    `{\n    "theme": "GitHub",\n    "selectedAuthType": "oauth-personal" /* mine */\n}\n`,
  ],
];

// Whether nothing was taken out or moved: the one text with more in between is the other.
function isWithin(before: string, after: string): boolean {
  let at = 0;
  for (const letter of after) if (letter === before[at]) at++;
  return at === before.length;
}

describe('toolcrib link', () => {
  test.each(clients)(
    '%s gets one working entry, and unlink restores the file',
    async (client, file, before) => {
      const home = homeWith({ [file]: before });
      chmodSync(home.path(file), 0o640);
      expect(await home.run('link', client)).toMatchObject({ code: 0, complaints: '' });
      const after = home.read(file);
      expect(statSync(home.path(file)).mode & 0o777).toBe(0o640);
      const { output } = await home.run('servers', '--json');
      const found = (JSON.parse(output) as { servers: { name: string; file: string; reached: string }[] })
        .servers;
      const reached = found.find(({ name }) => name === 'crib');
      expect(reached).toMatchObject({ file: home.path(file), state: 'ready' });
      expect(reached!.reached).toContain(`serve --stdio --config ${home.path('toolcrib.yaml')}`);
      expect(isWithin(before, after)).toBe(true);
      const [backup] = readdirSync(home.path('.config/toolcrib/backups'));
      expect(home.read(`.config/toolcrib/backups/${backup}`)).toBe(before);
      expect(statSync(home.path(`.config/toolcrib/backups/${backup}`)).mode & 0o077).toBe(0);

      expect((await home.run('link', client)).output).toContain('already');
      expect(home.read(file)).toBe(after);
      expect(await home.run('unlink', client)).toMatchObject({ code: 0, complaints: '' });
      expect(home.read(file)).toBe(before);
      expect(statSync(home.path(file)).mode & 0o777).toBe(0o640);
      expect(await home.run('unlink', client)).toMatchObject({ code: 1 });
      expect(home.read(file)).toBe(before);
    },
    30_000,
  );

  test.each(clients)('%s gets a new file if it has none, and unlink removes it', async (client, file) => {
    const home = homeWith();
    expect(await home.run('link', client)).toMatchObject({ code: 0 });
    expect(home.read(file)).toContain('crib');
    expect(statSync(home.path(file)).mode & 0o077).toBe(0);
    await home.run('unlink', client);
    expect(existsSync(home.path(file))).toBe(false);
  });

  test('unlink --print says what would be taken out and what becomes of the file, and changes nothing', async () => {
    const home = homeWith({ '.cursor/mcp.json': '{ "mcpServers": { "a": { "command": "a" } } }\n' });
    for (const client of ['cursor', 'gemini']) await home.run('link', client);
    const files = ['.cursor/mcp.json', '.gemini/settings.json', '.config/toolcrib/links.json'];
    const before = files.map(home.read);
    const kept = await home.run('unlink', 'cursor', '--print');
    expect(kept).toMatchObject({ code: 0, complaints: '' });
    expect(kept.output).toBe(
      `Cursor, ${home.path(files[0]!)}: "crib" would be taken out, and nothing else changed.\n`,
    );
    const removed = await home.run('unlink', 'gemini', '--print');
    expect(removed.output).toBe(
      `Gemini CLI, ${home.path(files[1]!)}: "crib" would be taken out, and the file removed with it.\n`,
    );
    expect(files.map(home.read)).toEqual(before);
    // What it says is what happens.
    for (const client of ['cursor', 'gemini']) await home.run('unlink', client);
    expect(home.read(files[0]!)).toBe('{ "mcpServers": { "a": { "command": "a" } } }\n');
    expect(existsSync(home.path(files[1]!))).toBe(false);
  });

  test('unlink keeps changes that others made since, and does not remove a file with other entries', async () => {
    const home = homeWith();
    await home.run('link', 'cursor');
    const other = JSON.parse(home.read('.cursor/mcp.json')) as { mcpServers: Record<string, unknown> };
    other.mcpServers['later'] = { command: 'later' };
    const changed = JSON.stringify(other, undefined, 1);
    writeFileSync(home.path('.cursor/mcp.json'), changed);
    await home.run('unlink', 'cursor');
    const backups = readdirSync(home.path('.config/toolcrib/backups'));
    expect(backups.map((file) => home.read(`.config/toolcrib/backups/${file}`))).toContain(changed);
    expect(JSON.parse(home.read('.cursor/mcp.json'))).toEqual({
      mcpServers: { later: { command: 'later' } },
    });
  });

  test('a new address replaces the old one, and the entry names a variable instead of the key', async () => {
    const home = homeWith({ '.cursor/mcp.json': '{}' });
    await home.run('link', 'cursor', '--name', 'crib');
    const url = 'http://127.0.0.1:8484/mcp';
    await home.run('link', 'cursor', '--name', 'crib', '--url', url, '--key-variable', 'CRIB_KEY');
    expect(JSON.parse(home.read('.cursor/mcp.json'))).toEqual({
      mcpServers: { crib: { url, headers: { Authorization: 'Bearer ${env:CRIB_KEY}' } } },
    });
    await home.run('unlink', 'cursor');
    expect(home.read('.cursor/mcp.json')).toBe('{}');
  });

  test.each([
    ['broken', '.cursor/mcp.json', '{"mcpServers": ', 'in line 1); correct it first.'],
    ['without servers', '.cursor/mcp.json', '{"mcpServers": null}', 'is no object; make it {} first.'],
    ['of somebody else under this name', '.cursor/mcp.json', '{"mcpServers":{"crib":{}}}', 'already'],
    ['with servers in one line', '.codex/config.toml', 'mcp_servers = {}\n', 'does not fit'],
  ])('a file that is %s is refused and not changed', async (_what, file, ...[text, message]) => {
    const home = homeWith({ [file]: text });
    const client = file.startsWith('.codex') ? 'codex' : 'cursor';
    expect(await home.run('link', client)).toMatchObject({
      code: 1,
      complaints: expect.stringContaining(message),
    });
    expect(home.read(file)).toBe(text);
    expect(existsSync(home.path('.config/toolcrib/backups'))).toBe(false);
  });

  test('a file that is not text is refused', async () => {
    const home = homeWith({ '.cursor/mcp.json': '' });
    writeFileSync(home.path('.cursor/mcp.json'), Buffer.from([0x7b, 0xff, 0x7d]));
    expect(await home.run('link', 'cursor')).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('not UTF-8'),
    });
  });

  test('a symbolic link is kept, and one that leads out of the home folder is followed only with consent', async () => {
    const home = homeWith({ 'dotfiles/mcp.json': '{}', '.cursor/other': '' });
    symlinkSync(home.path('dotfiles/mcp.json'), home.path('.cursor/mcp.json'));
    expect(await home.run('link', 'cursor')).toMatchObject({ code: 0 });
    expect(lstatSync(home.path('.cursor/mcp.json')).isSymbolicLink()).toBe(true);
    expect(home.read('dotfiles/mcp.json')).toContain('crib');
    await home.run('unlink', 'cursor');
    expect(home.read('dotfiles/mcp.json')).toBe('{}');

    const elsewhere = homeWith({ 'victim.json': '{}' });
    rmSync(home.path('.cursor/mcp.json'));
    symlinkSync(elsewhere.path('victim.json'), home.path('.cursor/mcp.json'));
    expect(await home.run('link', 'cursor')).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('outside of your home'),
    });
    expect(elsewhere.read('victim.json')).toBe('{}');
    expect(await home.run('link', 'cursor', '--yes')).toMatchObject({ code: 0 });
    expect(elsewhere.read('victim.json')).toContain('crib');
  });

  test('--print shows the entries of all clients and writes nothing', async () => {
    const home = homeWith();
    const { code, output } = await home.run('link', '--print');
    expect(code).toBe(0);
    for (const [, file] of clients) expect(output).toContain(`${home.path(file)}:\n`);
    expect(output).toContain('[mcp_servers.crib]');
    for (const [, file] of clients) expect(existsSync(home.path(file))).toBe(false);
  });

  test('an unknown client, and one that lacks the requested feature, are reported', async () => {
    const home = homeWith();
    expect(await home.run('link', 'nope')).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('cursor'),
    });
    expect(await home.run('link')).toMatchObject({ code: 1, complaints: expect.stringContaining('--print') });
    expect(await home.run('link', 'claude-desktop', '--url', 'http://127.0.0.1:1/mcp')).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('programs only'),
    });
    expect(await home.run('link', 'lm-studio', '--key-variable', 'K')).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('auth.stdio'),
    });
    expect(await home.run('unlink', 'cursor')).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('wrote nothing'),
    });
  });

  test('says which caller a client without a key is', async () => {
    const home = homeWith({ 'toolcrib.yaml': 'server: { name: crib }\nauth: { keys: {} }\naccess: []\n' });
    const { code, complaints } = await home.run('link', 'codex');
    expect(code).toBe(0);
    expect(complaints).toContain('is the caller "local", who has no roles; say --key-variable NAME');
    const named = await home.run('link', 'codex', '--key-variable', 'TOOLCRIB_KEY');
    expect(named).toMatchObject({ code: 0, complaints: '' });
    expect(home.read('.codex/config.toml')).toContain('env_vars = [ "TOOLCRIB_KEY" ]');
  });

  test('a client that passes variables on under their own names is linked with the one that is looked for', async () => {
    const home = homeWith();
    const other = ['link', 'codex', '--key-variable', 'CRIB_KEY'] as const;
    expect(await home.run(...other)).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('say --key-variable TOOLCRIB_KEY'),
    });
    expect(existsSync(home.path('.codex/config.toml'))).toBe(false);
    expect(await home.run(...other, '--url', 'http://127.0.0.1:1/mcp')).toMatchObject({ code: 0 });
    expect(home.read('.codex/config.toml')).toContain('bearer_token_env_var = "CRIB_KEY"');
  });

  test('a file that nobody may write is left alone, with what to do', async () => {
    const home = homeWith({ '.cursor/mcp.json': '{}' });
    const refused = {
      code: 1,
      complaints: expect.stringContaining('is read-only, so it stays as it is; make it writable first'),
    };
    chmodSync(home.path('.cursor/mcp.json'), 0o444);
    expect(await home.run('link', 'cursor')).toMatchObject(refused);
    expect(existsSync(home.path('.config/toolcrib'))).toBe(false);
    chmodSync(home.path('.cursor/mcp.json'), 0o644);
    await home.run('link', 'cursor');
    const linked = home.read('.cursor/mcp.json');
    chmodSync(home.path('.cursor/mcp.json'), 0o444);
    expect(await home.run('unlink', 'cursor')).toMatchObject(refused);
    expect(home.read('.cursor/mcp.json')).toBe(linked);
    expect(await home.run('unlink', 'cursor', '--print')).toMatchObject({ code: 0 });
  });

  test.skipIf(process.getuid?.() !== 0)('a file keeps its owner and group when root links it', async () => {
    const home = homeWith({ '.cursor/mcp.json': '{}' });
    chownSync(home.path('.cursor/mcp.json'), 1_000, 1_001);
    await home.run('link', 'cursor');
    expect(statSync(home.path('.cursor/mcp.json'))).toMatchObject({ uid: 1_000, gid: 1_001 });
  });

  test.each([
    ['the file', '.codex', '.codex/config.toml'],
    ['what is remembered', '.config/toolcrib', '.config/toolcrib/'],
  ])('a folder of %s that cannot be made is reported in one line', async (_, folder, named) => {
    const home = homeWith({ '.config/other': '' });
    symlinkSync(home.path('nowhere/at/all'), home.path(folder));
    const { code, complaints } = await home.run('link', 'codex');
    expect(code).toBe(1);
    expect(complaints).toMatch(
      /^toolcrib: [^\n]+ cannot be written \(E[A-Z]+\): see whether its folder [^\n]+\n$/,
    );
    expect(complaints).toContain(home.path(named));
    expect(existsSync(home.path('.codex/config.toml'))).toBe(false);
  });
});
