import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { checkpointKeys } from '../journal/checkpoint.ts';
import { verifyJournal } from '../journal/verify.ts';
import { createStoreFolder, newSigningKey, type StoreFolder } from '../../../test/store-folder.ts';

describe('E1 a database that has less than a copy of its checkpoints', () => {
  test('is not started if it is an older one, and the first missing row can still be found', async () => {
    const folder = await withOlder();
    copyFileSync(`${folder.file}.old`, folder.file);
    await expectUntouched(
      folder,
      'holds checkpoint 2, which is not in the database (it ends at 1): rows are gone',
    );
    expect(folder.verify().problem).toMatchObject({ chain: 'acme', seq: 2 });
  });

  test.each([
    ['empty', (file: string) => writeFileSync(file, '')],
    ['gone', (file: string) => rmSync(file)],
  ])('is not started if it is %s', async (_what, change) => {
    const folder = await withOlder();
    change(folder.file);
    await expectUntouched(
      folder,
      'holds checkpoint 1, which is not in the database (it ends at 0): rows are gone',
    );
    expect(folder.verify().problem).toMatchObject({ chain: 'acme', seq: 1 });
  });

  test('is not started if it was deleted together with its key', async () => {
    const folder = await withOlder();
    rmSync(folder.file);
    await expectUntouched(folder, 'holds checkpoint 1', newSigningKey());
  });

  test('is not started if it continued without the copy', async () => {
    const folder = await withOlder();
    copyFileSync(`${folder.file}.old`, folder.file);
    const seen = readFileSync(folder.copy);
    rmSync(folder.copy);
    await append(folder, 'another');
    writeFileSync(folder.copy, seen);
    await expectUntouched(folder, 'holds another checkpoint 2 than the database');
    expect(folder.verify().problem?.what).toContain('Checkpoint 2 in');
  });

  test('is not started if only one of several copies shows it', async () => {
    const folder = await withOlder();
    copyFileSync(`${folder.file}.old`, folder.file);
    copyFileSync(`${folder.copy}.old`, folder.copy);
    const far = `${folder.copy}.far`;
    await expect(folder.open({ checkpointFiles: [folder.copy, far] })).rejects.toThrow(
      `${far} holds checkpoint 2`,
    );
    const key = checkpointKeys(folder.signingKey).checking;
    const { problem } = folder.inside((db) =>
      verifyJournal(db, { checkpointFiles: [folder.copy, far], key }),
    );
    expect(problem).toMatchObject({ chain: 'acme', seq: 2 });
  });

  test('is not changed, so that files beside it do not mix with a restored database', async () => {
    const folder = await withOlder();
    rmSync(folder.file);
    await expect(folder.open()).rejects.toThrow('it ends at 0');
    await vi.waitFor(() => expect(existsSync(`${folder.file}-wal`)).toBe(false));
    copyFileSync(`${folder.file}.new`, folder.file);
    await append(folder, 'three');
    expect(folder.verify()).toMatchObject({ problem: undefined, rows: 3, checkpoints: 3 });
  });

  test('is started once the copies are moved away, and continues with new ones', async () => {
    const folder = await withOlder();
    copyFileSync(`${folder.file}.old`, folder.file);
    await expect(folder.open()).rejects.toThrow('put the copies of the checkpoints elsewhere first');
    renameSync(folder.copy, `${folder.copy}.evidence`);
    await append(folder, 'another');
    expect(folder.verify()).toMatchObject({ problem: undefined, rows: 2, checkpoints: 2, unproven: 0 });
  });
});

test('E1 a copy that returns with other checkpoints while the server runs is reported, and not written to', async () => {
  const folder = createStoreFolder();
  const warned = vi.fn<(reason: string) => void>();
  const { journal } = await folder.open({ checkpointRows: 1, onWarning: warned });
  await journal.append({ chain: 'acme', body: '{"n":1}' });
  await vi.waitFor(() => expect(readFileSync(folder.copy, 'utf8').split('\n')).toHaveLength(2));
  const other = readFileSync(folder.copy, 'utf8').replace('{"n":1,', '{"n":7,');
  // A folder in its place cannot be written to, not even by the owner of the machine.
  rmSync(folder.copy);
  mkdirSync(folder.copy);
  await journal.append({ chain: 'acme', body: '{"n":2}' });
  await vi.waitFor(() => expect(warned).toHaveBeenCalledWith(expect.stringContaining('EISDIR')));
  rmdirSync(folder.copy);
  writeFileSync(folder.copy, other);
  await journal.append({ chain: 'acme', body: '{"n":3}' });
  await vi.waitFor(() => expect(warned).toHaveBeenCalledWith(expect.stringContaining('holds checkpoint 7')));
  expect(readFileSync(folder.copy, 'utf8')).toBe(other);
  expect(journal.isReady).toBe(true);
});

test('a file with other content is not appended to', async () => {
  const folder = createStoreFolder();
  writeFileSync(folder.copy, 'Notes of a meeting.\nNothing was decided.\n');
  await expectUntouched(
    folder,
    'contains something other than checkpoints; name another file for their copies.',
  );
});

// One row and one checkpoint, of which `.old` is kept, and then another of each, of which `.new` is.
async function withOlder(): Promise<StoreFolder> {
  const folder = createStoreFolder();
  await append(folder, 'one');
  copyFileSync(folder.file, `${folder.file}.old`);
  copyFileSync(folder.copy, `${folder.copy}.old`);
  await append(folder, 'two');
  copyFileSync(folder.file, `${folder.file}.new`);
  copyFileSync(folder.copy, `${folder.copy}.far`);
  return folder;
}

async function append(folder: StoreFolder, what: string): Promise<void> {
  const store = await folder.open();
  await store.journal.append({ chain: 'acme', body: JSON.stringify({ kind: 'call', what }) });
  await store.close();
}

async function expectUntouched(
  folder: StoreFolder,
  why: string,
  signingKey = folder.signingKey,
): Promise<void> {
  const before = readFileSync(folder.copy, 'utf8');
  await expect(folder.open({ signingKey })).rejects.toMatchObject({
    code: 'invalid_setup',
    message: expect.stringContaining(`${folder.copy} ${why}`),
  });
  expect(readFileSync(folder.copy, 'utf8')).toBe(before);
}
