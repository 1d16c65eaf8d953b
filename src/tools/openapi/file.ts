import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';

const MAX_BYTES = 67_108_864;

/** Reads an OpenAPI description from a JSON or YAML file; throws `invalid_setup` with what to change. */
export async function readOpenApiFile(path: string): Promise<object> {
  const text = await readText(path);
  const document = /^\s*\{/.test(text) ? readJson(text) : await parseYaml(text, path);
  if (isObject(document)) return document;
  throw refused('The file holds no OpenAPI description.');
}

async function readText(path: string): Promise<string> {
  try {
    if ((await stat(path)).size <= MAX_BYTES) return (await readFile(path, 'utf8')).replace(/^\uFEFF/, '');
  } catch (error) {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
    const isAbsent = code === 'ENOENT';
    throw refused(
      isAbsent ? 'There is no such file; check the path.' : `The file cannot be read (${code}).`,
      error,
    );
  }
  throw refused(`The file is longer than ${MAX_BYTES} bytes.`);
}

function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw refused('The file is not valid JSON.', error);
  }
}

async function parseYaml(text: string, path: string): Promise<unknown> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text);
  const [problem] = document.errors;
  if (problem) {
    const [{ line } = { line: 0 }] = problem.linePos ?? [];
    const kind = extname(path).toLowerCase() === '.json' ? 'JSON' : 'YAML';
    throw refused(`The file is not valid ${kind}${line > 0 ? `: see line ${line}` : ''}.`, problem);
  }
  try {
    return document.toJS() as unknown;
  } catch (error) {
    throw refused('The aliases of the file expand to too much; write it out.', error);
  }
}

function refused(message: string, cause?: unknown): ToolcribError {
  return new ToolcribError('invalid_setup', message, { cause });
}
