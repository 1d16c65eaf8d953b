import { isObject } from '../../base/json.ts';
import { TASKS_EXTENSION } from '../../core/requirement.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';

const NONE: JsonObject = Object.freeze({});

// Extensions of which this side passes on all there is, without a part of its own.
const UI_EXTENSION = 'io.modelcontextprotocol/ui';
const RELAYED_EXTENSIONS: readonly string[] = [UI_EXTENSION];
const APP_TYPE = 'text/html;profile=mcp-app';

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

/**
 * Of what is passed on, only what is known. Where each wording has a connection of its own, a caller could otherwise
 * have programs started without end.
 */
export function relayableCapabilities({ elicitation, sampling, roots, extensions }: JsonObject): JsonObject {
  const apps = isObject(extensions) && isObject(extensions[UI_EXTENSION]) && extensions[UI_EXTENSION];
  const mimeTypes = apps && Array.isArray(apps['mimeTypes']) ? apps['mimeTypes'] : [];
  return {
    ...(isObject(elicitation) && { elicitation: only(['form', 'url'], elicitation) }),
    ...(isObject(sampling) && { sampling: only(['tools', 'context'], sampling) }),
    ...(isObject(roots) && { roots: {} }),
    ...(apps && {
      extensions: { [UI_EXTENSION]: mimeTypes.includes(APP_TYPE) ? { mimeTypes: [APP_TYPE] } : {} },
    }),
  };
}

function only(names: readonly string[], declared: JsonObject): JsonObject {
  return Object.fromEntries(names.filter((name) => isObject(declared[name])).map((name) => [name, {}]));
}

function relayedExtensions(declared: unknown, tasks: 'followed' | 'awaited'): JsonObject {
  if (!isObject(declared)) return {};
  const passed = RELAYED_EXTENSIONS.filter((name) => isObject(declared[name]));
  return {
    ...Object.fromEntries(passed.map((name) => [name, declared[name]])),
    ...(tasks === 'followed' && TASKS_EXTENSION in declared && { [TASKS_EXTENSION]: {} }),
  };
}
