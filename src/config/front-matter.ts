import { parseDocument } from 'yaml';
import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';

const MAX_LENGTH = 65_536;

/** Reads the YAML between two lines of dashes at the beginning of a text; throws where there is none. */
export function parseFrontMatter(text: string): Readonly<Record<string, unknown>> {
  const found = /^\uFEFF?---[ \t]*\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text.slice(0, MAX_LENGTH));
  const document = found && parseDocument(found[1]!, { schema: 'core', uniqueKeys: true });
  if (!document || document.errors.length > 0) throw broken();
  const value: unknown = document.toJS({ maxAliasCount: 0 });
  if (!isObject(value)) throw broken();
  return value;
}

function broken(): ToolcribError {
  return new ToolcribError('invalid_config', 'The text does not begin with front matter in YAML.');
}
