import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { specifiersIn, type Specifier } from './import-specifiers.ts';
import { isIgnoredFolder } from './files.ts';
import { PackageReader } from './package-reader.ts';
import { lookAt, realPlace } from './real-place.ts';

/** A place code is imported from, and the importing file. */
export interface ImportPlace {
  readonly importer: string;
  /**
   * `at` a path, with any extension or as a folder; `below` a path prefix; a `package`; or `anywhere`, if the name is
   * computed.
   */
  readonly kind: 'at' | 'below' | 'package' | 'anywhere';
  readonly path: string;
}

/** A file with everything it imports. */
export interface ImportGraph {
  /** The file and all it imports, links both as they are and resolved. */
  readonly files: readonly string[];
  readonly places: readonly ImportPlace[];
  /** The real folders of imported packages and of their dependencies; computed on demand. */
  packages(): ReadonlySet<string>;
  /** Changes with the source of any file; if an import name is computed at run time, it is different each time. */
  readonly digest: string;
}

/** Follows imports from file to file as they are on disk now; a package counts as a whole. Each file is read once. */
export class ImportReader {
  readonly #nodes = new Map<string, Node>();
  readonly #packages = new PackageReader();

  /** All that a file imports, directly or not. */
  graph(entry: string): ImportGraph {
    const files = new Set<string>();
    const open = [entry];
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      if (files.has(file)) continue;
      files.add(file);
      open.push(...this.#node(file).next);
    }
    const nodes = Array.from(files, (file) => this.#node(file));
    const places = nodes.flatMap((node) => node.places);
    const isKnown = places.every(({ kind }) => kind !== 'anywhere');
    const digests = nodes.map(({ digest }) => digest).toSorted();
    return {
      files: [...files],
      places,
      packages: () => this.#packagesOf(places),
      digest: isKnown ? digestOf(digests.join()) : randomUUID(),
    };
  }

  #node(file: string): Node {
    let node = this.#nodes.get(file);
    if (!node) this.#nodes.set(file, (node = readNode(file, this.#packages)));
    return node;
  }

