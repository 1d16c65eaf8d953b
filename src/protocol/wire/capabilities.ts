import { isObject, roomAfter } from '../../base/json.ts';
import { TASKS_EXTENSION } from '../../core/requirement.ts';
import type { JsonObject } from './json-rpc.ts';

const MAX_EXTENSIONS = 16;
const MAX_NAME_LENGTH = 100;
const MAX_SETTINGS_LENGTH = 2_000;
const NONE: JsonObject = Object.freeze({});

/**
 * The known part of the capabilities a client declares; it is stored with sessions, tasks and calls, so it is
 * always small.
 */
export function knownCapabilities(declared: unknown): JsonObject {
  if (!isObject(declared)) return NONE;
  const { elicitation, sampling, roots, extensions } = declared;
  const isSilent =
    elicitation === undefined && sampling === undefined && roots === undefined && extensions === undefined;
  // Fast path: most requests of the newest revision declare nothing.
  if (isSilent) return NONE;
  const known: Record<string, unknown> = {};
  if (isObject(elicitation)) known['elicitation'] = membersOf(elicitation, 'form', 'url');
  if (isObject(sampling)) known['sampling'] = membersOf(sampling, 'context', 'tools');
  if (isObject(roots)) known['roots'] = membersOf(roots, 'listChanged');
  if (isObject(extensions)) known['extensions'] = knownExtensions(extensions);
  return known;
}

function membersOf(part: JsonObject, ...members: readonly string[]): JsonObject {
  let known: Record<string, unknown> | undefined;
  for (const member of members) {
    if (!Object.hasOwn(part, member)) continue;
    (known ??= {})[member] = typeof part[member] === 'boolean' ? part[member] : NONE;
  }
  return known ?? NONE;
}

// Tools may know extensions that the server does not, so names are kept, and short settings.
function knownExtensions(extensions: JsonObject): JsonObject {
  const known: Record<string, unknown> = {};
  let left = MAX_SETTINGS_LENGTH;
  let count = 0;
  for (const name in extensions) {
    if (name.length > MAX_NAME_LENGTH || ++count > MAX_EXTENSIONS) continue;
    const after = roomAfter(extensions[name], left);
    known[name] = after < 0 ? NONE : extensions[name];
    if (after >= 0) left = after;
  }
  if (Object.hasOwn(extensions, TASKS_EXTENSION)) known[TASKS_EXTENSION] = NONE;
  return known;
}
