import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import { lookAt, realPlace } from './real-place.ts';

type Facts = Readonly<Record<string, unknown>>;

/** Finds packages as they are installed now; each is searched and read once. */
export class PackageReader {
  readonly #found = new Map<string, string | undefined>();
  readonly #facts = new Map<string, Facts>();
  readonly #around = new Map<string, ReadonlySet<string>>();

  /** The real folder of a package, if it is installed. */
  find(name: string, from: string): string | undefined {
    const key = `${from}\n${name}`;
    if (!this.#found.has(key)) {
      const place = packageFolders(from)
        .map((folder) => join(folder, name))
        .find((folder) => lookAt(folder)?.isDirectory());
      this.#found.set(key, place === undefined ? undefined : realPlace(place));
    }
    return this.#found.get(key);
  }

  /** The fields of a package.json that matter here. */
  read(folder: string): Facts {
    let facts = this.#facts.get(folder);
    if (!facts) this.#facts.set(folder, (facts = readFacts(folder)));
    return facts;
  }

  /** The real folders of a package and of all its dependencies. */
  withDependencies(name: string, from: string): ReadonlySet<string> {
    const first = this.find(name, from);
    if (first === undefined) return NONE;
    let all = this.#around.get(first);
    if (!all) this.#around.set(first, (all = this.#gather(first)));
    return all;
  }

  #gather(first: string): ReadonlySet<string> {
    const all = new Set([first]);
    // Iterating a set also visits items that are added meanwhile.
    for (const folder of all) {
      const { dependencies, optionalDependencies, peerDependencies } = this.read(folder);
      const lists = [dependencies, optionalDependencies, peerDependencies].filter(isObject);
      for (const name of lists.flatMap(Object.keys)) {
        const found = this.find(name, folder);
        if (found !== undefined) all.add(found);
      }
    }
    return all;
  }
}

/** Where packages are searched from a folder, nearest first. */
export function packageFolders(folder: string): string[] {
  const parent = dirname(folder);
  const here = basename(folder) === 'node_modules' ? [] : [join(folder, 'node_modules')];
  return parent === folder ? here : [...here, ...packageFolders(parent)];
}

const NONE: ReadonlySet<string> = new Set();

function readFacts(folder: string): Facts {
  try {
    const read = parseJson(readFileSync(join(folder, 'package.json'), 'utf8'));
    return isObject(read) ? read : {};
  } catch {
    return {};
  }
}
