import { writeExact } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { encodeHeader } from '../../protocol/wire/headers.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { mirrorsOf } from '../../schema/mirrors.ts';
import type { JsonSchema } from '../../schema/schema.ts';

/**
 * The `Mcp-Param-*` headers of a call, names and values in turn: arguments that a schema wants repeated for proxies.
 */
export function argumentHeaders(schema: JsonSchema, args: JsonObject): readonly string[] | undefined {
  const mirrors = mirrorsOf(schema);
  if (mirrors.length === 0) return undefined;
  return mirrors.flatMap(({ header, path }) => {
    const value = path.reduce<unknown>(
      (node, key) => (isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
      args,
    );
    if (value === undefined || value === null) return [];
    return [
      `mcp-param-${header.toLowerCase()}`,
      encodeHeader(typeof value === 'string' ? value : writeExact(value)!),
    ];
  });
}
