/** What a source file says it imports. */
export interface Specifier {
  /** The name, or as much of it as is written down. */
  readonly text: string;
  /** Whether that is all of it, or only its beginning: the rest is made up while the file runs. */
  readonly isWhole: boolean;
}

/** Finds every name a source file imports or requires; of one that is made up while it runs, what is written of it. Rather too many than too few. */
export function specifiersIn(source: string): Specifier[] {
  const found = Array.from(source.matchAll(STATIC), ([, double, single]) => ({
    text: double ?? single ?? '',
    isWhole: true,
  }));
  for (const { 0: opening, index } of source.matchAll(openings(source))) {
    const argument = argumentAt(source, index + opening.length);
    // A thread or a process may have a file of any kind, so only what is written down counts.
    const isCode = !/(?:Worker|fork)\s*\($/.test(opening);
    if (argument && (isCode || argument.text !== '') && !(argument.text === '' && isComment(source, index)))
      found.push(argument);
  }
  return found;
}

const STATIC = /(?<![\w$.])(?:from|import)\s*(?:"([^"\n]*)"|'([^'\n]*)')/g;
const LOADERS = [
  '(?<![\\w$.])import',
  'import\\.meta\\.resolve',
  '(?<![\\w$.]|function\\s)(?:module\\.)?require(?:\\.resolve)?',
  'createRequire\\([^()]*(?:\\([^()]*\\)[^()]*)?\\)',
  '\\b(?:Worker|fork)',
];
const ALIAS = /([\w$]+)\s*=\s*(?:\w+\.)?createRequire\(/g;

// Whatever name a function that loads was given, its calls are found by it.
function openings(source: string): RegExp {
  const aliases = Array.from(source.matchAll(ALIAS), ([, name = '']) => name.replaceAll('$', '\\$'));
  const names = aliases.map((name) => `(?<![\\w$.])${name}(?:\\.resolve)?`);
  return new RegExp(`(?:${[...LOADERS, ...names].join('|')})\\s*\\(`, 'g');
}

const BLANK = /(?:\s|\/\*[^]*?\*\/|\/\/[^\n]*\n|new\s+URL\s*\()*/y;

function argumentAt(source: string, start: number): Specifier | undefined {
  const at = afterBlank(source, start);
  const quote = source[at];
  if (quote === ')' || quote === undefined) return undefined;
  if (!`"'\``.includes(quote)) return { text: '', isWhole: false };
  const rest = source.slice(at + 1);
  const end = rest.search(quote === '`' ? /`|\$\{/ : new RegExp(`${quote}|\n`));
  const text = end < 0 ? rest : rest.slice(0, end);
  const next = source[afterBlank(source, at + text.length + 2)];
  return { text, isWhole: rest[end] === quote && (next === ')' || next === ',') };
}

function afterBlank(source: string, from: number): number {
  BLANK.lastIndex = from;
  BLANK.test(source);
  return BLANK.lastIndex;
}

function isComment(source: string, index: number): boolean {
  const line = source.slice(source.lastIndexOf('\n', index) + 1, index);
  return /^\s*(?:\/\/|\/?\*)/.test(line);
}
