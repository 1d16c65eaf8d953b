import { complaintError, formatPath, type Complaint } from '../../config/complaint.ts';
import type { About, Path } from '../../config/yaml-text.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { JsonPlaces } from './json-places.ts';
import { withoutComments } from './json-with-comments.ts';

/** The content of a file, with the places of its parts. */
export interface FileText {
  readonly value: unknown;
  /** Says what is wrong at a place of the file. */
  complain(path: Path, about: About): Promise<Complaint>;
}

/** Reads YAML, TOML, or JSON with comments, by the name of the file; errors name the place. */
export async function readFileText(source: string, file: string): Promise<FileText> {
  const text = source.replace(/^\uFEFF/, '');
  if (/\.ya?ml$/.test(file)) return readYaml(text, file);
  return file.endsWith('.toml') ? readToml(text, file) : readJson(text, file);
}

async function readYaml(text: string, file: string): Promise<FileText> {
  const { YamlText } = await import('../../config/yaml-text.ts');
  const yaml = new YamlText(text, file);
  const problems = yaml.problems();
  if (problems.length > 0) throw complaintError(problems);
  const complain = (path: Path, about: About): Promise<Complaint> =>
    Promise.resolve(yaml.complain(path, about));
  try {
    return { value: yaml.value(), complain };
  } catch {
    const message = 'The aliases of this file expand to too much; write it out.';
    throw complaintError([yaml.complain([], { message })]);
  }
}

async function readToml(text: string, file: string): Promise<FileText> {
  const { parse, TomlError } = await import('smol-toml');
  try {
    const value = parse(text);
    const complain = (path: Path, about: About): Promise<Complaint> =>
      Promise.resolve(complaintAt(tomlPlace(text, path), { file, path, about }));
    return { value, complain };
  } catch (error) {
    const { line, column } = error instanceof TomlError ? error : { line: 0, column: 0 };
    const about = { message: 'The file is not TOML from here on', remedy: 'correct it' };
    throw complaintError([complaintAt({ line, column }, { file, path: [], about })]);
  }
}

async function readJson(text: string, file: string): Promise<FileText> {
  const plain = withoutComments(text);
  // Clients make a file before they write anything into it.
  if (plain.trim() === '') return readJson('{}', file);
  const { placesInJson } = await import('./json-places.ts');
  try {
    const value: unknown = parseJson(plain);
    const complain = (path: Path, about: About): Promise<Complaint> => {
      const places = placesInJson(plain);
      return Promise.resolve(complaintAt(lineOf(text, offsetOf(places, path, about)), { file, path, about }));
    };
    return { value, complain };
  } catch {
    const about = { message: 'The file is not JSON from here on', remedy: 'correct it' };
    const offset = placesInJson(plain).errorAt ?? 0;
    throw complaintError([complaintAt(lineOf(text, offset), { file, path: [], about })]);
  }
}

// A missing part is reported at the place where it should be.
function offsetOf(places: JsonPlaces, path: Path, { isKey = false }: About): number {
  for (let length = path.length; length > 0; length--) {
    const place = places.at(path.slice(0, length));
    if (place) return isKey || length < path.length ? place.key : place.value;
  }
  return 0;
}

interface Place {
  readonly line: number;
  readonly column: number;
}

function lineOf(text: string, offset: number): Place {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

// The line of the key below the heading of its table, or that of the heading.
function tomlPlace(text: string, path: Path): Place {
  const words = path.filter((key) => typeof key === 'string');
  const lines = text.split('\n');
  let best: Place & { readonly depth: number } = { line: 1, column: 1, depth: 0 };
  let table: readonly string[] = [];
  for (const [at, line] of lines.entries()) {
    const heading = /^\s*\[([^\]]*)\]/.exec(line)?.[1];
    const key = /^\s*([^=#\s]+)\s*=/.exec(line)?.[1];
    if (heading !== undefined) table = keysOf(heading);
    if (heading === undefined && key === undefined) continue;
    const here = heading === undefined ? [...table, ...keysOf(key!)] : table;
    const isOnTheWay = here.every((word, index) => word === words[index]);
    if (isOnTheWay && here.length > best.depth)
      best = { line: at + 1, column: line.search(/\S/) + 1, depth: here.length };
  }
  return best;
}

function keysOf(dotted: string): string[] {
  return dotted.split('.').map((key) => key.trim().replaceAll(/^["']|["']$/g, ''));
}

function complaintAt(
  { line, column }: Place,
  { file, path, about }: { readonly file: string; readonly path: Path; readonly about: About },
): Complaint {
  const { message, remedy = '', severity = 'error' } = about;
  return { file, line, column, path: formatPath(path), message, remedy, severity };
}
