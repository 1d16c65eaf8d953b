import { escapeUnseen } from '../../base/escape-unseen.ts';

/** A TypeScript type as text, and how tightly it binds. */
export interface TypeText {
  readonly text: string;
  readonly binds: 'alone' | 'and' | 'or';
}

/** A type that needs no parentheses. */
export function alone(text: string): TypeText {
  return { text, binds: 'alone' };
}

/** Any value. */
export const UNKNOWN: TypeText = alone('unknown');

/** No value. */
export const NEVER: TypeText = alone('never');

/** A union of types. */
export function unionOf(types: readonly TypeText[]): TypeText {
  if (types.some(({ text }) => text === UNKNOWN.text)) return UNKNOWN;
  const parts = distinct(types, NEVER);
  if (parts.length <= 1) return parts[0] ?? NEVER;
  return { text: parts.map(({ text }) => text).join(' | '), binds: 'or' };
}

/** An intersection of types. */
export function intersectionOf(types: readonly TypeText[]): TypeText {
  if (types.some(({ text }) => text === NEVER.text)) return NEVER;
  const parts = distinct(types, UNKNOWN);
  if (parts.length <= 1) return parts[0] ?? UNKNOWN;
  return {
    text: parts.map(({ text, binds }) => (binds === 'or' ? `(${text})` : text)).join(' & '),
    binds: 'and',
  };
}

/** An array of a type. */
export function listOf({ text, binds }: TypeText): TypeText {
  return alone(binds === 'alone' ? `${text}[]` : `(${text})[]`);
}

/** The type of exactly one JSON value. */
export function literalOf(value: unknown): TypeText {
  if (typeof value === 'string') return alone(quote(value));
  if (typeof value !== 'object' || value === null) return alone(String(value));
  if (Array.isArray(value)) return alone(`[${value.map((item) => literalOf(item).text).join(', ')}]`);
  const members = Object.entries(value).map(([key, item]) => `${keyOf(key)}: ${literalOf(item).text}`);
  return alone(members.length === 0 ? '{ [key: string]: never }' : `{ ${members.join('; ')} }`);
}

/** The name of a property, quoted where TypeScript needs it. */
export function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name);
}

/** A doc comment above a declaration, each line of it indented; nothing for no text. */
export function docComment(text: string, indent: string): string {
  const lines = text
    .split(/\r\n|[\r\n\u2028\u2029]/)
    .map((line) => safeInComment(line).trimEnd())
    .join('\n')
    .trim()
    .split('\n');
  if (lines.length === 1) return lines[0] === '' ? '' : `${indent}/** ${lines[0]} */\n`;
  const body = lines.map((line) => `${indent} *${line === '' ? '' : ` ${line}`}\n`).join('');
  return `${indent}/**\n${body}${indent} */\n`;
}

// Nothing that ends the comment, is invisible, or is a compiler directive.
function safeInComment(line: string): string {
  return escapeUnseen(line.replaceAll('\t', '  ')).replaceAll('*/', '*\\/').replaceAll('@ts-', '@ ts-');
}

function quote(text: string): string {
  return escapeUnseen(JSON.stringify(text));
}

function distinct(types: readonly TypeText[], neutral: TypeText): readonly TypeText[] {
  return [
    ...new Map(types.filter(({ text }) => text !== neutral.text).map((type) => [type.text, type])).values(),
  ];
}
