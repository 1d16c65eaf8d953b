import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { within } from '../within.ts';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const [tool = ''] = blocks('ts');
const [configuration = ''] = blocks('yaml');
const commands = blocks('sh').at(-1)!.trim().split('\n');
const MS = 300_000;

let place: string;
let clone: string;
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'toolcrib-package-'));
  clone = cloneTo(join(place, 'clone'));
  return () => rmSync(place, { recursive: true, force: true });
}, MS);

test(
  'npm ci in a fresh clone builds, without an engine warning on this version of Node',
  () => {
    expect(npm(clone, 'ci')).not.toMatch(/EBADENGINE/);
    expect(existsSync(join(clone, 'dist/cli/main.js'))).toBe(true);
  },
  MS,
);

test(
  'npm pack of a clone that was not built makes a package in which the README works',
  async () => {
    rmSync(join(clone, 'dist'), { recursive: true, force: true });
    npm(clone, 'pack', '--pack-destination', place);
    const folder = project('packed');
    npm(folder, 'install', 'zod', 'jiti', join(place, 'toolcrib-0.1.0.tgz'));

    writeFileSync(join(folder, 'dice.ts'), tool.replace('port: 8484', 'port: 0'));
    expect(await roll(await start(folder, 'npx jiti dice.ts'))).toEqual(['roll_dice']);

    mkdirSync(join(folder, 'tools'));
    const definition = tool
      .slice(0, tool.indexOf('const server'))
      .replace('const rollDice', 'export const rollDice');
    writeFileSync(join(folder, 'tools/dice.ts'), definition);
    writeFileSync(join(folder, 'toolcrib.yaml'), configuration);
    const printed: string[] = [];
    for (const command of commands) {
      if (command !== 'npx toolcrib serve') {
        printed.push(
          execFileSync('/bin/sh', ['-c', command], { cwd: folder, encoding: 'utf8', timeout: MS }),
        );
        continue;
      }
      const key = /tck_\w+/.exec(printed.join('\n'))![0];
      expect(await roll(await start(folder, `${command} --listen 127.0.0.1:0`), key)).toEqual(['roll_dice']);
    }
    expect(printed.join('\n')).toMatch(/roll_dice.*done/);
    expect(printed.at(-1)).toContain('The record is good');
  },
  MS,
);

test(
  'npm install from git makes a built package',
  () => {
    const folder = project('from-git');
    npm(folder, 'install', `git+file://${clone}`);
    const shown = execFileSync('npx', ['toolcrib', '--version'], {
      cwd: folder,
      encoding: 'utf8',
      timeout: MS,
    });
    expect(shown).toBe('0.1.0\n');
  },
  MS,
);

test(
  'a project that toolcrib init makes in a clone depends on that clone, and passes its test and its check',
  () => {
    const folder = join(place, 'begun');
    execFileSync(process.execPath, [join(clone, 'dist/cli/main.js'), 'init', folder, '--yes'], {
      timeout: MS,
    });
    npm(folder, 'install');
    expect(npm(folder, 'test')).toMatch(/pass [23]\n/);
    npm(folder, 'run', 'check');
    // A rebuild leaves a command that can be run.
    npm(clone, 'run', 'build');
    expect(execFileSync('npx', ['toolcrib', '--version'], { cwd: folder, encoding: 'utf8' })).toBe('0.1.0\n');
  },
  MS,
);

function blocks(language: string): string[] {
  return [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(
    ([, code = '']) => code,
  );
}

/** What a commit of everything that is here would be. */
function cloneTo(folder: string): string {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=ada', '-c', 'user.email=ada@example.com', ...args], {
      cwd: folder,
      encoding: 'utf8',
    });
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const files = execFileSync('git', listed, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
  for (const file of files) {
    if (!existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'all');
  return folder;
}

function project(name: string): string {
  const folder = join(place, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  return folder;
}

/** All that npm writes, to both of its outputs. */
function npm(folder: string, ...args: readonly string[]): string {
  const command = ['npm', ...args, '--prefer-offline', '--no-audit', '--no-fund', '2>&1'].join(' ');
  return execFileSync('/bin/sh', ['-c', command], { cwd: folder, encoding: 'utf8', timeout: MS });
}

/** The address that a command tells; it is ended with the test. */
async function start(folder: string, command: string): Promise<string> {
  const child = spawn('/bin/sh', ['-c', command], { cwd: folder, detached: true });
  onTestFinished(() => void process.kill(-child.pid!, 'SIGKILL'));
  let output = '';
  const told = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const url = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(output)?.[0];
      if (url !== undefined) resolve(url);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('close', () => reject(new Error(`"${command}" ended: ${output}`)));
  });
  return within(60_000, `the address of "${command}"`, told);
}

/** Calls the tool of the README, and tells which tools there are. */
async function roll(url: string, key?: string): Promise<string[]> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const client = new Client({ name: 'reader', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const { tools } = await client.listTools();
  const { structuredContent } = await client.callTool({ name: 'roll_dice', arguments: { count: 2 } });
  expect(structuredContent).toMatchObject({ rolls: [expect.any(Number), expect.any(Number)] });
  await client.close();
  return tools.map(({ name }) => name);
}
