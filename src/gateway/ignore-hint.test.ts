import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ignoreHint } from './ignore-hint.ts';

function hintIn(ignored: string | undefined, isRepository = true): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-hint-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  if (isRepository) mkdirSync(join(folder, '.git'));
  if (ignored !== undefined) writeFileSync(join(folder, '.gitignore'), ignored);
  const inside = join(folder, 'deploy');
  mkdirSync(inside);
  const places = { secrets: join(inside, 'toolcrib.secrets'), database: join(inside, 'toolcrib.db') };
  return ignoreHint({ ...places, checkpoints: [] });
}

test('new secret files in a git repository are named, with the lines for .gitignore', () => {
  const hint =
    'New files with secrets lie in a git repository: add toolcrib.secrets and toolcrib.db* to .gitignore.';
  expect(hintIn(undefined)).toBe(hint);
  expect(hintIn('node_modules/\n# toolcrib.secrets\n')).toBe(hint);
});

test.each(['toolcrib.*\n!toolcrib.yaml\n', '/toolcrib.secrets\n'])(
  'no hint is given if %j ignores the files',
  (text) => {
    expect(hintIn(text)).toBeUndefined();
  },
);

test('no hint is given outside of a repository', () => {
  expect(hintIn(undefined, false)).toBeUndefined();
});
