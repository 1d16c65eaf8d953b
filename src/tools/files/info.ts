import { readFile } from 'node:fs/promises';
import { withEntry } from './jail.ts';
import { baseNameOf, jailPlaceOf, type FileOperation } from './site.ts';

/** Returns the metadata of a file or folder. */
export const info: FileOperation = ({ path }, site) =>
  withEntry(jailPlaceOf(path, site), async ({ stats }) => ({
    path: baseNameOf(path, site),
    type: stats.isDirectory() ? 'directory' : 'file',
    size: stats.size,
    permissions: (stats.mode & 0o7777).toString(8).padStart(4, '0'),
    ...(site.settings.showOwner && {
      owner: await nameOf(stats.uid, '/etc/passwd'),
      group: await nameOf(stats.gid, '/etc/group'),
    }),
    created: stats.birthtime.toISOString(),
    modified: stats.mtime.toISOString(),
    accessed: stats.atime.toISOString(),
  }));

// Node can only name the user it runs as; users that are not in these files stay numbers.
async function nameOf(id: number, file: string): Promise<string | number> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n');
  const line = lines.map((one) => one.split(':')).find((fields) => fields[2] === String(id));
  return line?.[0] || id;
}
