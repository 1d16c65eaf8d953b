import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cli } from '../behaviour/child.ts';
import { within } from '../within.ts';
import { scratch } from './projects.ts';

test.each([
  ['npm start', ['npm', 'start']],
  ['npx toolcrib serve', ['npx', 'toolcrib', 'serve', '--listen', '127.0.0.1:0']],
])('SIGTERM to %s also stops the server', async (_, [command = '', ...args]) => {
  const folder = scratch();
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
  symlinkSync(cli, join(folder, 'node_modules/.bin/toolcrib'));
  const scripts = { start: 'toolcrib serve --listen 127.0.0.1:0' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'x', private: true, scripts }));
  const npm = spawn(command, args, { cwd: folder, detached: true });
  onTestFinished(() => endGroup(npm.pid!));
  let output = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await expect.poll(() => output, { timeout: 15_000 }).toContain('Ctrl-C');
  const url = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(output)![0];
  expect((await fetch(url)).status).toBeGreaterThan(0);
  // Its output ends with the last process that has it.
  const ended = new Promise((resolve) => npm.stdout.once('close', resolve));
  npm.kill('SIGTERM');
  await within(15_000, 'the end of the server', ended);
  expect(output).toContain('Stopping.');
  await expect(fetch(url)).rejects.toThrow();
});

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // Nobody is left.
  }
}
