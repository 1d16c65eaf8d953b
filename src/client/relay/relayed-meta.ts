import type { JsonObject } from '../../protocol/wire/json-rpc.ts';

const MAX_TRACE_LENGTH = 512;

/**
 * What of a request's `_meta` goes on to another server: the trace, and what others than the protocol and this program
 * put there. Baggage stays behind, because it may hold anything about who calls.
 */
export function relayedMeta(meta: JsonObject): JsonObject | undefined {
  const passed = Object.entries(meta).filter(([key, value]) => isTrace(key, value) || isOthers(key));
  return passed.length > 0 ? Object.fromEntries(passed) : undefined;
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
