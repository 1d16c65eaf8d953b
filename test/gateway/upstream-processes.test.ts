import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { makeUp, said, standard, type Got } from '../client/peers.ts';
import { openCrib, type Crib } from '../gateway.ts';
import { programs } from './holdings.ts';
import { commandOf, isAlive } from './process-counts.ts';
import { scripted } from './upstream-programs.ts';
import type { Json, Peer } from '../behaviour/peer.ts';

const textOf = async (peer: Peer, tool: string, args = {}): Promise<string> =>
  (await peer.call(tool, args)).content[0]!.text;

const spoken = (crib: Crib): string[] =>
  crib.logged.flatMap(({ facts }) => (typeof facts?.['text'] === 'string' ? [facts['text']] : []));

// The one that the list itself was read with is closed already.
function linkOf(descriptor: string): string[] {
  try {
    return [readlinkSync(`/proc/self/fd/${descriptor}`)];
  } catch {
    return [];
  }
}

test('C2 a program gets a few environment variables, no open file descriptors, and a folder of its own', async () => {
  process.env['CANARY_TOKEN'] = 'canary';
  process.env['NODE_OPTIONS'] = '--no-warnings';
  onTestFinished(() => {
    delete process.env['CANARY_TOKEN'];
    delete process.env['NODE_OPTIONS'];
  });
  const crib = await openCrib({
    config: { mcpServers: { desk: scripted('telling', { env: { GIVEN: 'yes' } }) } },
  });
  const ada = await crib.connect('ada');
  const { GIVEN, TMPDIR, ...env } = JSON.parse(await textOf(ada, 'env')) as Record<string, string>;
  expect(GIVEN).toBe('yes');
  const passed = new Set(['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'LANG', 'LC_ALL', 'TZ']);
  expect(Object.keys(env).filter((name) => !passed.has(name))).toEqual([]);
  const descriptors = JSON.parse(await textOf(ada, 'descriptors')) as [number, string][];
  // The first three are the pipes; the others are those that Node.js itself opens.
  const foreign = descriptors.filter(
    ([, link]) => !/^(?:socket|pipe|anon_inode):|^\/dev\/null|^closed/.test(link),
  );
  expect(foreign.filter(([, link]) => !link.startsWith('/proc/'))).toEqual([]);
  // A socket or a pipe has a number, so that one of ours is known again.
  const ours = new Set(readdirSync('/proc/self/fd').flatMap(linkOf));
  expect(descriptors.filter(([, link]) => /:\[\d+\]$/.test(link) && ours.has(link))).toEqual([]);
  const { cwd, tmp, pid } = JSON.parse(await textOf(ada, 'folder')) as Record<string, string>;
  expect(cwd).toMatch(/toolcrib-upstream-/);
  expect(cwd).toBe(tmp);
  expect(TMPDIR).toBe(tmp);
  expect(statSync(cwd!).mode & 0o777).toBe(0o700);
  await crib.gateway.close();
  expect(isAlive(Number(pid))).toBe(false);
  expect(existsSync(cwd!)).toBe(false);
});

test('a program whose entry names a folder runs there, with private temporary files', async () => {
  const crib = await openCrib({ config: { mcpServers: { desk: scripted('telling', { cwd: tmpdir() }) } } });
  const ada = await crib.connect('ada');
  const { cwd, tmp } = JSON.parse(await textOf(ada, 'folder')) as Record<string, string>;
  expect(cwd).toBe(tmpdir());
  expect(tmp).toMatch(/toolcrib-upstream-/);
});

test('a relative folder of an entry begins at the folder of the configuration', async () => {
  const crib = await openCrib({
    files: { 'work/note.txt': '' },
    config: { mcpServers: { desk: scripted('telling', { cwd: 'work' }) } },
  });
  const { cwd } = JSON.parse(await textOf(await crib.connect('ada'), 'folder')) as Record<string, string>;
  expect(cwd).toBe(join(crib.folder, 'work'));
});

test('C1 arguments of a call arrive as data, and are not run', async () => {
  const crib = await openCrib({ config: { mcpServers: { desk: scripted('telling') } } });
  const ada = await crib.connect('ada');
  const marker = join(tmpdir(), `toolcrib-c1-${process.pid}`);
  for (const text of [`; touch ${marker}`, `$(touch ${marker})`, `--upload-pack=touch ${marker}`])
    expect(await textOf(ada, 'complain', { text })).toBe('complained');
  expect(JSON.parse(await textOf(ada, 'words'))).toEqual([]);
  expect(existsSync(marker)).toBe(false);
});

test('the error output of a program is logged, cleaned and without secrets', async () => {
  const secret = 'desk-credential-55aa';
  const crib = await openCrib({
    config: { mcpServers: { desk: scripted('telling', { credential: { env: { DESK: secret } } }) } },
  });
  const ada = await crib.connect('ada');
  const text = `\u001B[31mred\u001B[0m \u200Bhidden ${secret}\nsecond`;
  // As digits, since arguments are cleaned on their way.
  await textOf(ada, 'complain', { hex: Buffer.from(text).toString('hex') });
  await expect.poll(() => spoken(crib), { timeout: 5_000 }).toContain('second');
  expect(spoken(crib)).toContain('red hidden [redacted:secret]');
  expect(JSON.stringify(crib.logged)).not.toContain(secret);
});

test('a program with endless error output does not fill the log or the memory, and its calls are answered', async () => {
  const crib = await openCrib({ config: { mcpServers: { desk: scripted('telling') } } });
  const ada = await crib.connect('ada');
  await textOf(ada, 'complain', { text: `${'x'.repeat(999)}\n`, times: 5_000 });
  await textOf(ada, 'babble', { times: 5_000 });
  expect(await textOf(ada, 'words')).toBe('[]');
  expect(crib.logged.length).toBeLessThanOrEqual(201);
  expect(JSON.stringify(crib.logged).length).toBeLessThan(200_000);
});

test('the sandbox command is put before the program, and the limits before both', async () => {
  const crib = await openCrib({
    config: {
      mcpServers: {
        boxed: scripted('telling', {
          sandbox: ['/usr/bin/env', 'BOXED=yes'],
          limits: { openFiles: 123, cpuSeconds: 77 },
        }),
      },
    },
  });
  const ada = await crib.connect('ada');
  expect(JSON.parse(await textOf(ada, 'env'))).toMatchObject({ BOXED: 'yes' });
  const limits = await textOf(ada, 'limits');
  expect(limits).toMatch(/Max open files +123 +123/);
  expect(limits).toMatch(/Max cpu time +77 +77/);
});

test('a program that exceeds its memory limit ends, and its callers get an error', async () => {
  const crib = await openCrib({
    config: { mcpServers: { small: scripted('telling', { limits: { memoryMb: 50 } }) } },
  });
  const ada = await crib.connect('ada');
  expect((await ada.list()).tools).toEqual([]);
  await expect.poll(() => JSON.stringify(crib.logged)).toContain('The connection to small failed.');
});

test.each<[string, (folder: string) => object, RegExp]>([
  ['a shell', () => ({ command: '/bin/sh', args: ['-c', 'id'] }), /hands a line to a shell/],
  [
    'a shell in a sandbox',
    () => ({ command: 'id', sandbox: ['/bin/bash', '-lc'] }),
    /hands a line to a shell/,
  ],
  ['a relative path', () => ({ command: './server' }), /is a relative path/],
  [
    'a program that everybody can write',
    (folder) => ({ command: program(folder, 0o777) }),
    /every user of this machine can replace/,
  ],
  [
    'a program in a folder that everybody can write',
    (folder) => {
      const command = program(folder, 0o755);
      chmodSync(folder, 0o777);
      return { command };
    },
    /every user of this machine can replace/,
  ],
])('C1 an entry with %s is refused', async (_title, entryOf, words) => {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-program-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const mcpServers = { bad: entryOf(folder) as never };
  await expect(openCrib({ config: { mcpServers } })).rejects.toThrow(words);
});

test('control: the same program is accepted once others cannot write it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-program-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const crib = await openCrib({ config: { mcpServers: { good: { command: program(folder, 0o755) } } } });
  expect(crib.gateway.isReady).toBe(true);
});

function program(folder: string, mode: number): string {
  const file = join(folder, 'server');
  writeFileSync(file, '#!/bin/true\n');
  chmodSync(file, mode);
  return file;
}

test('an idle program is ended, and started again when it is needed', async () => {
  const crib = await openCrib({
    config: { mcpServers: { desk: scripted('crashing', { idleSeconds: 0.2 }) } },
  });
  const ada = await crib.connect('ada');
  const first = Number(await textOf(ada, 'pid'));
  await expect.poll(() => isAlive(first), { timeout: 5_000 }).toBe(false);
  const second = Number(await textOf(ada, 'pid'));
  expect(second).not.toBe(first);
  expect(isAlive(second)).toBe(true);
});

test('a program that is never without a call is replaced after its lifetime, and ends with its last call', async () => {
  const crib = await openCrib({
    config: { mcpServers: { desk: scripted('crashing', { lifetimeSeconds: 0.3, timeoutSeconds: 6 }) } },
  });
  const ada = await crib.connect('ada');
  const first = Number(await textOf(ada, 'pid'));
  const waiting = ada.call('wait');
  await expect.poll(async () => Number(await textOf(ada, 'pid')), { timeout: 4_000 }).not.toBe(first);
  expect(isAlive(first)).toBe(true);
  expect((await waiting).isError).toBe(true);
  await expect.poll(() => isAlive(first), { timeout: 5_000 }).toBe(false);
});

test('a program that is old and never without a call is kept where there is no room for another one', async () => {
  const crib = await openCrib({
    config: {
      mcpServers: { desk: scripted('crashing', { lifetimeSeconds: 0.3, timeoutSeconds: 4 }) },
      upstreams: { maxPerTenant: 1 },
    },
  });
  const ada = await crib.connect('ada');
  const first = await textOf(ada, 'pid');
  const waiting = ada.call('wait');
  const until = Date.now() + 2_500;
  while (Date.now() < until) {
    expect(await textOf(ada, 'pid')).toBe(first);
    await wait(100);
  }
  expect((await waiting).isError).toBe(true);
});

test('a warm program that ends is started again before anybody needs it', async () => {
  const ownPrograms = (): number[] =>
    programs().filter((pid) => commandOf(pid).some((word) => word.endsWith('crashing.mjs')));
  await openCrib({ config: { mcpServers: { desk: scripted('crashing', { warm: true }) } } });
  await expect.poll(ownPrograms, { timeout: 5_000 }).toHaveLength(1);
  const [first] = ownPrograms();
  process.kill(first!, 'SIGKILL');
  await expect.poll(() => ownPrograms().filter((pid) => pid !== first), { timeout: 8_000 }).toHaveLength(1);
});

test('a warm server whose connection is too old during a call is connected to again after that call', async () => {
  let discoveries = 0;
  let held: Got | undefined;
  const { url } = await makeUp((got) => {
    if (got.body['method'] === 'server/discover') discoveries++;
    if (got.body['method'] === 'tools/call') held = got;
    else standard(got);
  });
  const crib = await openCrib({ config: { mcpServers: { web: { url, warm: true, lifetimeSeconds: 0.3 } } } });
  const ada = await crib.connect('ada');
  const calling = ada.call('echo');
  await expect.poll(() => held, { timeout: 10_000 }).toBeDefined();
  await wait(2_000);
  const before = discoveries;
  held!.reply(said('done'));
  await calling;
  await expect.poll(() => discoveries, { timeout: 4_000 }).toBeGreaterThan(before);
});

test('C9 unusual client capabilities do not start more processes of a program', async () => {
  const crib = await openCrib({ config: { mcpServers: { desk: scripted('crashing') } } });
  const odd = (n: number): Json => ({
    elicitation: { [`x${n}`]: {} },
    sampling: { [`y${n}`]: {} },
    extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [`text/${n}`] } },
  });
  const pids = new Set<string>();
  for (let n = 0; n < 8; n++) {
    const ada = await crib.connect('ada', { capabilities: odd(n) });
    pids.add(await textOf(ada, 'pid'));
  }
  expect(pids.size).toBe(1);
});

