import { lstat, opendir } from 'node:fs/promises';
import { withFolder, type HeldEntry } from './jail.ts';
import { isSafeName } from './jail-path.ts';
import { baseNameOf, jailPlaceOf, type FileOperation, type Site } from './site.ts';

/** Returns a page of the entries of a folder, sorted by name; links and special files are left out. */
export const list: FileOperation = ({ path, cursor = '', limit }, site) =>
  withFolder(jailPlaceOf(path, site), async (folder) => {
    const names = await namesAfter(cursor, folder, { site, limit: limit + 1 });
    const page = names.slice(0, limit);
    const items: Item[] = [];
    for (let at = 0; at < page.length; at += AT_ONCE) {
      site.signal.throwIfAborted();
      const some = await Promise.all(page.slice(at, at + AT_ONCE).map((name) => describe(folder, name)));
      items.push(...some.filter((item) => item !== undefined));
    }
    return {
      path: baseNameOf(path, site),
      items,
      count: items.length,
      ...(names.length > limit && { next_cursor: page.at(-1)! }),
    };
  });

/** An entry of a folder as it is shown. */
export interface Item {
  readonly name: string;
  readonly type: 'file' | 'directory';
  readonly size: number | null;
  readonly modified: string;
}

const AT_ONCE = 32;

// Keeps only the names that can be on the page, however many entries there are.
async function namesAfter(
  cursor: string,
  folder: HeldEntry,
  { site, limit }: { readonly site: Site; readonly limit: number },
): Promise<readonly string[]> {
  const { settings, signal } = site;
  let names: string[] = [];
  for await (const found of await opendir(folder.path, { bufferSize: 256 })) {
    signal.throwIfAborted();
    const { name } = found;
    if (name <= cursor || !(found.isFile() || found.isDirectory()) || !isSafeName(name, settings)) continue;
    names.push(name);
    if (names.length >= 4 * limit + 1_000) names = smallest(names, limit);
  }
  return smallest(names, limit);
}

// In the order of code units, as the cursor is compared.
function smallest(names: readonly string[], count: number): string[] {
  return names.toSorted().slice(0, count);
}

/** An entry as it is shown; nothing if it disappeared. Never fails, so no lookup outlives its folder. */
export async function describe(folder: HeldEntry, name: string): Promise<Item | undefined> {
  const stats = await lstat(`${folder.path}/${name}`).catch(() => undefined);
  if (!stats?.isFile() && !stats?.isDirectory()) return undefined;
  const isFile = stats.isFile();
  return {
    name,
    type: isFile ? 'file' : 'directory',
    size: isFile ? stats.size : null,
    modified: stats.mtime.toISOString(),
  };
}
