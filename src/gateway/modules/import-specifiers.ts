/** An import of a source file. */
export interface Specifier {
  /** The name, or its literal beginning. */
  readonly text: string;
  /** Whether the text is the whole name, or only the beginning of a name computed at run time. */
  readonly isWhole: boolean;
}

/**
 * Finds every name a source file imports or requires, or the literal beginning of a computed name. Finds too many
 * rather than too few.
 */
export function specifiersIn(source: string): Specifier[] {
  const found = Array.from(source.matchAll(STATIC), ([, double, single]) => ({
    text: double ?? single ?? '',
    isWhole: true,
  }));
  for (const { index, end, isCode } of openings(source)) {
    const argument = argumentAt(source, end);
    if (argument && (isCode || argument.text !== '') && !(argument.text === '' && isComment(source, index)))
      found.push(argument);
  }
  return found;
}

const STATIC = /(?<![\w$.])(?:from|import)\s*(?:"([^"\n]*)"|'([^'\n]*)')/g;
const LOADER =
  /(?:(?<![\w$.])import|import\.meta\.resolve|(?<![\w$.]|function\s)(?:module\.)?require(?:\.resolve)?|createRequire\([^()]*(?:\([^()]*\)[^()]*)?\)|\b(?:Worker|fork))\s*\(/g;
const ALIAS = /(?<![\w$])([\w$]+)\s*=\s*(?:\w+\.)?createRequire\(/g;
const NAMED_CALL = /(?<![\w$.])([\w$]+)(?:\.resolve)?\s*\(/g;
const NEW_URL = /new\s+URL\s*\(/y;

interface Opening {
  readonly index: number;
  readonly end: number;
  /** A thread or a process may run any kind of file, so there only literal names count. */
  readonly isCode: boolean;
}

// Also finds calls of a loading function under another name.
function openings(source: string): Opening[] {
  const aliases = new Set(Array.from(source.matchAll(ALIAS), ([, name]) => name));
  const found = Array.from(source.matchAll(LOADER), ({ 0: text, index }) => ({
    index,
    end: index + text.length,
    isCode: !text.startsWith('Worker') && !text.startsWith('fork'),
  }));
  if (aliases.size === 0) return found;
  for (const { 0: text, 1: name, index } of source.matchAll(NAMED_CALL))
    if (aliases.has(name)) found.push({ index, end: index + text.length, isCode: true });
  return found;
}

function argumentAt(source: string, start: number): Specifier | undefined {
  const at = afterBlank(source, start);
  const quote = source[at];
  if (quote === ')' || quote === undefined) return undefined;
  if (!`"'\``.includes(quote)) return { text: '', isWhole: false };
  const rest = source.slice(at + 1);
  const end = firstOf(rest, quote, quote === '`' ? '${' : '\n');
  const text = rest.slice(0, end);
  const next = source[afterBlank(source, at + text.length + 2)];
  return { text, isWhole: rest[end] === quote && (next === ')' || next === ',') };
}

function firstOf(text: string, one: string, other: string): number {
  return Math.min(indexIn(text, one, 0), indexIn(text, other, 0));
}

function afterBlank(source: string, from: number): number {
  let at = from;
  for (;;) {
    if (/\s/.test(source[at] ?? '')) at++;
    else if (source.startsWith('/*', at)) at = indexIn(source, '*/', at + 2) + 2;
    else if (source.startsWith('//', at)) at = indexIn(source, '\n', at + 2);
    else {
      NEW_URL.lastIndex = at;
      if (!NEW_URL.test(source)) return at;
      at = NEW_URL.lastIndex;
    }
  }
}

/** The position of a text, or the end of the source. */
function indexIn(source: string, text: string, from: number): number {
  const index = source.indexOf(text, from);
  return index < 0 ? source.length : index;
}

function isComment(source: string, index: number): boolean {
  const line = source.slice(source.lastIndexOf('\n', index) + 1, index);
  return /^\s*(?:\/\/|\/?\*)/.test(line);
}
