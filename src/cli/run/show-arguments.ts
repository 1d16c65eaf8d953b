import { canonicalJson } from '../../base/canonical-json.ts';
import { printable } from '../table.ts';

type Arguments = Readonly<Record<string, unknown>>;

const MAX_LETTERS = 2_000;

/** Arguments for a person, one line each; beside earlier ones, only what is different is marked. */
export function showArguments(args: Arguments, previous?: Arguments): readonly string[] {
  const names = [...new Set([...Object.keys(args), ...Object.keys(previous ?? {})])];
  if (names.length === 0) return ['  (no arguments)'];
  return names.flatMap((name) => {
    const isNow = Object.hasOwn(args, name);
    const isBefore = previous !== undefined && Object.hasOwn(previous, name);
    const now = `${printable(name)}: ${valueText(args[name])}`;
    const before = `${printable(name)}: ${valueText(previous?.[name])}`;
    if (previous === undefined) return [`  ${now}`];
    if (!isNow) return [`- ${before}`];
    if (!isBefore) return [`+ ${now}`];
    return canonicalJson(args[name]) === canonicalJson(previous[name])
      ? [`  ${now}`]
      : [`- ${before}`, `+ ${now}`];
  });
}

function valueText(value: unknown): string {
  const letters = Array.from(printable(JSON.stringify(value) ?? 'undefined'));
  if (letters.length <= MAX_LETTERS) return letters.join('');
  return `${letters.slice(0, MAX_LETTERS).join('')}... (${letters.length - MAX_LETTERS} more characters: answer v to see all)`;
}

/** Arguments whole, however long they are. */
export function showWhole(args: Arguments): string {
  return JSON.stringify(args, undefined, 2)
    .split('\n')
    .map((line) => printable(line).replaceAll('\\\\', '\\'))
    .join('\n');
}
