import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cli } from '../behaviour/child.ts';
import { scratch } from '../cli/projects.ts';
import { call, setUpRun } from './run-setup.ts';
import { atTerminal, type Terminal } from './terminal.ts';

// A server that notes what it hears, answers no call, and does not end when it is asked to.
const STUBBORN = `
const { appendFileSync } = require('node:fs');
const note = (text) => appendFileSync(process.argv[2], text + '\\n');
const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});
setInterval(() => {}, 1_000);
const tools = [{ name: 'wait', description: 'Waits.', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }];
const handlers = {
  initialize: ({ id, params }) => send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } }),
  'tools/list': ({ id }) => send({ id, result: { tools } }),
  'tools/call': () => note('called ' + process.pid),
  'notifications/cancelled': () => note('cancelled'),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  const handler = handlers[message.method];
  if (handler) handler(message);
  else if (message.id !== undefined) send({ id: message.id, error: { code: -32601, message: 'Unknown.' } });
});
`;

interface Stubborn {
  readonly terminal: Terminal;
  /** Waits until the server noted something. */
  heard(text: string): Promise<void>;
  readonly isRunning: () => boolean;
}

type Start = (
  server: readonly [script: string, notes: string],
  folder: string,
) => Terminal | Promise<Terminal>;

async function startStubborn(start: Start): Promise<Stubborn> {
  const folder = scratch();
  const [script, notes] = [join(folder, 'stubborn.cjs'), join(folder, 'notes.txt')];
  writeFileSync(script, STUBBORN);
  const noted = (): string => (existsSync(notes) ? readFileSync(notes, 'utf8') : '');
  return {
    terminal: await start([script, notes], folder),
    heard: (text) => expect.poll(noted, { timeout: 15_000 }).toContain(text),
    isRunning: () => {
      const pid = Number(/called (\d+)/.exec(noted())![1]);
      try {
        return process.kill(pid, 0) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
      } catch {
        return false;
      }
    },
  };
}

const starts: readonly [command: string, start: Start][] = [
  [
    'toolcrib call',
    ([script, notes], folder) =>
      atTerminal([cli, 'call', 'wait', '--', process.execPath, script, notes], { XDG_CONFIG_HOME: folder }),
  ],
  [
    'toolcrib run',
    async ([script, notes]) => {
      const { file, env } = await setUpRun('http://127.0.0.1:9', [call('wait', {})]);
      const server = { command: process.execPath, args: [script, notes], tools: '*', trust: 'trusted' };
      const text = readFileSync(file, 'utf8').replace(
        / {2}calc: .*/,
        () => `  calc: ${JSON.stringify(server)}`,
      );
      writeFileSync(file, text);
      return atTerminal([cli, 'run', file, 'Wait.', '--yes'], env);
    },
  ],
];

test.each(starts)(
  'the first Ctrl-C in %s cancels at the server, and the second ends the command and its server at once',
  async (_command, start) => {
    const { terminal, heard, isRunning } = await startStubborn(start);
    await heard('called');
    expect(isRunning()).toBe(true);
    terminal.type('\u0003');
    const pressedAt = performance.now();
    await heard('cancelled');
    // Nobody presses it again sooner.
    await expect.poll(() => performance.now() - pressedAt).toBeGreaterThan(150);
    // The command waits for the server, which does not end.
    expect(isRunning()).toBe(true);
    terminal.type('\u0003');
    expect(await terminal.exit).toBe(130);
    // The kernel takes a moment to end it.
    await expect.poll(isRunning).toBe(false);
    // Nor was the end of the server waited for.
    expect(terminal.shown()).not.toContain('The request was cancelled');
  },
);
