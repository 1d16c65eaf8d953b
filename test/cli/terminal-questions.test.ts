import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/gateway/open-store.ts';
import { loadConfig } from '../../src/gateway/settings/load-config.ts';
import { cli } from '../behaviour/child.ts';
import { startBuiltWorker } from '../store-worker.ts';
import { within } from '../within.ts';

test('at a terminal a server is added only after a yes', async () => {
  const home = makeHome();
  const config = join(home, 'toolcrib.yaml');
  const words = ['add', '--no-try', '--config', config, 'https://mcp.shop.example/mcp'];
  for (const answer of ['', 'n', 'yes please']) {
    expect(await atTerminal(home, words, answer)).toMatch(/Add "shop"\? \[y\/N\] [^]*Nothing was added\.\n$/);
    expect(existsSync(config)).toBe(false);
  }
  expect(await atTerminal(home, words, 'y')).toContain('"shop" is in ');
  expect(readFileSync(config, 'utf8')).toContain('https://mcp.shop.example/mcp');
}, 60_000);

test('at a terminal a definition is approved after a yes to what was shown', async () => {
  const home = makeHome();
  const config = join(home, 'toolcrib.yaml');
  writeFileSync(config, 'store: { url: "sqlite:./toolcrib.db" }\n');
  const { store } = await openStore(await loadConfig(config), () => {}, startBuiltWorker());
  onTestFinished(() => store.close());
  const seen = { digest: 'abc', definition: '{"description":"Looks.","name":"look"}', at: 1 };
  await store.pins.hold({ server: 'web', account: '', tool: 'look' }, seen, undefined);
  const words = ['pins', 'approve', 'web.look', '--config', config];
  expect(await atTerminal(home, words, 'n')).toMatch(/"Looks\."[^]*\[y\/N\] [^]*Nothing was approved\.\n$/);
  expect(await store.pins.list()).toMatchObject([{ pinned: undefined }]);
  expect(await atTerminal(home, words, 'Y')).toContain('web.look is approved.\n');
  expect(await store.pins.list()).toMatchObject([{ pinned: { digest: 'abc' }, held: undefined }]);
}, 60_000);

test('at a terminal a client file outside of the home folder is written only after a yes', async () => {
  const home = makeHome();
  const elsewhere = makeHome();
  writeFileSync(join(home, 'toolcrib.yaml'), 'server: { name: crib }\n');
  writeFileSync(join(elsewhere, 'mcp.json'), '{}');
  mkdirSync(join(home, '.cursor'));
  symlinkSync(join(elsewhere, 'mcp.json'), join(home, '.cursor/mcp.json'));
  const words = ['link', 'cursor', '--config', join(home, 'toolcrib.yaml')];
  expect(await atTerminal(home, words, 'n')).toMatch(/outside of your home\. Write there\? [^]*say --yes/);
  expect(readFileSync(join(elsewhere, 'mcp.json'), 'utf8')).toBe('{}');
  await atTerminal(home, words, 'y');
  expect(readFileSync(join(elsewhere, 'mcp.json'), 'utf8')).toContain('crib');
}, 60_000);

function makeHome(): string {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-terminal-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Everything that a terminal shows of a command whose one question gets this answer. */
async function atTerminal(home: string, words: readonly string[], answer: string): Promise<string> {
  const command = `stty cols 500; '${process.execPath}' '${cli}' ${words.map((word) => `'${word}'`).join(' ')}`;
  const env = {
    ...process.env,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    NO_COLOR: '1',
    TERM: 'dumb',
  };
  const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'ignore'], env });
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  let isAnswered = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    if (isAnswered || !shown.includes('[y/N] ')) return;
    isAnswered = true;
    child.stdin.write(`${answer}\n`);
  });
  await within(20_000, 'the command to end', new Promise((done) => child.once('close', done)));
  return shown.replaceAll('\r', '');
}
