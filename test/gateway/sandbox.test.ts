import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import type { ConfigInput } from '../../src/gateway.ts';
import { openCrib, type Crib } from '../gateway.ts';
import { within } from '../within.ts';

type Entry = Extract<NonNullable<ConfigInput['mcpServers']>[string], { readonly command: string }>;

const page = readFileSync(join(import.meta.dirname, '../../docs/running-servers.md'), 'utf8');
const hasBubblewrap = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-all', 'true']).status === 0;

test.skipIf(!hasBubblewrap)(
  'a server in the documented sandbox cannot read outside of its folder or reach a network (003-12)',
  async () => {
    const { crib, room, outside, address, ask } = await openWorld();
    expect(await ask('read', 'own.txt')).toBe('its own');
    expect(await ask('write', 'new.txt')).toBe('written');
    expect(await ask('read', outside)).toBe('ENOENT');
    expect(await ask('read', '/etc/passwd')).toBe('ENOENT');
    expect(await ask('write', '/usr/new.txt')).toBe('EROFS');
    expect(await ask('visit', address)).toBe('fetch failed');

    expect(programsIn(room)).not.toEqual([]);
    await crib.gateway.close();
    const gone = async (): Promise<void> => {
      while (programsIn(room).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    await within(10_000, 'the programs to end', gone());
  },
  30_000,
);

test('control: without a sandbox the same server can do both (003-12)', async () => {
  const { room, outside, address, ask } = await openWorld({ sandbox: [] });
  expect(await ask('read', join(room, 'own.txt'))).toBe('its own');
  expect(await ask('read', outside)).toBe('not yours');
  expect(await ask('visit', address)).toBe('hello');
}, 30_000);

test('a program gets its arguments unchanged, and only the environment variables that its entry names', async () => {
  process.env['TOOLCRIB_TEST_TOKEN'] = 'ours';
  onTestFinished(() => void delete process.env['TOOLCRIB_TEST_TOKEN']);
  const words = ['$(touch pwned)', '; touch pwned', '`id`', '*', '"'];
  const { room, ask } = await openWorld({ sandbox: [], env: { OWN: 'its own' } }, words);
  const seen = JSON.parse(await ask('look')) as { words: string[]; variables: Record<string, string> };
  expect(seen.words).toEqual(words);
  expect(seen.variables).toMatchObject({ OWN: 'its own' });
  expect(Object.keys(seen.variables)).not.toContain('TOOLCRIB_TEST_TOKEN');
  expect(readdirSync(room)).not.toContain('pwned');
}, 30_000);

interface World {
  readonly crib: Crib;
  /** The folder that is the server's own. */
  readonly room: string;
  /** A file beside it. */
  readonly outside: string;
  /** A web server of this machine. */
  readonly address: string;
  readonly ask: (tool: string, what?: string) => Promise<string>;
}

async function openWorld(change: Partial<Entry> = {}, words: readonly string[] = []): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-sandbox-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const room = join(folder, 'notes');
  mkdirSync(room);
  copyFileSync(join(import.meta.dirname, 'fixtures/curious.mjs'), join(room, 'server.mjs'));
  writeFileSync(join(room, 'own.txt'), 'its own');
  const outside = join(folder, 'outside.txt');
  writeFileSync(outside, 'not yours');
  const shown = entryOfPage(room);
  const notes = { ...shown, ...change, args: [...shown.args!, ...words] };
  const crib = await openCrib({ config: { mcpServers: { notes } } });
  const ada = await crib.connect('ada');
  const ask = async (tool: string, what = ''): Promise<string> =>
    (await ada.call(tool, { what })).content[0]!.text;
  return { crib, room, outside, address: await serveHello(), ask };
}

/** The entry that the page shows, with the folder and the Node.js of this run. */
function entryOfPage(room: string): Entry {
  const [, text] = /```yaml\n(mcpServers:[^]*?)```/.exec(page)!;
  const here = text!.replaceAll('/srv/notes', room).replaceAll('/usr/bin/node', process.execPath);
  const entry = (parse(here) as { mcpServers: { notes: Entry } }).mcpServers.notes;
  const isElsewhere = !process.execPath.startsWith('/usr/');
  const program = isElsewhere ? ['--ro-bind', process.execPath, process.execPath] : [];
  return { ...entry, sandbox: [...entry.sandbox!, ...program] };
}

async function serveHello(): Promise<string> {
  const server = createServer((_request, response) => response.end('hello'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function programsIn(room: string): readonly string[] {
  return readdirSync('/proc').filter((id) => {
    try {
      return /^\d+$/.test(id) && readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(room);
    } catch {
      return false;
    }
  });
}
