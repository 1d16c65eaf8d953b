import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { metaKeys } from '../../protocol/wire/meta.ts';

const MAX_TRACE_LENGTH = 512;
// In every request, so that they are not taken apart each time.
const OWN_KEYS: ReadonlySet<string> = new Set(Object.values(metaKeys));

/**
 * What of a request's `_meta` goes on to another server: the trace, and what others than the protocol and this program
 * put there. Baggage stays behind, because it may hold anything about who calls.
 */
export function relayedMeta(meta: JsonObject): JsonObject | undefined {
  let passed: Record<string, unknown> | undefined;
  for (const key of Object.keys(meta)) {
    if (OWN_KEYS.has(key) || !(isTrace(key, meta[key]) || isOthers(key))) continue;
    (passed ??= {})[key] = meta[key];
  }
  return passed;
}

function isTrace(key: string, value: unknown): boolean {
  return (
    (key === 'traceparent' || key === 'tracestate') &&
    typeof value === 'string' &&
    value.length <= MAX_TRACE_LENGTH
  );
}

// A name with a domain in front, which is neither the protocol's nor ours.
function isOthers(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash <= 0) return false;
  const labels = key.slice(0, slash).toLowerCase().split('.');
  const isProtocol = labels.includes('modelcontextprotocol') || labels.includes('mcp');
  return !isProtocol && !labels.includes('toolcrib');
}
