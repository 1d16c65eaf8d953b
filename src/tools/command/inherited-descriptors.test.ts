import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import Libsql from 'libsql';
import { expect, onTestFinished, test } from 'vitest';

const HIGH = [20, 200];

/** Runs a program that was started with a secret file open under high numbers, and returns what it says. */
async function startedWithSecret(program: string, folder = scratch()): Promise<string> {
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'canary');
  const file = join(folder, 'program.ts');
  writeFileSync(file, program);
  const opened = openSync(secret, 'r');
  onTestFinished(() => closeSync(opened));
  const stdio = Array.from({ length: 201 }, (_, at) => (HIGH.includes(at) ? opened : ('ignore' as const)));
  const jiti = resolve(import.meta.dirname, '../../../node_modules/jiti/lib/jiti-cli.mjs');
  const child: ChildProcess = spawn(process.execPath, [jiti, file], {
    stdio: ['ignore', 'pipe', 'inherit', ...stdio.slice(3)],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said] = await Promise.all([child.stdout!.toArray(), once(child, 'exit')]);
  return Buffer.concat(said as Buffer[]).toString();
}

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-descriptors-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function source(path: string): string {
  return JSON.stringify(resolve(import.meta.dirname, path));
}

test('D5 a command does not inherit files that the gateway has open', async () => {
  const said = await startedWithSecret(`
    import { runCommandTool } from ${source('run-command.ts')};
    import { ToolRegistry } from ${source('../../core/registry.ts')};
    const list = { file: '/usr/bin/ls', description: 'Lists.', args: ['-l', '/proc/self/fd'] };
    const tool = runCommandTool({ folder: '/', commands: { list } });
    console.log((await new ToolRegistry().registerTool(tool).execute('run_command', { command: 'list' })).stdout);
  `);
  expect(said).toContain('200 -> /dev/null');
  expect(said).not.toContain('secret');
});

test('D5 control: a program that is started in the usual way inherits them', async () => {
  const said = await startedWithSecret(`
    import { execFileSync } from 'node:child_process';
    console.log(execFileSync('/usr/bin/ls', ['-l', '/proc/self/fd'], { encoding: 'utf8' }));
  `);
  for (const at of HIGH) expect(said).toMatch(new RegExp(`${at} -> .*secret`));
});

test('D5 the process that reads an SQLite file does not inherit them either', async () => {
  const folder = scratch();
  const file = join(folder, 'data.db');
  const owner = new Libsql(file);
  owner.exec('create table t (a)');
  owner.close();
  const said = await startedWithSecret(
    `
    import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
    import { openSqlite } from ${source('../sql/sqlite.ts')};
    const db = openSqlite(${JSON.stringify(file)});
    const { signal } = new AbortController();
    await db.query({ sql: 'select 1', values: [], maxRows: 1, maxBytes: 100, timeoutMs: 20_000, signal });
    // Whatever it is doing at the moment.
    const isChild = (pid) => readFileSync('/proc/' + pid + '/stat', 'latin1').split(') ').at(-1).split(' ')[1] === String(process.pid);
    for (const pid of readdirSync('/proc').filter((name) => Number(name) > 0)) {
      try {
        if (!isChild(pid)) continue;
      } catch { continue; }
      const folder = '/proc/' + pid + '/fd/';
      for (const at of readdirSync(folder)) console.log(at, '->', readlinkSync(folder + at));
    }
    await db.close();
  `,
    folder,
  );
  expect(said).toContain('200 -> /dev/null');
  expect(said).not.toContain('secret');
});
