import { isDeepStrictEqual } from 'node:util';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { ClientFile } from '../servers/client-files.ts';
import type { ClientEntry } from '../connect/client-shapes.ts';
import { insertJson, readCommentedJson, removeJson } from './edit-json.ts';
import { insertToml, readToml, removeToml } from './edit-toml.ts';
import { insertAll, removeAll, type Insertion } from './splice.ts';

/** A file of a client, and the name of our entry in it. */
export type EntryIn = Pick<ClientFile, 'format' | 'member'> & { readonly name: string };

/** A changed text, and the part that was inserted. */
export interface EditedText {
  readonly text: string;
  readonly insertions: readonly Insertion[];
}

/** Puts an entry into the text of a file; checks that it means the same as before but for the entry. */
export function putEntry(text: string, place: EntryIn, entry: ClientEntry): EditedText {
  const before = readServers(text, place);
  const insertions = (place.format === 'json' ? insertJson : insertToml)(text, place, entry);
  const edited = insertAll(text, insertions);
  requireMeaning(edited, place, { ...before, servers: { ...before.servers, [place.name]: plain(entry) } });
  return { text: edited, insertions };
}

/** Takes an entry out: exactly the inserted text if that is still there, otherwise the entry alone. */
export function takeEntry(text: string, place: EntryIn, insertions: readonly Insertion[]): string {
  const before = readServers(text, place);
  const { [place.name]: _ours, ...servers } = before.servers;
  const exact = removeAll(text, insertions);
  if (exact !== undefined && hasMeaning(exact, place, { ...before, servers })) return exact;
  const parts = (place.format === 'json' ? removeJson : removeToml)(text, place);
  const edited = cut(text, parts);
  requireMeaning(edited, place, { ...before, servers });
  return edited;
}

/** The entry of this name in a file, if it has one. */
export function findEntry(text: string, place: EntryIn): unknown {
  const { servers } = readServers(text, place);
  return Object.hasOwn(servers, place.name) ? servers[place.name] : undefined;
}

interface Meaning {
  readonly servers: Readonly<Record<string, unknown>>;
  readonly others: Readonly<Record<string, unknown>>;
}

function readServers(text: string, { format, member }: EntryIn): Meaning {
  const content = format === 'json' ? readCommentedJson(text) : readToml(text);
  const { [member]: servers, ...others } = isObject(content) ? content : {};
  return { servers: isObject(servers) ? servers : {}, others };
}

function requireMeaning(text: string, place: EntryIn, expected: Meaning): void {
  if (hasMeaning(text, place, expected)) return;
  throw new ToolcribError(
    'invalid_setup',
    'the entry does not fit into how it is written; add or remove it by hand',
  );
}

function hasMeaning(text: string, place: EntryIn, expected: Meaning): boolean {
  try {
    return isDeepStrictEqual(plain(readServers(text, place)), plain(expected));
  } catch {
    return false;
  }
}

// Readers of TOML and JSON make objects of different kinds.
function plain(value: unknown): unknown {
  return parseJson(JSON.stringify(value));
}

function cut(text: string, parts: readonly (readonly [number, number])[]): string {
  let made = '';
  let from = 0;
  for (const [start, end] of parts) {
    made += text.slice(from, start);
    from = end;
  }
  return made + text.slice(from);
}
