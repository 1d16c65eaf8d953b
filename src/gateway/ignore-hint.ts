import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { StorePlaces } from './open-store.ts';

/** Says what to leave out of version control, if new files with secrets are beside versioned code. */
export function ignoreHint({ secrets, database }: StorePlaces): string | undefined {
  const folder = dirname(secrets);
  if (!isInRepository(folder) || isIgnored(folder, basename(secrets))) return undefined;
  const names = [basename(secrets), `${basename(database)}*`];
  return `New files with secrets lie in a git repository: add ${names.join(' and ')} to .gitignore.`;
}

function isInRepository(folder: string): boolean {
  const above = dirname(folder);
  return existsSync(join(folder, '.git')) || (above !== folder && isInRepository(above));
}

// Good enough for a hint: a line that names the file, or a prefix of it and a star.
function isIgnored(folder: string, name: string): boolean {
  const file = join(folder, '.gitignore');
  if (existsSync(file)) {
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim().replace(/^\//, ''));
    if (
      lines.some(
        (line) => line === name || (/^[^!*#][^*]*\*$/.test(line) && name.startsWith(line.slice(0, -1))),
      )
    )
      return true;
  }
  const above = dirname(folder);
  return !existsSync(join(folder, '.git')) && above !== folder && isIgnored(above, name);
}
