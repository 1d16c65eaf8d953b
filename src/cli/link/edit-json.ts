import { parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';
import { ToolcribError } from '../../base/errors.ts';
import type { ClientEntry } from '../connect/client-shapes.ts';
import type { Insertion } from './splice.ts';

/** Which entry of which member of a file is meant. */
export interface EntryPlace {
  /** The member that holds servers by name. */
  readonly member: string;
  readonly name: string;
}

const LENIENT = { allowTrailingComma: true, disallowComments: false, allowEmptyContent: true };

/** The insertion that adds an entry to JSON with comments; everything else stays as it is. */
export function insertJson(text: string, place: EntryPlace, entry: ClientEntry): readonly Insertion[] {
  const style = styleOf(text);
  const root = rootOf(text);
  if (!root)
    return [
      {
        at: text.length,
        text: `${written({ [place.member]: { [place.name]: entry } }, style, '')}${style.eol}`,
      },
    ];
  const member = propertyOf(root, place.member);
  if (!member) return addProperty({ text, style, object: root }, place.member, { [place.name]: entry });
  const holder = member.children![1];
  if (holder?.type !== 'object') throw refuse(`"${place.member}" is no object; make it {} first`);
  if (propertyOf(holder, place.name)) throw refuse(`it has an entry "${place.name}" already`);
  return addProperty({ text, style, object: holder }, place.name, entry);
}

/** The same text without an entry: the parts to take out, in order. */
export function removeJson(
  text: string,
  { member, name }: EntryPlace,
): readonly (readonly [number, number])[] {
  const root = rootOf(text);
  const holder = root && propertyOf(root, member)?.children![1];
  const property = holder?.type === 'object' ? propertyOf(holder, name) : undefined;
  if (!holder || !property) return [];
  const siblings = holder.children!;
  const at = siblings.indexOf(property);
  const start = lineStart(text, property.offset);
  const end = property.offset + property.length;
  const comma = commaAfter(text, end);
  if (comma !== undefined) return [[start, lineEnd(text, comma + 1)]];
  const before = siblings[at - 1];
  const ours = [start, start === property.offset ? end : lineEnd(text, end)] as const;
  const left = before && commaAfter(text, before.offset + before.length);
  return left === undefined ? [ours] : [[left, left + 1], ours];
}

/** The value of JSON with comments; refused where it cannot be read, or can be read in two ways. */
export function readCommentedJson(text: string): unknown {
  const root = rootOf(text);
  return root ? valueOf(root) : {};
}

function rootOf(text: string): Node | undefined {
  const errors: ParseError[] = [];
  const start = text.startsWith('\ufeff') ? 1 : 0;
  const root = parseTree(start === 1 ? ` ${text.slice(1)}` : text, errors, LENIENT);
  if (errors.length > 0) {
    const { error, offset } = errors[0]!;
    const line = text.slice(0, offset).split('\n').length;
    throw refuse(`it is not JSON (${printParseErrorCode(error)} in line ${line}); correct it first`);
  }
  if (!root) return undefined;
  if (root.type !== 'object') throw refuse('it holds no object; make it {} first');
  return root;
}

// A key that is there twice means something else to every reader.
function propertyOf(object: Node, key: string): Node | undefined {
  const found = (object.children ?? []).filter(({ children }) => children?.[0]?.value === key);
  if (found.length > 1) throw refuse(`"${key}" is there twice; remove one of them first`);
  return found[0];
}

function valueOf(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(valueOf);
  if (node.type !== 'object') return node.value as unknown;
  const pairs = (node.children ?? []).map(
    ({ children }) => [String(children![0]!.value), children![1] && valueOf(children![1])] as const,
  );
  return Object.fromEntries(pairs);
}

interface Style {
  readonly eol: string;
  readonly unit: string;
}

function styleOf(text: string): Style {
  const indented = /^(?<unit>[ \t]+)\S/m.exec(text)?.groups?.['unit'];
  return {
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    unit: indented?.startsWith('\t') ? '\t' : (indented ?? '  '),
  };
}

interface Target {
  readonly text: string;
  readonly style: Style;
  readonly object: Node;
}

function addProperty({ text, style, object }: Target, key: string, value: unknown): readonly Insertion[] {
  const children = object.children ?? [];
  const last = children.at(-1);
  const inside = text.slice(object.offset, object.offset + object.length);
  if (!inside.includes('\n') && (last || !text.trim().includes('\n'))) {
    const line = `${JSON.stringify(key)}:${JSON.stringify(value)}`;
    return [last ? behind(text, last, line) : { at: object.offset + 1, text: line }].flat();
  }
  const indent = last ? indentAt(text, children[0]!.offset) : indentAt(text, object.offset) + style.unit;
  const line = `${style.eol}${indent}${JSON.stringify(key)}: ${written(value, style, indent)}`;
  if (last) return behind(text, last, line);
  // Comments of an empty object stay in front.
  const content = inside.slice(1, -1).trimEnd();
  const end = inside.includes('\n') ? '' : `${style.eol}${indentAt(text, object.offset)}`;
  return [{ at: object.offset + 1 + content.length, text: line + end }];
}

// Behind the last property, and behind the comment that follows it in its line.
function behind(text: string, last: Node, line: string): readonly Insertion[] {
  const end = last.offset + last.length;
  const comma = commaAfter(text, end);
  const isBlock = line.startsWith('\n') || line.startsWith('\r');
  const after = comma === undefined ? end : comma + 1;
  const at = isBlock ? commentEnd(text, after) : after;
  if (comma !== undefined) return [{ at, text: line }];
  return at === end
    ? [{ at, text: `,${line}` }]
    : [
        { at: end, text: ',' },
        { at, text: line },
      ];
}

function written(value: unknown, { eol, unit }: Style, indent: string): string {
  return JSON.stringify(value, undefined, unit).replaceAll('\n', `${eol}${indent}`);
}

function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))![0];
}

// The comma that follows, with nothing but blanks and comments in between.
function commaAfter(text: string, from: number): number | undefined {
  let at = from;
  for (;;) {
    at = skipBlanks(text, at);
    const end = commentAt(text, at);
    if (end === undefined) return text[at] === ',' ? at : undefined;
    at = end;
  }
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (/\s/.test(text[at] ?? '')) at++;
  return at;
}

function commentAt(text: string, at: number): number | undefined {
  if (text.startsWith('//', at)) return endOr(text.indexOf('\n', at), text);
  return text.startsWith('/*', at) ? endOr(text.indexOf('*/', at), text, 2) : undefined;
}

function endOr(found: number, text: string, more = 0): number {
  return found < 0 ? text.length : found + more;
}

// The end of the comments that stand in the same line; a carriage return stays with its line feed.
function commentEnd(text: string, from: number): number {
  let at = from;
  for (;;) {
    let next = at;
    while (text[next] === ' ' || text[next] === '\t') next++;
    const end = commentAt(text, next);
    if (end === undefined || text.slice(next, end).includes('\n')) return at;
    at = text[end - 1] === '\r' ? end - 1 : end;
  }
}

function lineStart(text: string, offset: number): number {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return start > 0 && text.slice(start, offset).trim() === '' ? start : offset;
}

// Whole lines go with their line break, as far as nothing else is in them.
function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end >= 0 && text.slice(offset, end).trim() === '' ? end + 1 : offset;
}

function refuse(why: string): ToolcribError {
  return new ToolcribError('invalid_setup', why);
}
