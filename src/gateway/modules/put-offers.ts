import { ToolRegistry } from '../../core/registry.ts';
import type { Offers } from './exports.ts';

/** Throws if anything a module offers is invalid. */
export function checkOffers({ tools, resources, prompts }: Offers): void {
  new ToolRegistry({ maxNameLength: 128 })
    .registerTool(...tools)
    .registerResource(...resources)
    .registerPrompt(...prompts);
}

/**
 * Replaces what a module offered before by what it offers now, in one step; if a name is taken, it throws and nothing
 * changes.
 */
export function putOffers(registry: ToolRegistry, before: Offers, after: Offers): void {
  const known = new Set(before.tools.map(({ name }) => name));
  const added: Added = { tools: [], resources: [], prompts: [] };
  takeReadings(registry, before);
  try {
    add(registry, { ...after, tools: after.tools.filter(({ name }) => !known.has(name)) }, added);
  } catch (error) {
    takeTools(registry, added.tools);
    takeReadings(registry, added);
    add(registry, { ...before, tools: [] }, added);
    throw error;
  }
  const names = new Set(after.tools.map(({ name }) => name));
  // A tool that stays is replaced in place, so that it is never missing.
  for (const tool of after.tools) if (known.has(tool.name)) registry.replace(tool);
  takeTools(
    registry,
    before.tools.filter(({ name }) => !names.has(name)),
  );
}

type Added = { -readonly [K in keyof Offers]: Offers[K][number][] };

function add(registry: ToolRegistry, { tools, resources, prompts }: Offers, added: Added): void {
  for (const tool of tools) {
    registry.registerTool(tool);
    added.tools.push(tool);
  }
  for (const resource of resources) {
    registry.registerResource(resource);
    added.resources.push(resource);
  }
  for (const prompt of prompts) {
    registry.registerPrompt(prompt);
    added.prompts.push(prompt);
  }
}

function takeTools(registry: ToolRegistry, tools: Offers['tools']): void {
  for (const { name } of tools) registry.remove(name);
}

function takeReadings(registry: ToolRegistry, { resources, prompts }: Omit<Offers, 'tools'>): void {
  for (const one of resources) registry.removeResource('uri' in one ? one.uri : one.uriTemplate);
  for (const { name } of prompts) registry.removePrompt(name);
}
