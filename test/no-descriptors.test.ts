import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import Libsql from 'libsql';
import { expect, onTestFinished, test } from 'vitest';

// Far enough from the others that Node.js does not find and hide it by itself.
const HANDED_ON = 60;

// A program of its own, because a process that has no descriptors left cannot run tests either.
const program = `
  import { closeSync, openSync } from 'node:fs';
  import { createServer, localCaller, ToolRegistry } from 'toolcrib';
  import { openSqlite, runCommandTool } from 'toolcrib/tools';

  const [, folder, database] = process.argv;
  const command = { file: '/bin/echo', description: 'Shows its arguments.', args: ['hello'] };
  const inherited = { file: '/usr/bin/readlink', description: 'Shows what it was handed.', args: ['/proc/self/fd/${HANDED_ON}'] };
  const tool = runCommandTool({ folder, commands: { echo: command, inherited } });
  const server = createServer({ source: new ToolRegistry().registerTool(tool), log: () => {} });
  const patience = { maxRows: 1, maxBytes: 1_000, timeoutMs: 10_000, signal: new AbortController().signal };
  let id = 0;
  const run = async (command = 'echo') => {
    const params = { name: 'run_command', arguments: { command } };
    const message = { jsonrpc: '2.0', id: ++id, method: 'tools/call', params };
    const { result } = await server.handle(message, { caller: localCaller });
    return result.isError ? result.content[0].text : result.structuredContent.stdout;
  };
  const query = async () => {
    const driver = openSqlite(database);
    try {
      const { rows } = await driver.query({ sql: 'select 1', values: [], ...patience });
      return String(rows);
    } catch (error) {
      return error.message;
    } finally {
      await driver.close();
    }
  };
  const uncaught = [];
  process.on('uncaughtException', (error) => uncaught.push(error.stack));
  process.on('unhandledRejection', (error) => uncaught.push(error.stack));
  const without = [];
  const held = [];
  const hold = () => { try { for (;;) held.push(openSync('/dev/null', 'r')); } catch {} };
  hold();
  without.push(...await Promise.all([run(), query(), run(), query()]));
  // One after the other is given back, so that some of what a program needs can be had and some cannot.
  for (let count = 1; count <= 8; count++) {
    hold();
    for (let given = 0; given < count; given++) closeSync(held.pop());
    without.push(await run(), await query());
  }
  for (const descriptor of held) closeSync(descriptor);
  console.log(JSON.stringify({ without, uncaught, after: [await run(), await query(), await run('inherited')] }));
  process.exit();
`;

type Said = Readonly<Record<'without' | 'uncaught' | 'after', readonly string[]>>;

test('without descriptors commands and queries fail with words, the process lives, and afterwards they work and are handed nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-descriptors-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const database = join(folder, 'some.db');
  const db = new Libsql(database);
  db.exec('create table t (a)');
  db.close();
  const limited = [
    '-c',
    'ulimit -n 300 && exec "$0" "$@"',
    process.execPath,
    '--input-type=module',
    '--eval',
  ];
  const handedOn = openSync(import.meta.filename, 'r');
  onTestFinished(() => closeSync(handedOn));
  const child = spawn('/bin/sh', [...limited, program, folder, database], {
    cwd: join(import.meta.dirname, '..'),
    stdio: ['ignore', 'pipe', 'inherit', ...Array<'ignore'>(HANDED_ON - 3).fill('ignore'), handedOn],
    timeout: 60_000,
  });
  const { without, uncaught, after } = JSON.parse(await text(child.stdout!)) as Said;
  expect(uncaught).toEqual([]);
  expect(after).toEqual(['hello\n', '1', '/dev/null\n']);
  const [command, query] = [
    'echo could not be started; ask the operator to check it.',
    'The database cannot be reached; try again later.',
  ];
  expect(without).toContain(command);
  expect(without).toContain(query);
  expect(without.filter((said) => !['hello\n', '1', command, query].includes(said))).toEqual([]);
}, 70_000);
