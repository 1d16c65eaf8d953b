import { ToolcribError } from '../core/errors.ts';
import { isObject, type JsonObject } from './json-rpc.ts';
import { metaOf } from './meta.ts';

/** What `tools/call` asks for. */
export interface CallParams {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly progressToken: string | number | undefined;
}

/** Reads the parameters of `tools/call`. */
export function readCallParams(params: JsonObject | undefined): CallParams {
  const name = params?.['name'];
  const args = params?.['arguments'] ?? {};
  if (typeof name !== 'string') throw new ToolcribError('invalid_params', '"params.name" must name a tool.');
  if (!isObject(args)) throw new ToolcribError('invalid_params', '"params.arguments" must be an object.');
  return { name, arguments: args, progressToken: readProgressToken(params) };
}

/** Reads the cursor of a list request; the first page has none. */
export function readCursor(params: JsonObject | undefined): string | undefined {
  const cursor = params?.['cursor'];
  if (cursor === undefined || typeof cursor === 'string') return cursor;
  throw new ToolcribError('invalid_params', '"params.cursor" must be a string.');
}

function readProgressToken(params: JsonObject | undefined): string | number | undefined {
  const token = metaOf(params)['progressToken'];
  if (token === undefined || typeof token === 'string' || Number.isInteger(token))
    return token as string | number | undefined;
  throw new ToolcribError(
    'invalid_params',
    '"params._meta.progressToken" must be a string or a whole number.',
  );
}
