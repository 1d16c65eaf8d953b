import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { requireFreshBuild } from '../../../test/store-worker.ts';

const built = 'dist/store-worker.js';

test('a worker built after its sources changed is used, whatever happened to their tests since', () => {
  const root = folderOf({
    [built]: 5,
    'src/core/call.ts': 4,
    'src/store/journal/chain.ts': 5,
    'src/store/chain.test.ts': 9,
  });
  expect(requireFreshBuild(root)).toBe(true);
});

test.each(['src/core/call.ts', 'src/store/journal/chain.ts'])(
  'a worker that is older than %s is refused',
  (changed) => {
    const root = folderOf({
      [built]: 5,
      'src/core/call.ts': 4,
      'src/store/journal/chain.ts': 4,
      [changed]: 6,
    });
    expect(() => requireFreshBuild(root)).toThrow(`${built} is older than ${changed}; run npm run build.`);
  },
);

test('a worker that was never built is refused', () => {
  const root = folderOf({ 'src/core/call.ts': 4, 'src/store/journal/chain.ts': 4 });
  expect(() => requireFreshBuild(root)).toThrow(`There is no ${built}; run npm run build.`);
});

/** A folder with files, each changed at a second of its own. */
function folderOf(files: Readonly<Record<string, number>>): string {
  const root = mkdtempSync(join(tmpdir(), 'toolcrib-build-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [file, changedAt] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), '');
    utimesSync(join(root, file), changedAt, changedAt);
  }
  return root;
}
