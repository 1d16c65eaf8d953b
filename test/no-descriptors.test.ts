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
  import { connectStdio } from 'toolcrib/node';
  import { openSqlite, runCommandTool, transformDataTool } from 'toolcrib/tools';

  const [, folder, database] = process.argv;
  const command = { file: '/bin/echo', description: 'Shows its arguments.', args: ['hello'] };
  const inherited = { file: '/usr/bin/readlink', description: 'Shows what it was handed.', args: ['/proc/self/fd/${HANDED_ON}'] };
  const tool = runCommandTool({ folder, commands: { echo: command, inherited } });
  const registry = new ToolRegistry().registerTool(tool, transformDataTool());
  const server = createServer({ source: registry, log: () => {} });
  const patience = { maxRows: 1, maxBytes: 1_000, timeoutMs: 10_000, signal: new AbortController().signal };
  let id = 0;
  const call = async (name, args) => {
    const message = { jsonrpc: '2.0', id: ++id, method: 'tools/call', params: { name, arguments: args } };
    const { result } = await server.handle(message, { caller: localCaller });
    return result.isError ? { stdout: result.content[0].text } : result.structuredContent;
  };
  const run = async (command = 'echo') => (await call('run_command', { command })).stdout;
  const transform = async () => {
    const { data, stdout, message } = await call('transform_data', { data: '[1]' });
    return stdout?.replace(/ \\(incident .*\\)/, '') ?? message ?? JSON.stringify(data);
  };
  const connect = async () => {
    try {
      const client = await connectStdio(process.execPath, ['-e', \`\${program}\`]);
      await client.close();
      return 'connected';
    } catch (error) {
      return error.message.replace(/^.*(?= could not)/, 'it');
    }
  };
  const program = \`
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const result = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: {}, ttlMs: 0, cacheScope: 'private' };
      console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result }));
    });\`;
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
  without.push(...await Promise.all([run(), query(), run(), query(), connect(), transform()]));
  // One after the other is given back, so that some of what a program needs can be had and some cannot.
  for (let count = 1; count <= 8; count++) {
    hold();
    for (let given = 0; given < count; given++) closeSync(held.pop());
    without.push(await run(), await query(), await connect(), await transform());
  }
  for (const descriptor of held) closeSync(descriptor);
  console.log(JSON.stringify({ without, uncaught, after: [await run(), await query(), await run('inherited'), await connect(), await transform()] }));
  process.exit();
`;

type Said = Readonly<Record<'without' | 'uncaught' | 'after', readonly string[]>>;

test('without free file descriptors programs, queries and threads fail with a message, the process survives, and all work later', async () => {
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
  expect(after).toEqual(['hello\n', '1', '/dev/null\n', 'connected', '[1]']);
  const failures = [
    'echo could not be started; ask the operator to check it.',
    'The database cannot be reached; try again later.',
    'it could not be started (EMFILE).',
  ];
  expect(without).toEqual(expect.arrayContaining(failures));
  const others = ['it could not be started.', 'transform_data failed unexpectedly.'];
  expect([...after, ...failures, ...others]).toEqual(expect.arrayContaining([...without]));
}, 70_000);
