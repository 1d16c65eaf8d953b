import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { entriesFor } from '../../src/cli/connect/entries.ts';
import { cli } from '../behaviour/child.ts';
import { admitAll } from '../gateway.ts';
import { prepare, serve } from '../served.ts';

const files = {
  'tools/greet.ts': `import { defineTool } from 'toolcrib';
export const greet = defineTool({ name: 'greet', description: 'Greets.' }, (_, { caller }) => 'Hello ' + caller.id);`,
};

/** The parts of a server in a client's file, whatever that client calls them. */
interface ClientEntry {
  readonly url?: string;
  readonly headers?: Record<string, string>;
  readonly command?: string | [string, ...string[]];
  readonly args?: string[];
  readonly env?: Record<string, string>;
  readonly environment?: Record<string, string>;
}

const formats = [
  { client: 'Claude Code', start: '{"mcpServers"', pick: (file: Parsed) => file.mcpServers },
  { client: 'VS Code', start: '{"servers"', pick: (file: Parsed) => file.servers },
  { client: 'opencode', start: '{"mcp"', pick: (file: Parsed) => file.mcp },
];
type Parsed = Partial<Record<'mcpServers' | 'servers' | 'mcp', Record<string, ClientEntry>>>;

/** The entries of a client among all that was printed, with a key in its place. */
function printed(text: string, format: (typeof formats)[number], key: string): ClientEntry[] {
  const lines = text.split('\n').map((line) => line.trim());
  const entries = lines.filter((line) => line.startsWith(format.start));
  return entries.map((line) => Object.values(format.pick(JSON.parse(line.replace('YOUR-KEY', key)))!)[0]!);
}

async function callBy(entry: ClientEntry): Promise<string> {
  const [command, ...rest] = [entry.command ?? []].flat();
  const transport =
    entry.url === undefined
      ? new StdioClientTransport({
          command: command!,
          args: entry.args ?? rest,
          env: { ...(entry.env ?? entry.environment) },
          stderr: 'ignore',
        })
      : new StreamableHTTPClientTransport(new URL(entry.url), {
          requestInit: { headers: entry.headers ?? {} },
        });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['greet']);
  const { content } = await client.callTool({ name: 'greet', arguments: {} });
  return (content as { text: string }[])[0]!.text;
}

describe('with the entries that serve prints,', () => {
  test('the official client connects in the format of every client, over HTTP and as a program', async () => {
    const { greeting, keys } = await serve({ files });
    for (const format of formats) {
      const entries = printed(greeting, format, keys.ada);
      expect(entries.length).toBeGreaterThan(0);
      for (const entry of entries) expect(await callBy(entry)).toBe('Hello ada');
    }
    expect(printed(greeting, formats[0]!, keys.ada)).toMatchObject([
      { type: 'http' },
      { command: process.execPath },
    ]);
    expect(greeting).toMatch(
      /\[mcp_servers\.toolcrib\]\n +url = "http.*"\n +bearer_token_env_var = "TOOLCRIB_KEY"\n/,
    );
  });

  test('a server with a public address is reached by that address', async () => {
    const { greeting, url } = await serve({
      files,
      config: { server: { listen: '127.0.0.1:0', publicUrl: 'https://tools.example' } },
    });
    expect(greeting).toContain(` at https://tools.example/mcp, from ${url}\n`);
    expect(printed(greeting, formats[1]!, 'k')).toMatchObject([{ url: 'https://tools.example/mcp' }]);
    expect(greeting).toContain('--cli https://tools.example/mcp ');
  });

  test('serve --stdio at a terminal explains itself, and its entries work', async () => {
    const folder = prepare({ files });
    const { ada } = await admitAll(folder);
    const shown = await atTerminal(['serve', '--stdio', '--config', join(folder, 'toolcrib.yaml')], 'Ctrl-D');
    expect(shown).toContain('A client usually starts this command by itself.');
    for (const format of formats) {
      const [entry] = printed(shown, format, ada);
      expect(await callBy(entry!)).toBe('Hello ada');
    }
  });
});

test('docs/clients.md has the same entries that are printed', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/clients.md'), 'utf8');
  const blocks = [...page.matchAll(/```(?:json|toml)\n([^]*?)```/g)].map(([, block = '']) => block.trim());
  const compact = blocks.map((block) => (block.startsWith('{') ? JSON.stringify(JSON.parse(block)) : block));
  const name = 'toolcrib';
  const key = 'YOUR-KEY';
  const args = ['/srv/tools/node_modules/toolcrib/dist/cli/main.js', 'serve', '--stdio'];
  const program = {
    name,
    command: '/usr/bin/node',
    args: [...args, '--config', '/srv/tools/toolcrib.yaml'],
    key,
  };
  const entries = [...entriesFor({ name, url: 'http://127.0.0.1:8484/mcp', key }), ...entriesFor(program)];
  expect(compact).toEqual(entries.map(({ text }) => text));
});

/** What a command shows at a terminal, on standard error alone, up to a text. */
async function atTerminal(args: readonly string[], end: string): Promise<string> {
  const words = [process.execPath, cli, ...args].map((word) => `'${word}'`);
  const command = `stty cols 2000; ${words.join(' ')} 2>&1 >/dev/null`;
  const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  await expect.poll(() => shown, { timeout: 15_000 }).toContain(end);
  child.stdin.write('\u0003');
  await new Promise((done) => child.once('close', done));
  return shown.replaceAll('\r', '');
}