  #packagesOf(places: readonly ImportPlace[]): ReadonlySet<string> {
    const named = places.filter(({ kind }) => kind === 'package');
    return new Set(
      named.flatMap(({ path, importer }) => [...this.#packages.withDependencies(path, dirname(importer))]),
    );
  }
}

interface Node {
  readonly digest: string;
  readonly places: readonly ImportPlace[];
  readonly next: readonly string[];
}

function readNode(file: string, packages: PackageReader): Node {
  const real = realPlace(file);
  // A linked file is loaded from its target, and imports from there.
  const linked = real === file ? [] : [real];
  let source: string;
  try {
    source = readFileSync(file, 'utf8');
  } catch {
    return { digest: digestOf(file), places: [], next: linked };
  }
  const specifiers = isCode(file) ? specifiersIn(source) : [];
  const places = specifiers.flatMap((one) => placesOf(one, file, packages));
  return {
    digest: digestOf(`${file}\n${source}`) + packageDigest(places, packages),
    places,
    next: [...linked, ...places.flatMap((place) => filesAt(place, packages))],
  };
}

function placesOf({ text, isWhole }: Specifier, importer: string, packages: PackageReader): ImportPlace[] {
  const name = text.replace(/[?#].*$/, (end) => (text.startsWith('#') ? end : ''));
  if (isWhole && (isBuiltin(name) || /^(?:data|https?|node):/.test(name))) return [];
  const folder = dirname(importer);
  if (/^(?:\.\.?(?:\/|$)|\/|file:)/.test(name)) {
    const kind = isWhole ? 'at' : 'below';
    const end = name.endsWith('/') && !isWhole ? '/' : '';
    const paths = name.startsWith('file:')
      ? [fromUrl(name)]
      : spellings(name).map((one) => resolve(folder, one));
    return paths.map((path) => ({ importer, kind, path: path + end }));
  }
  if (name.startsWith('#')) return ownPlaces(importer, packages);
  const [, owner] = /^((?:@[^/]+\/)?[^@/][^/]*)/.exec(name) ?? [];
  if (owner === undefined && name === '') return [{ importer, kind: 'anywhere', path: '' }];
  // A package may import itself by its own name.
  return [{ importer, kind: 'package', path: owner ?? name }, ...ownPlaces(importer, packages, owner)];
}

// Node decodes a name as part of a URL; other loaders use it as written.
function spellings(name: string): string[] {
  try {
    return [...new Set([name, decodeURIComponent(name)])];
  } catch {
    return [name];
  }
}

function fromUrl(name: string): string {
  try {
    return fileURLToPath(name);
  } catch {
    return name.slice('file://'.length);
  }
}

/** The imports and exports of the package around a file; only for the package of this name, if one is given. */
function ownPlaces(importer: string, packages: PackageReader, name?: string): ImportPlace[] {
  const folder = folderOfPackage(dirname(importer));
  const { imports, exports, name: own } = folder === undefined ? {} : packages.read(folder);
  if (folder === undefined || (name !== undefined && own !== name)) return [];
  return textsIn(name === undefined ? imports : exports).flatMap((text): ImportPlace[] => {
    if (!text.startsWith('.')) return [];
    const [fixed = '', ...rest] = text.split('*');
    const written = { text: fixed, isWhole: rest.length === 0 };
    return placesOf(written, join(folder, 'package.json'), packages).map((place) => ({ ...place, importer }));
  });
}

function folderOfPackage(folder: string): string | undefined {
  if (lookAt(join(folder, 'package.json'))?.isFile()) return folder;
  return dirname(folder) === folder ? undefined : folderOfPackage(dirname(folder));
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const ENDINGS = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.jsx', '.tsx', '.json', '.node'];

/** A file name without its extension. */
export function stemOf(name: string): string {
  const ending = ENDINGS.find((one) => name.endsWith(one));
  return ending === undefined ? name : name.slice(0, -ending.length);
}

/** The files that may be meant: the loader chooses one of them. */
function filesAt({ kind, path }: ImportPlace, packages: PackageReader): string[] {
  if (kind === 'below') return sourcesBelow(path);
  if (kind !== 'at') return [];
  const stems = new Set([path, join(dirname(path), stemOf(basename(path)))]);
  const named = [...stems].flatMap((stem) => ['', ...ENDINGS].map((ending) => stem + ending));
  const { main } = packages.read(path);
  const inside = ENDINGS.map((ending) => join(path, `index${ending}`));
  const pointed = typeof main === 'string' ? ['', ...ENDINGS].map((ending) => join(path, main) + ending) : [];
  return [...new Set([...named, ...inside, ...pointed])].filter((file) => lookAt(file)?.isFile());
}

function sourcesBelow(prefix: string): string[] {
  const folder = prefix.endsWith('/') ? prefix.slice(0, -1) : dirname(prefix);
  const files: string[] = [];
  for (const name of namesIn(folder)) {
    const path = join(folder, name);
    if (!path.startsWith(prefix)) continue;
    const stat = lookAt(path);
    if (stat?.isFile() && isCode(path)) files.push(path);
    else if (stat?.isDirectory() && !isIgnoredFolder(name)) files.push(...sourcesBelow(`${path}/`));
  }
  return files;
}

function isCode(file: string): boolean {
  return /\.[cm]?[jt]sx?$/.test(file);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

// While a process runs, a package changes only with its version.
function packageDigest(places: readonly ImportPlace[], packages: PackageReader): string {
  return places
    .filter(({ kind }) => kind === 'package')
    .map(({ path, importer }) => {
      const folder = packages.find(path, dirname(importer));
      const { name, version } = folder === undefined ? {} : packages.read(folder);
      return `${folder} ${String(name)} ${String(version)}`;
    })
    .join();
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
