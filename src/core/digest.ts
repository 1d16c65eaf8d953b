import { createHash } from 'node:crypto';
import type { Caller } from './caller.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import type { Readable } from './expose-readings.ts';
import { describePrompt } from './prompts/prompt.ts';
import { describeResource, describeTemplate } from './resources/resource.ts';
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

/** The same for a resource, a template or a prompt, as it is listed. */
export function readingDigest(target: Readable): string {
  let known = readings.get(target);
  if (known === undefined) readings.set(target, (known = digest(describeReading(target))));
  return known;
}

const readings = new WeakMap<Readable, string>();

function describeReading(target: Readable): object {
  if ('uri' in target) return describeResource(target);
  return 'uriTemplate' in target ? describeTemplate(target) : describePrompt(target);
}

/** The key under which everything kept for a caller is kept; length first, so that no two callers can share one. */
export function ownerOf(caller: Caller): string {
  let known = owners.get(caller);
  if (known === undefined) {
    const { tenant, id } = caller;
    owners.set(caller, (known = `${tenant.id.length}:${tenant.id}/${id}`));
  }
  return known;
}

/** The part of an owner that names its tenant; never the name of an owner. One that names no tenant is a tenant of its own. */
export function tenantOf(owner: string): string {
  const length = /^\d+(?=:)/.exec(owner)?.[0];
  return length === undefined ? `:${owner}` : owner.slice(0, length.length + 1 + Number(length));
}

// Asked several times for every call.
const owners = new WeakMap<Caller, string>();
