import { isDeepStrictEqual } from 'node:util';
import { isMap, parseDocument, stringify, type Document } from 'yaml';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { NewEntry } from './new-entry.ts';

/** Puts servers into the text of `toolcrib.yaml`; everything else stays as it is, comments and order included. */
export function withServers(text: string, servers: Readonly<Record<string, NewEntry>>): string {
  const document = parse(text);
  const before = (document.toJS() ?? {}) as Record<string, unknown>;
  const known = isObject(before['mcpServers']) ? before['mcpServers'] : {};
  for (const name of Object.keys(servers))
    if (Object.hasOwn(known, name))
      throw new ToolcribError(
        'invalid_setup',
        `It has a server "${name}" already; choose another with --name.`,
      );
  const written = insert(text, document, servers);
  const expected = { ...before, mcpServers: { ...known, ...servers } };
  if (!isDeepStrictEqual(parse(written).toJS(), expected))
    throw new ToolcribError(
      'invalid_setup',
      'The entry does not fit into how the file is written; add it by hand.',
    );
  return written;
}

/** The names of the servers in the text of `toolcrib.yaml`. */
export function serverNames(text: string): readonly string[] {
  const content: unknown = parse(text).toJS();
  const servers = isObject(content) ? content['mcpServers'] : undefined;
  return isObject(servers) ? Object.keys(servers) : [];
}

function parse(text: string): Document.Parsed {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error)
    throw new ToolcribError(
      'invalid_setup',
      `It is not YAML; correct it first: ${error.message.split('\n', 1)[0]!.replace(/:$/, '.')}`,
    );
  const { contents } = document;
  if (contents !== null && !isMap(contents) && document.toJS() !== null)
    throw new ToolcribError(
      'invalid_setup',
      'It holds no settings; write lines of "key: value", or choose another file.',
    );
  return document;
}

function insert(
  text: string,
  document: Document.Parsed,
  servers: Readonly<Record<string, NewEntry>>,
): string {
  const { contents } = document;
  const holder = isMap(contents) ? contents.get('mcpServers', true) : undefined;
  const isBlock = (node: unknown): boolean => isMap(node) && node.flow !== true && node.items.length > 0;
  if (isMap(holder) && isBlock(holder)) {
    const [start = 0, end = text.length] = holder.range ?? [];
    const indent = start - (text.lastIndexOf('\n', start - 1) + 1);
    return spliced(text, lineAfter(text, end), indented(servers, ' '.repeat(indent)));
  }
  if (holder === undefined && (contents === null || isBlock(contents))) {
    const gap = text.trim() === '' ? '' : '\n';
    return spliced(text, text.length, `${gap}${indented({ mcpServers: servers }, '')}`);
  }
  // Written in braces, or empty: the file is laid out anew, with its comments.
  if (!isMap(holder)) document.set('mcpServers', document.createNode(servers));
  else for (const [name, entry] of Object.entries(servers)) holder.set(name, document.createNode(entry));
  return document.toString({ lineWidth: 0 }).replaceAll(/\r?\n/g, lineEndOf(text));
}

function indented(value: unknown, indent: string): string {
  return stringify(value, { lineWidth: 0 })
    .split('\n')
    .map((line) => (line === '' ? '' : indent + line))
    .join('\n');
}

function spliced(text: string, at: number, more: string): string {
  const before = text.slice(0, at);
  const lineEnd = lineEndOf(text);
  const gap = before === '' || before.endsWith('\n') ? '' : lineEnd;
  return `${before}${gap}${more.replaceAll('\n', lineEnd)}${text.slice(at)}`;
}

function lineEndOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

// The range of a map ends with its last value, or behind the line break after it.
function lineAfter(text: string, end: number): number {
  if (end === 0 || text[end - 1] === '\n') return end;
  const next = text.indexOf('\n', end);
  return next < 0 ? text.length : next + 1;
}
