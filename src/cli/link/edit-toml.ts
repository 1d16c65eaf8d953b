import { parse, stringify } from 'smol-toml';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { ClientEntry } from '../connect/client-shapes.ts';
import type { EntryPlace } from './edit-json.ts';
import type { Insertion } from './splice.ts';

/** What has to be put at the end of TOML for an entry to be there. */
export function insertToml(
  text: string,
  { member, name }: EntryPlace,
  entry: ClientEntry,
): readonly Insertion[] {
  const holder = readToml(text)[member];
  if (holder !== undefined && !isObject(holder)) throw refuse(`"${member}" is no table`);
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
  let isOurs = false;
  let at = 0;
  for (const line of text.split(/(?<=\n)/)) {
    const header = /^\s*\[([^[\]]+)\]/.exec(line)?.[1]?.trim();
    if (header !== undefined) isOurs = header === own || header.startsWith(`${own}.`);
    if (isOurs) {
      const last = parts.at(-1);
      if (last?.[1] === at) last[1] += line.length;
      else parts.push([at, at + line.length]);
    }
    at += line.length;
  }
  return parts;
}

/** The value of TOML; refused where it cannot be read. */
export function readToml(text: string): Record<string, unknown> {
  try {
    return parse(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch (cause) {
    const [line = ''] = (cause as Error).message.split('\n');
    throw new ToolcribError('invalid_setup', `it is no TOML (${line})`, { cause });
  }
}

function refuse(why: string): ToolcribError {
  return new ToolcribError('invalid_setup', why);
}
