import { lstat, readdir, readFile, realpath, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { race } from './file-race.ts';
import { CANARY, openSandbox, type Run } from './file-sandbox.ts';

// Each operation has this time to itself: eight of them take 40 seconds, or 8 minutes in full.
const SECONDS = process.env['TOOLCRIB_FULL'] === '1' ? 60 : 3;
const CONTROL_SECONDS = 30;
const ATTEMPTS = 8;

test(
  `D2 no operation leaves the root folder in ${SECONDS} seconds each while folders and files are swapped for links`,
  async () => {
    const sandbox = openSandbox();
    const tallies = await race(sandbox, sandbox.run, { seconds: SECONDS });
    expect(Object.keys(tallies)).toHaveLength(ATTEMPTS);
    for (const [name, { tries, inside, escapes }] of Object.entries(tallies)) {
      expect({ name, escapes }).toEqual({ name, escapes: 0 });
      expect({ name, worked: inside > 0, failed: tries > inside }).toEqual({
        name,
        worked: true,
        failed: true,
      });
    }
    expect(readFileSync(join(sandbox.outside, 'canary.txt'), 'utf8')).toBe(CANARY);
  },
  (ATTEMPTS * SECONDS + 30) * 1_000,
);

test(
  'D2 control: every operation leaves the root folder if the path is checked first and used later',
  async () => {
    const sandbox = openSandbox();
    const tallies = await race(sandbox, checkThenUse(sandbox.root), {
      seconds: CONTROL_SECONDS,
      until: ({ escapes }) => escapes > 0,
    });
    for (const [name, { escapes }] of Object.entries(tallies))
      expect({ name, escaped: escapes > 0 }).toEqual({ name, escaped: true });
  },
  (ATTEMPTS * CONTROL_SECONDS + 30) * 1_000,
);

/** How it must not be done: the real path is compared, and then the path is used. */
function checkThenUse(root: string): Run {
  const check = async (path: string): Promise<void> => {
    const real = await realpath(path);
    if (real !== root && !real.startsWith(`${root}${sep}`)) throw new Error('Invalid path');
  };
  return async ({ operation, path, to, content }) => {
    const full = join(root, path as string);
    const target = join(root, (to ?? '.') as string);
    try {
      await check(operation === 'write' ? dirname(full) : full);
      await check(operation === 'move' ? dirname(target) : root);
      switch (operation) {
        case 'read':
          return { content: await readFile(full, 'utf8') };
        case 'list':
          return { items: await readdir(full) };
        case 'info':
          return { size: (await stat(full)).size, isFile: (await lstat(full)).isFile() };
        case 'write':
          await writeFile(full, content as string);
          return {};
        case 'move':
          await rename(full, target);
          return {};
        default:
          await unlink(full);
          return {};
      }
    } catch {
      return { error: 'Invalid path' };
    }
  };
}
