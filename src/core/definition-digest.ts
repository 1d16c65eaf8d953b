import { digest } from '../base/digest.ts';
import { withLongIntegers } from '../base/exact-json.ts';
import type { Readable } from './expose-readings.ts';
import { describePrompt } from './prompts/prompt.ts';
import { describeResource, describeTemplate } from './resources/resource.ts';
import { describeTool, type Tool } from './tool.ts';

/** The fingerprint of what a tool promises; it changes when any part of the definition does. */
export function definitionDigest(tool: Tool): string {
  let known = definitions.get(tool);
  if (known === undefined) definitions.set(tool, (known = digest(exactDefinition(tool))));
  return known;
}

const definitions = new WeakMap<Tool, string>();

/** The same for a resource, a template or a prompt, as it is listed. */
export function readingDigest(target: Readable): string {
  let known = readings.get(target);
  if (known === undefined) readings.set(target, (known = digest(exactDefinition(target))));
  return known;
}

const readings = new WeakMap<Readable, string>();

/** A definition as it is listed, with its long integers as `bigint`. */
export function exactDefinition(of: Tool | Readable): Readonly<Record<string, unknown>> {
  const listed = 'handler' in of ? describeTool(of) : describeReading(of);
  return withLongIntegers(listed, of.longIntegers) as Readonly<Record<string, unknown>>;
}

function describeReading(target: Readable): object {
  if ('uri' in target) return describeResource(target);
  return 'uriTemplate' in target ? describeTemplate(target) : describePrompt(target);
}
