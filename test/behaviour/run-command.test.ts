import { mkdirSync, readdirSync, readlinkSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import type { ConfigInput } from '../../src/gateway/settings/config.ts';
import { openCrib, type Crib, type CribSetup } from '../gateway.ts';

function offering(folder: string): ConfigInput {
  const file = { name: 'file', description: 'The file.', path: true };
  const count = { file: '/usr/bin/wc', description: 'Counts.', args: ['-c', '--'], arguments: [file] };
  const wait = { file: '/usr/bin/sleep', description: 'Waits.', args: ['1000'] };
  return {
    tools: { ready: { run_command: { folder, timeoutSeconds: 600, commands: { count, wait } } } },
  };
}

function open(setup: CribSetup = {}): Promise<Crib> {
  return openCrib({ config: offering('./work'), files: { 'work/note.txt': 'four' }, ...setup });
}

/** How many programs run in the working folder of a gateway. */
function underWay(crib: Crib): number {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && folderOf(pid) === crib.path('work'))
    .length;
}

function folderOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

async function untilUnderWay(crib: Crib, amount: number): Promise<void> {
  await vi.waitFor(() => expect(underWay(crib)).toBe(amount), { timeout: 10_000 });
}

test('a configuration offers commands, with paths relative to the configuration file (003-01)', async () => {
  const peer = await (await open()).connect('ada');
  const done = await peer.call('run_command', { command: 'count', arguments: ['note.txt'] });
  expect(done.structuredContent).toMatchObject({ exit_code: 0, stdout: '4 ./note.txt\n' });
});

test('a command that fails or is refused tells the model why (003-01)', async () => {
  const peer = await (await open()).connect('ada');
  const failed = await peer.call('run_command', { command: 'count', arguments: ['absent.txt'] });
  expect(failed.isError).toBe(true);
  expect(JSON.parse(failed.content[0]!.text)).toMatchObject({
    error: 'Command failed',
    exit_code: 1,
    stderr: expect.stringContaining('absent.txt'),
  });
  const refused = await peer.call('run_command', { command: 'count', arguments: ['../toolcrib.secrets'] });
  expect(refused.isError).toBe(true);
  expect(refused.content[0]!.text).toMatch(/must be a path relative to the working folder/);
});

test('without a configuration there are no commands (003-01)', async () => {
  const peer = await (await openCrib()).connect('ada');
  expect(await peer.error('tools/call', { name: 'run_command', arguments: {} })).toMatchObject({
    code: -32602,
  });
});

test('each tenant runs commands in a folder of its own (003-01)', async () => {
  const files = { 'work/north/note.txt': 'north', 'work/south/note.txt': 'southern' };
  const crib = await open({ config: offering('./work/{tenant}'), files });
  for (const [holder, bytes] of [
    ['ada', 5],
    ['cyn', 8],
  ] as const) {
    const peer = await crib.connect(holder);
    const done = await peer.call('run_command', { command: 'count', arguments: ['note.txt'] });
    expect(done.structuredContent).toMatchObject({ stdout: `${bytes} ./note.txt\n` });
  }
});

test('an invalid configuration of commands is refused with its line and column (003-01)', async () => {
  const crib = await open();
  crib.configure(offering('./absent'));
  await expect(crib.reload()).rejects.toThrow(
    /tools\.ready\.run_command cannot be used: folder \("\.\/absent"\) is not a folder/,
  );
});

test('D5 a client that disconnects ends the programs of its call (003-01)', async () => {
  const crib = await open();
  const peer = await crib.connect('ada');
  const stop = new AbortController();
  const calls = Array.from({ length: 10 }, () =>
    peer
      .request('tools/call', { name: 'run_command', arguments: { command: 'wait' } }, { signal: stop.signal })
      .catch(() => undefined),
  );
  await untilUnderWay(crib, 10);
  stop.abort();
  await Promise.all(calls);
  await vi.waitFor(() => expect(underWay(crib)).toBe(0), { timeout: 5_000 });
});

test('D5 no program is left running when the gateway stops (003-01)', async () => {
  const crib = await open();
  const peer = await crib.connect('ada');
  const call = peer.call('run_command', { command: 'wait' }).catch(() => undefined);
  await untilUnderWay(crib, 1);
  await crib.gateway.close();
  expect(underWay(crib)).toBe(0);
  await call;
});

test('a running call continues through a reload of the configuration (003-01)', async () => {
  const crib = await open();
  const peer = await crib.connect('ada');
  const stop = new AbortController();
  const call = peer
    .request('tools/call', { name: 'run_command', arguments: { command: 'wait' } }, { signal: stop.signal })
    .catch(() => undefined);
  await untilUnderWay(crib, 1);
  mkdirSync(crib.path('other'));
  crib.configure(offering('./other'));
  await crib.reload();
  await vi.waitFor(async () => {
    const { content } = await peer.call('run_command', { command: 'count', arguments: ['note.txt'] });
    expect(content[0]!.text).toContain('Command failed');
  });
  expect(underWay(crib)).toBe(1);
  stop.abort();
  await call;
  await untilUnderWay(crib, 0);
});
