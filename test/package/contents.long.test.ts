import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('every link of a page in the package leads to a file in the package', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const [{ files }] = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }));
  const packed: readonly string[] = files.map(({ path }: { path: string }) => path);
  expect(packed).toContain('dist/cli/main.js');
  const pages = packed.filter((path) => path.endsWith('.md') && !path.startsWith('dist/'));
  expect(pages.length).toBeGreaterThan(30);
  const broken = pages.flatMap((page) =>
    // An example of a file has links of its own.
    [
      ...readFileSync(join(root, page), 'utf8')
        .replaceAll(/^```.*?^```/gms, '')
        .matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g),
    ]
      .map(([, target = '']) => join(page, '..', target).replace(/\/$/, ''))
      .filter((target) => !packed.some((path) => path === target || path.startsWith(`${target}/`)))
      .map((target) => `${page}: ${target}`),
  );
  expect(broken).toEqual([]);
});
