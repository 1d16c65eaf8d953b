import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { mountingObstacle } from './faults/small-disk.ts';
import { createStoreFolder, type StoreFolder } from './store-folder.ts';
import { readJournal } from '../src/store/journal/reader.ts';

const row = { chain: 'acme', body: '{}' };
const refused = { code: 'record_unavailable' };

test.skipIf(mountingObstacle())(
  'R3 a server with a full disk is not ready until there is real room again, and the record has one gap for it',
  async () => {
    const folder = createStoreFolder();
    const disk = mountSmallDisk(folder);
    const [troubled, recovered] = [vi.fn<(reason: string) => void>(), vi.fn<() => void>()];
    await (await folder.open()).close();
    const { journal } = await folder.open({ onTrouble: troubled, onRecovery: recovered });
    // Each is a page of the log, and all are one page of the database: once it is dropped, the log has room again.
    for (let n = 0; n < 10; n++) await journal.append(row);
    const filler = fill(disk);
    await expect(journal.append(row)).rejects.toMatchObject(refused);
    await vi.waitFor(() => expect(troubled).toHaveBeenCalledWith('SQLITE_FULL'));
    // Several attempts fall into this time, each of which finds room for a row where the log was cut off.
    for (let look = 0; look < 30; look++) {
      expect(journal.isReady).toBe(false);
      await pause(50);
    }
    for (let n = 0; n < 3; n++) await expect(journal.append(row)).rejects.toMatchObject(refused);
    // The thread gets them within a tenth of a second.
    await pause(300);
    expect(recovered).not.toHaveBeenCalled();

    rmSync(filler);
    await vi.waitFor(() => expect(recovered).toHaveBeenCalledTimes(1), { timeout: 10_000 });
    await journal.append(row);
    expect(troubled).toHaveBeenCalledTimes(1);
    expect(gapsIn(folder)).toMatchObject([{ kind: 'gap', reason: 'SQLITE_FULL', refused: 4 }]);
    expect(folder.verify()).toMatchObject({ problem: undefined, rows: 12 });
    // What proves that there is room leaves nothing behind.
    expect(readdirSync(disk).filter((name) => name.includes('room'))).toEqual([]);
  },
  30_000,
);

function mountSmallDisk({ file }: StoreFolder): string {
  const disk = dirname(file);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk], { timeout: 30_000 });
  // The store is still open then: the disk is unmounted when it is no longer used.
  onTestFinished(() => void execFileSync('umount', ['--lazy', disk], { timeout: 30_000 }));
  return disk;
}

function fill(disk: string): string {
  const file = join(disk, 'filler');
  const descriptor = openSync(file, 'w');
  try {
    for (;;) writeSync(descriptor, Buffer.alloc(512));
  } catch {
    return file;
  } finally {
    closeSync(descriptor);
  }
}

function gapsIn(folder: StoreFolder): unknown[] {
  return folder.inside((db) =>
    Array.from(
      readJournal(db, { chain: '@operator', limit: 1_000, order: 'oldest' }),
      ({ facts }) => facts,
    ).filter(({ kind }) => kind === 'gap'),
  );
}
