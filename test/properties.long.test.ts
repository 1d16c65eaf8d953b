import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tryFiles } from './faults/property-files.ts';

const root = join(import.meta.dirname, '..');
const files = ['src', 'test'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => path.endsWith('.test.ts') && !path.endsWith('.long.test.ts'))
    .filter((path) => /propertyRuns\(|firstFew\(/.test(readFileSync(join(root, path), 'utf8'))),
);

test(
  'every property holds on all of its cases, and every test that the quick run shortens passes in full',
  { timeout: 900_000 },
  async () => {
    expect(files.length).toBeGreaterThan(40);
    expect(await tryFiles({ runs: 1, files })).toEqual([]);
  },
);
