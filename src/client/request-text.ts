import { writeJson } from '../base/exact-json.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';

/** The parts of a request besides its id and method. */
export interface RequestParts {
  readonly params: JsonObject;
  /** What the caller adds to `_meta`. */
  readonly meta: JsonObject | undefined;
  readonly trace: JsonObject | undefined;
  /** What the dialect puts into `_meta`, as JSON text of an object. */
  readonly base: string | undefined;
  readonly wantsProgress: boolean;
}

/** The text of a request, put together from pieces that are mostly there already. */
export function writeRequest(id: number, method: string, parts: RequestParts): string {
  const { params, base } = parts;
  const meta = metaOf(id, parts);
  const head = `{"jsonrpc":"2.0","id":${id},"method":${quote(method)}`;
  if (meta === undefined) return isEmpty(params) ? `${head}}` : `${head},"params":${writeJson(params)}}`;
  const text = writeJson('_meta' in params ? withoutMeta(params) : params);
  const metaText = joinObjects(base, meta);
  return `${head},"params":${text === '{}' ? '{' : `${text.slice(0, -1)},`}"_meta":${metaText}}}`;
}

function withoutMeta({ _meta: _moved, ...rest }: JsonObject): JsonObject {
  return rest;
}

// `undefined` where neither side has anything to say.
function metaOf(id: number, { params, meta, trace, base, wantsProgress }: RequestParts): string | undefined {
  const own = params['_meta'] as JsonObject | undefined;
  if (own === undefined && meta === undefined && trace === undefined && !wantsProgress)
    return base === undefined ? undefined : '{}';
  return writeJson({ ...trace, ...own, ...meta, ...(wantsProgress && { progressToken: id }) });
}

function joinObjects(base: string | undefined, other: string): string {
  if (base === undefined || base === '{}') return other;
  return other === '{}' ? base : `${other.slice(0, -1)},${base.slice(1)}`;
}

const quoted = new Map<string, string>();

// There are a dozen methods; what a caller makes up is not kept.
function quote(method: string): string {
  const known = quoted.get(method);
  if (known !== undefined) return known;
  const text = JSON.stringify(method);
  if (quoted.size < 64) quoted.set(method, text);
  return text;
}

function isEmpty(params: JsonObject): boolean {
  for (const key in params) if (params[key] !== undefined) return false;
  return true;
}
