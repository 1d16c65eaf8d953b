import { readdir, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { compileGlob } from '../../base/glob.ts';

/** A parsed file pattern. */
export interface FilePattern {
  readonly text: string;
  /** The folder of everything it matches. */
  readonly folder: string;
  /** How many levels of folders below it are searched. */
  readonly depth: number;
  readonly matches: (file: string) => boolean;
  /** Whether a folder below it is searched, by the names that lead there; `undefined` matches any name. */
  readonly looksInto: (names: readonly (string | undefined)[]) => boolean;
}

const SOURCE = /\.[cm]?[jt]s$/;
// Files beside tools that are not tools: declarations and tests.
const BESIDE = /\.(?:d|test|spec)\.[cm]?[jt]s$/;

/** Whether a file may hold the code of tools. */
export function isSource(file: string): boolean {
  return SOURCE.test(file) && !BESIDE.test(file);
}

/** Whether a folder is never searched: hidden ones, and packages. */
export function isIgnoredFolder(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules';
}

/** Parses `dir/file.ts`, `dir/*.ts` and `dir/**` + `/*.ts`; `{a,b}` matches either. */
export function filePattern(text: string, baseDir: string): FilePattern {
  const parts = text.split(/[\\/]/);
  const firstMagic = parts.findIndex((part) => /[*{]/.test(part));
  const fixed = firstMagic < 0 ? parts.length - 1 : firstMagic;
  const folder = resolve(baseDir, parts.slice(0, fixed).join('/') || (text.startsWith('/') ? '/' : '.'));
  const rest = parts.slice(fixed);
  const fits = rest.map(segment);
  return {
    text,
    folder,
    depth: rest.includes('**') ? Infinity : rest.length - 1,
    matches(file) {
      const inside = relative(folder, file).split(sep);
      return inside[0] !== '..' && isSource(file) && matchesAll(fits, inside);
    },
    looksInto: (names) => leadsInto(fits, names),
  };
}

/** The files that match a pattern, in the order of their names. */
export async function findFiles(pattern: FilePattern): Promise<string[]> {
  const files = await sourcesIn(pattern.folder, pattern.depth);
  return files.filter(pattern.matches).toSorted();
}

/** Whether a file still exists. */
export async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

async function sourcesIn(folder: string, depth: number): Promise<string[]> {
  let entries;
  try {
    entries = await readdir(folder, { withFileTypes: true });
  } catch {
    return [];
  }
  const files: string[] = [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) files.push(...(isSource(path) ? [path] : []));
    else if (depth > 0 && !isIgnoredFolder(entry.name)) files.push(...(await sourcesIn(path, depth - 1)));
  }
  return files;
}

type Segment = '**' | ((name: string) => boolean);

function segment(part: string): Segment {
  if (part === '**') return part;
  const choices = alternatives(part).map(compileGlob);
  return (name) => choices.some((matches) => matches(name));
}

// Each `{a,b}` matches either.
function alternatives(part: string): string[] {
  const open = part.indexOf('{');
  const close = part.indexOf('}', open);
  if (open < 0 || close < 0) return [part];
  const rest = alternatives(part.slice(close + 1));
  const choices = part.slice(open + 1, close).split(',');
  return choices.flatMap((choice) => rest.map((end) => part.slice(0, open) + choice + end));
}

function matchesAll([first, ...rest]: readonly Segment[], names: readonly string[]): boolean {
  if (first === undefined) return names.length === 0;
  if (first !== '**') return names.length > 0 && first(names[0]!) && matchesAll(rest, names.slice(1));
  if (rest.length === 0) return names.length > 0;
  return names.some((_, index) => matchesAll(rest, names.slice(index)));
}

function leadsInto([first, ...rest]: readonly Segment[], names: readonly (string | undefined)[]): boolean {
  if (first === undefined) return false;
  const [name] = names;
  if (names.length === 0 || first === '**') return true;
  return (name === undefined || first(name)) && leadsInto(rest, names.slice(1));
}
