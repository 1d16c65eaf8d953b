import { opendir } from 'node:fs/promises';
import { compileGlob } from '../../base/glob.ts';
import { JailRefusal } from './jail-refusal.ts';
import { isSafeName } from './jail-path.ts';
import { withFolder } from './jail.ts';
import { describe, type Item } from './list.ts';
import { baseNameOf, jailPlaceOf, type Failure, type FileOperation, type Site } from './site.ts';

// However large the tree is, a call looks at so much of it and no more.
const MAX_LOOKED_AT = 10_000;
const MAX_DEPTH = 16;
const MAX_FOUND = 200;

/** Finds files and folders by their names, below a folder; links are neither found nor followed. */
export const search: FileOperation = async ({ path, name, limit }, site) => {
  if (name === undefined) return MISSING_NAME;
  const hunt: Hunt = {
    isWanted: matcherOf(name),
    most: Math.min(limit, MAX_FOUND),
    items: [],
    waiting: [[]],
    lookedAt: 0,
    isCut: false,
  };
  for (let names = hunt.waiting.shift(); names; names = hunt.waiting.shift()) {
    site.signal.throwIfAborted();
    await searchFolder(path, names, { hunt, site });
    if (hunt.isCut) break;
  }
  const { items, isCut } = hunt;
  return {
    path: baseNameOf(path, site),
    items,
    count: items.length,
    ...(isCut && { truncated: true as const }),
  };
};

const MISSING_NAME: Failure = {
  error: 'Missing name',
  message: 'search needs name: a part of the names to find, or a pattern such as *.md.',
};

interface Hunt {
  readonly isWanted: (name: string) => boolean;
  readonly most: number;
  readonly items: Item[];
  /** Folders still to look into, by the names that lead there. */
  readonly waiting: (readonly string[])[];
  lookedAt: number;
  isCut: boolean;
}

function matcherOf(name: string): Hunt['isWanted'] {
  const wanted = name.toLowerCase();
  if (!wanted.includes('*')) return (found) => found.toLowerCase().includes(wanted);
  const matches = compileGlob(wanted);
  return (found) => matches(found.toLowerCase());
}

async function searchFolder(
  path: string,
  names: readonly string[],
  { hunt, site }: { readonly hunt: Hunt; readonly site: Site },
): Promise<void> {
  const place = jailPlaceOf(path, site);
  try {
    await withFolder({ ...place, names: [...place.names, ...names] }, async (folder) => {
      for await (const found of await opendir(folder.path, { bufferSize: 256 })) {
        site.signal.throwIfAborted();
        if (hunt.lookedAt++ >= MAX_LOOKED_AT || hunt.items.length >= hunt.most) {
          hunt.isCut = true;
          return;
        }
        if (!(found.isFile() || found.isDirectory()) || !isSafeName(found.name, site.settings)) continue;
        const way = [...names, found.name];
        const item = hunt.isWanted(found.name) ? await describe(folder, found.name) : undefined;
        if (item) hunt.items.push({ ...item, name: way.join('/') });
        if (found.isDirectory() && way.length <= MAX_DEPTH) hunt.waiting.push(way);
      }
    });
  } catch (error) {
    // A folder below that was removed, is not readable or is now a link is left out.
    const { code = '' } = error as NodeJS.ErrnoException;
    if (names.length === 0 || !(error instanceof JailRefusal || GONE.has(code))) throw error;
  }
}

const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP']);
