import type { ClientFacts } from '../../core/call.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { knownCapabilities } from './capabilities.ts';
import type { JsonObject } from './json-rpc.ts';

/** The `_meta` keys of 2026-07-28. */
export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

/** A request's `_meta`, or an empty object. */
export function metaOf(params: JsonObject | undefined): JsonObject {
  const meta = params?.['_meta'];
  return isObject(meta) ? meta : {};
}

/** The required `_meta` of a modern request; throws naming each missing or malformed key. */
export function readModernMeta(params: JsonObject | undefined): {
  readonly version: string;
  readonly client: ClientFacts;
} {
  const meta = metaOf(params);
  const version = meta[metaKeys.protocolVersion];
  const capabilities = meta[metaKeys.clientCapabilities];
  const missing = [];
  if (typeof version !== 'string') missing.push(metaKeys.protocolVersion);
  if (!isObject(capabilities)) missing.push(metaKeys.clientCapabilities);
  if (missing.length > 0) {
    throw new ToolcribError('incomplete_meta', `"params._meta" must hold ${missing.join(' and ')}.`);
  }
  const client = clientFacts(version as string, meta[metaKeys.clientInfo], capabilities);
  return { version: version as string, client };
}

/** The required parameters of `initialize`; throws naming each missing or malformed part. */
export function readHandshake(params: JsonObject = {}): {
  readonly wanted: string;
  readonly info: JsonObject;
  readonly capabilities: JsonObject;
} {
  const { protocolVersion: wanted, capabilities, clientInfo: info } = params;
  const isKnown = isObject(info) && typeof info['name'] === 'string' && typeof info['version'] === 'string';
  const missing = [];
  if (typeof wanted !== 'string') missing.push('protocolVersion');
  if (!isObject(capabilities)) missing.push('capabilities');
  if (!isKnown) missing.push('clientInfo with name and version');
  if (missing.length > 0)
    throw new ToolcribError('invalid_params', `"params" must hold ${missing.join(' and ')}.`);
  return { wanted: wanted as string, info: info as JsonObject, capabilities: capabilities as JsonObject };
}

/**
 * What a client says about itself; unknown shapes are ignored and the rest is kept short, since nothing may
 * depend on it.
 */
export function clientFacts(protocolVersion: string, info?: unknown, capabilities?: unknown): ClientFacts {
  const facts = isObject(info) ? info : {};
  return {
    protocolVersion,
    name: shortText(facts['name']),
    version: shortText(facts['version']),
    capabilities: knownCapabilities(capabilities),
  };
}

const MAX_TEXT_LENGTH = 2_048;

// Whole or not at all: redaction would not recognise half of a secret.
function shortText(text: unknown): string | undefined {
  return typeof text === 'string' && text.length <= MAX_TEXT_LENGTH ? text : undefined;
}
