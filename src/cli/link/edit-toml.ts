import { parse, stringify } from 'smol-toml';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { ClientEntry } from '../connect/client-shapes.ts';
import type { EntryPlace } from './edit-json.ts';
import type { Insertion } from './splice.ts';

/** The text to append to TOML, so that it has an entry. */
export function insertToml(
  text: string,
  { member, name }: EntryPlace,
  entry: ClientEntry,
): readonly Insertion[] {
  const holder = readToml(text)[member];
  if (holder !== undefined && !isObject(holder)) throw refuse(`"${member}" is no table; make it one first`);
  if (holder && Object.hasOwn(holder, name)) throw refuse(`it has an entry "${name}" already`);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
  const table = stringify({ [member]: { [name]: entry } })
    .split('\n')
    // The table around it may be there already.
    .filter((line) => line !== `[${member}]` && line !== '')
    .join(eol);
  return [{ at: text.length, text: `${gap}${table}${eol}` }];
}

/** The lines of an entry and of the tables inside it, as parts to take out. */
export function removeToml(
  text: string,
  { member, name }: EntryPlace,
): readonly (readonly [number, number])[] {
  const key = /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
  const own = `${member}.${key}`;
  const parts: [number, number][] = [];
  let at = 0;
  for (const table of tablesIn(text)) {
    const header = /^\s*\[([^[\]]+)\]/.exec(table)?.[1]?.trim();
    if (header === own || header?.startsWith(`${own}.`)) {
      const end = at + table.length - lastComments(table).length;
      const last = parts.at(-1);
      if (last?.[1] === at) last[1] = end;
      else parts.push([at, end]);
    }
    at += table.length;
  }
  return parts;
}

function tablesIn(text: string): readonly string[] {
  return text.split(/(?<=\n)(?=[ \t]*\[\[?[^[\]\n]+\])/);
}

// Comments at the end of a table belong to the next one.
function lastComments(table: string): string {
  const lines = table.split(/(?<=\n)/);
  const last = lines.findLastIndex((line) => !/^\s*(?:#|$)/.test(line));
  const first = lines.findIndex((line, at) => at > last && line.trim() !== '');
  return first < 0 ? '' : lines.slice(first).join('');
}

/** The value of TOML; refused where it cannot be read. */
export function readToml(text: string): Record<string, unknown> {
  try {
    return parse(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch (cause) {
    const [line = ''] = (cause as Error).message.split('\n');
    throw new ToolcribError('invalid_setup', `it is not TOML (${line}); correct it first`, { cause });
  }
}

function refuse(why: string): ToolcribError {
  return new ToolcribError('invalid_setup', why);
}
