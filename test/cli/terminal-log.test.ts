import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cli, startNode } from '../behaviour/child.ts';
import { prepare } from '../served.ts';

// Fails outside of any call as soon as it is loaded, with our own functions on the stack.
const files = {
  'tools/broken.ts': `import { defineTool, ToolRegistry } from 'toolcrib';
export const broken = defineTool({ name: 'get_broken', description: 'x' }, () => 'x');
setTimeout(() => new ToolRegistry().registerTool(broken, broken), 1_000);`,
};
const config = { auth: undefined as never, access: undefined as never };

test('at a terminal a log event is one readable line, with the names of our own functions below it', async () => {
  const file = join(prepare({ files, config }), 'toolcrib.yaml');
  const command = `stty cols 500; '${process.execPath}' '${cli}' serve --config '${file}' 2>&1 >/dev/null`;
  const env = { ...process.env, NO_COLOR: '1' };
  const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['ignore', 'pipe', 'ignore'], env });
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  await new Promise((done) => child.once('close', done));
  const lines = shown.replaceAll('\r', '').split('\n');
  const event = lines.findIndex((line) => line.includes('Something failed outside of any call'));
  expect(lines[event]).toMatch(/^\d\d:\d\d:\d\d ERROR Something failed outside of any call[^{}]*$/);
  expect(lines[event + 1]).toMatch(/^ {4}cause: .*ToolcribError.*get_broken/);
  expect(lines.slice(event + 2).join('\n')).toMatch(/^ {8}at ToolRegistry\.registerTool /m);
});

test('in a pipe the log is JSON, with the same names', async () => {
  const file = join(prepare({ files, config }), 'toolcrib.yaml');
  const child = startNode([cli, 'serve', '--config', file]);
  expect(await child.exit).toMatchObject({ code: 1 });
  const entries = child.complaints().trim().split('\n');
  const event = entries.map((line) => JSON.parse(line)).find(({ level }) => level === 'error');
  expect(event.cause).toMatch(/ToolcribError[^]*at ToolRegistry\.registerTool /);
});
