import { createHash } from 'node:crypto';
import type { Caller } from './caller.ts';
import { canonicalJson } from './canonical-json.ts';
import { describeTool, type Tool } from './tool.ts';

/** A short fingerprint of any JSON value, the same however its keys are ordered. */
export function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url').slice(0, 22);
}

/** The fingerprint of what a tool promises; it changes when any part of the definition does. */
export function definitionDigest(tool: Tool): string {
  let known = definitions.get(tool);
  if (known === undefined) definitions.set(tool, (known = digest(describeTool(tool))));
  return known;
}

const definitions = new WeakMap<Tool, string>();

/** The key under which everything kept for a caller is kept; length first, so that no two callers can share one. */
export function ownerOf(caller: Caller): string {
  let known = owners.get(caller);
  if (known === undefined) {
    const { tenant, id } = caller;
    owners.set(caller, (known = `${tenant.id.length}:${tenant.id}/${id}`));
  }
  return known;
}

// Asked several times for every call.
const owners = new WeakMap<Caller, string>();
