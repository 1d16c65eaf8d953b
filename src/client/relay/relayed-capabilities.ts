import { isObject } from '../../base/json.ts';
import { TASKS_EXTENSION } from '../../core/requirement.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';

const NONE: JsonObject = Object.freeze({});

// Extensions of which this side passes on all there is, without a part of its own.
const RELAYED_EXTENSIONS: readonly string[] = ['io.modelcontextprotocol/ui'];

/**
 * Everything that can be passed on, for connections that list for clients of any kind: some servers list only what the
 * client can serve.
 */
export const RELAYABLE: JsonObject = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** What a client declared, as far as it can be passed on to another server and back; never more. */
export function relayedCapabilities(declared: JsonObject, tasks: 'followed' | 'awaited'): JsonObject {
  // Most requests declare nothing.
  if (Object.keys(declared).length === 0) return NONE;
  const { elicitation, sampling, roots } = declared;
  const extensions = relayedExtensions(declared['extensions'], tasks);
  return {
    ...(isObject(elicitation) && { elicitation }),
    ...(isObject(sampling) && { sampling }),
    // Changes of the folders are not passed on.
    ...(isObject(roots) && { roots: {} }),
    ...(Object.keys(extensions).length > 0 && { extensions }),
  };
}

function relayedExtensions(declared: unknown, tasks: 'followed' | 'awaited'): JsonObject {
  if (!isObject(declared)) return {};
  const passed = RELAYED_EXTENSIONS.filter((name) => isObject(declared[name]));
  return {
    ...Object.fromEntries(passed.map((name) => [name, declared[name]])),
    ...(tasks === 'followed' && TASKS_EXTENSION in declared && { [TASKS_EXTENSION]: {} }),
  };
}
