import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../faults/scenario.ts';
import { within } from '../within.ts';

const root = join(import.meta.dirname, '../..');
const LIMIT_MS = 300_000;

/** The instructions of the Dockerfile, with continued lines joined. */
const instructions = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => /^[A-Z]+ /.test(line))
  .map((line) => {
    const [name = ''] = line.split(' ', 1);
    return { name, rest: line.slice(name.length).trim() };
  });

/** What an instruction that stands once says. */
function only(name: string): string {
  const [found, ...more] = instructions.filter((one) => one.name === name);
  expect(more).toEqual([]);
  return found!.rest;
}

const inform = (text: string): string[] => JSON.parse(text) as string[];

/** Runs the steps of the Dockerfile in a folder that stands for the file system of both stages. */
function build(world: string): string {
  const moved = (text: string): string =>
    text.replaceAll(/(?<=^|[\s'"])\/(src|out|opt|var|etc)(?=\/|\s|$|['"])/g, `${world}/$1`);
  const env: NodeJS.ProcessEnv = { ...process.env };
  let place = world;
  for (const { name, rest } of instructions) {
    if (name === 'WORKDIR') mkdirSync((place = moved(rest)), { recursive: true });
    if (name === 'ENV') env[rest.split('=')[0]!] = rest.split('=')[1]!;
    if (name === 'COPY' && rest === '. .') copySources(place);
    if (name !== 'RUN') continue;
    mkdirSync(join(world, 'out'), { recursive: true });
    // There is no user of the name that the image has.
    const command = moved(rest).replace(/ && chown node:node \S+/, '');
    const run = spawnSync('sh', ['-ec', command], { cwd: place, env, encoding: 'utf8', timeout: LIMIT_MS });
    expect([rest, run.status, run.status === 0 ? '' : run.stderr.slice(-2_000)]).toEqual([rest, 0, '']);
  }
  return moved(inform(only('ENTRYPOINT'))[1]!);
}

// What git knows and the ignore file of the image does not leave out.
function copySources(place: string): void {
  const listed = spawnSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  for (const file of listed.stdout.split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(place, file)), { recursive: true });
    cpSync(join(root, file), join(place, file));
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  const port = await new Promise<number>((resolve) => {
    probe.listen(0, '127.0.0.1', () => resolve((probe.address() as { port: number }).port));
  });
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

test('the image runs as non-root without a shell in front of the server, and stops it by SIGTERM', () => {
  expect(only('USER')).toBe('1000');
  expect(only('STOPSIGNAL')).toBe('SIGTERM');
  expect(inform(only('ENTRYPOINT'))[0]).toBe('node');
  expect(inform(only('CMD'))).toEqual([
    'serve',
    '--config',
    '/etc/toolcrib/toolcrib.yaml',
    '--listen',
    '0.0.0.0:8484',
  ]);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  expect(instructions.some(({ rest }) => rest.includes(`toolcrib-${version}.tgz`))).toBe(true);
});

test(
  'the steps of the Dockerfile make a server that is healthy and finishes calls when stopped',
  async () => {
    const world = mkdtempSync(join(tmpdir(), 'toolcrib-image-'));
    onTestFinished(() => rmSync(world, { recursive: true, force: true }), 60_000);
    const main = build(world);
    expect(statSync(join(world, 'var/lib/toolcrib')).mode & 0o777).toBe(0o700);

    const port = await freePort();
    const config = readFileSync(join(root, 'deploy/toolcrib.yaml'), 'utf8').replaceAll(
      '/var/',
      `${world}/var/`,
    );
    writeFileSync(join(world, 'toolcrib.yaml'), config);
    const command = ['serve', '--config', join(world, 'toolcrib.yaml'), '--listen', `0.0.0.0:${port}`];
    const child = spawn(process.execPath, [main, ...command], { stdio: 'ignore' });
    onTestFinished(() => void child.kill('SIGKILL'));
    const check = inform(/CMD (\[.*\])$/.exec(only('HEALTHCHECK'))![1]!).map((word) =>
      word.replace('8484', String(port)),
    );
    const isHealthy = (): boolean =>
      spawnSync(process.execPath, check.slice(1), { timeout: 5_000 }).status === 0;
    await eventually('the health check passes', async () => isHealthy(), 20_000);
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await within(40_000, 'the server to drain', exit)).toEqual([0, null]);
    expect(isHealthy()).toBe(false);
  },
  LIMIT_MS,
);