test('a caller with many processes makes room with one of its own, not with that of another caller', async () => {
  const crib = await openCrib({
    config: { mcpServers: { desk: scripted('crashing') }, upstreams: { maxPerTenant: 3 } },
  });
  const bob = await crib.connect('bob');
  const his = await textOf(bob, 'pid');
  const pids = new Set<string>();
  for (const capabilities of [{}, { sampling: {} }, { roots: {} }, { sampling: {}, roots: {} }])
    pids.add(await textOf(await crib.connect('ada', { capabilities }), 'pid'));
  expect(pids.size).toBe(4);
  expect(await textOf(bob, 'pid')).toBe(his);
});

test('a warm program is started before its first use; a cold one is not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-warm-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const marker = (name: string): string => join(folder, name);
  const started = (name: string): object => ({
    command: process.execPath,
    args: [
      '-e',
      `require('fs').writeFileSync(${JSON.stringify(marker(name))}, ''); setInterval(() => {}, 1000)`,
    ],
  });
  const crib = await openCrib({
    config: {
      mcpServers: { warm: { ...started('warm'), warm: true } as never, cold: started('cold') as never },
      upstreams: { firstListSeconds: 0 },
    },
  });
  await expect.poll(() => existsSync(marker('warm')), { timeout: 5_000 }).toBe(true);
  expect(existsSync(marker('cold'))).toBe(false);
  await crib.gateway.close();
});
