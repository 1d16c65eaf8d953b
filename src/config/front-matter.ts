import { parseDocument } from 'yaml';
import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';

const MAX_LENGTH = 65_536;

/** Reads the YAML between two lines of dashes at the beginning of a text; throws where there is none. */
export function parseFrontMatter(text: string): Readonly<Record<string, unknown>> {
  const lines = text
    .slice(0, MAX_LENGTH)
    .replace(/^\uFEFF/, '')
    .split('\n');
  const end = lines.findIndex((line, index) => index > 0 && isDashes(line));
  const isFound = end > 0 && isDashes(lines[0]!);
  const document =
    isFound && parseDocument(lines.slice(1, end).join('\n'), { schema: 'core', uniqueKeys: true });
  if (!document || document.errors.length > 0) throw broken();
  const value: unknown = document.toJS({ maxAliasCount: 0 });
  if (!isObject(value)) throw broken();
  return value;
}

function isDashes(line: string): boolean {
  return line.trimEnd() === '---';
}

function broken(): ToolcribError {
  return new ToolcribError(
    'invalid_config',
    'The text does not begin with front matter in YAML: a line of three dashes, settings, and such a line again.',
  );
}
