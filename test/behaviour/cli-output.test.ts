import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SqliteDatabase } from '../../src/store/sqlite/database.ts';
import { cli } from './child.ts';
import { runCommandLine, type Run as Ran } from './run-command-line.ts';

const FULL = '/dev/full';

describe('when the reader of the output has gone away', () => {
  test('E1 verify still exits with 1 for a record with a missing row, and with 0 for a good one', async () => {
    const { run, folder } = deployment();
    await run('read', 'tenants', 'create', 'acme');
    await run('read', 'tenants', 'create', 'other');
    expect(await run('unread', 'audit', 'verify')).toMatchObject({ code: 0, complaints: '' });
    const db = new SqliteDatabase(join(folder, 'toolcrib.db'), 'existing');
    db.run('delete from journal where id = 1');
    db.close();
    expect(await run('unread', 'audit', 'verify')).toMatchObject({ code: 1, complaints: '' });
  }, 60_000);

  test('check of a configuration with a mistake still exits with 1', async () => {
    const { run } = deployment('stores: {}\n');
    expect(await run('unread', 'check')).toMatchObject({ code: 1, complaints: '' });
  });

  test('the command that made a key says that the key was lost and how to revoke it', async () => {
    const { run } = deployment();
    await run('read', 'tenants', 'create', 'acme');
    await expectLostKey(run, 'unread', /^toolcrib: The key could not be printed \(EPIPE\)[^\n]+\n$/);
  }, 60_000);

  test('reading only the first lines of an export is not a failure', async () => {
    const { run } = deployment();
    await run('read', 'tenants', 'create', 'acme');
    expect(await run('unread', 'audit', 'export')).toMatchObject({ code: 0, complaints: '' });
  }, 60_000);
});

describe.skipIf(!existsSync(FULL))('when the output goes to a full disk', () => {
  test('a command reports it in one line and exits with 1', async () => {
    const { run } = deployment();
    await run('read', 'tenants', 'create', 'acme');
    for (const args of [['check'], ['audit', 'verify'], ['audit', 'export'], ['keys', 'list']])
      expect(await run('full', ...args)).toMatchObject({
        code: 1,
        complaints: 'toolcrib: cannot write the output (ENOSPC)\n',
      });
  }, 60_000);

  test('the command that made a key says that the key was lost and how to revoke it', async () => {
    const { run } = deployment();
    await run('read', 'tenants', 'create', 'acme');
    await expectLostKey(run, 'full', /^toolcrib: cannot write [^\n]+\ntoolcrib: The key could not [^\n]+\n$/);
  }, 60_000);
});

async function expectLostKey(run: Run, to: Reader, words: RegExp): Promise<void> {
  const { code, complaints } = await run(to, 'keys', 'create', '--tenant', 'acme', '--caller', 'ada');
  expect(code).toBe(1);
  expect(complaints).toMatch(words);
  const [, id = ''] = /toolcrib keys revoke (key_\w+)\n$/.exec(complaints) ?? [];
  expect(await run('read', 'keys', 'revoke', id)).toMatchObject({ code: 0, output: `${id} is revoked.\n` });
}

type Reader = 'read' | 'unread' | 'full';
type Run = ReturnType<typeof deployment>['run'];

function deployment(config = 'store: { url: "sqlite:./toolcrib.db" }\n') {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-output-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'toolcrib.yaml'), config);
  const run = async (to: Reader, ...args: readonly string[]): Promise<Ran> => {
    if (to === 'read') return runCommandLine([...args, '--config', join(folder, 'toolcrib.yaml')]);
    const full = to === 'full' ? openSync(FULL, 'w') : undefined;
    const child = spawn(process.execPath, [cli, ...args], {
      cwd: folder,
      stdio: ['ignore', full ?? 'pipe', 'pipe'],
    });
    if (full !== undefined) closeSync(full);
    let complaints = '';
    if (to === 'unread') child.stdout?.destroy();
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (complaints += text));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output: '', complaints };
  };
  return { folder, run };
}
