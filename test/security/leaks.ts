import { homedir, hostname } from 'node:os';

const TELLTALES: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['a stack frame', /\bat (?:async |new )?[\w.<>[\] ]*\(?(?:file:|node:|\/|[A-Z]:\\|<anonymous>)/],
  ['a runtime module', /\bnode:[a-z_/]+/],
  ['a package folder', /node_modules/],
  ['a path', /(?:^|[\s"'(=:])\/(?:home|root|usr|var|tmp|work|opt|etc|proc|Users)\//],
  ['a file URL', /file:\/\//],
  ['a source line', /\.[cm]?[jt]s:\d+/],
  ['an internal error', /\b(?:TypeError|RangeError|SyntaxError|ReferenceError|ERR_[A-Z_]+|ECONN\w+)\b/],
];

/** What a text tells an outsider about the machine behind it; empty when nothing. */
export function leaksIn(text: string): string[] {
  const found = TELLTALES.filter(([, pattern]) => pattern.test(text)).map(([what]) => what);
  // Not inside of a random id, which may spell a short name: "kMFW3-vm".
  if (new RegExp(String.raw`(?<![\w-])${escape(hostname())}(?![\w-])`).test(text))
    found.push('the host name');
  if (text.includes(process.cwd())) found.push('the working directory');
  if (homedir().length > 1 && text.includes(homedir())) found.push('the home directory');
  return found;
}

function escape(text: string): string {
  return text.replaceAll(/[^\w]/g, String.raw`\$&`);
}
