import { ToolcribError } from '../../base/errors.ts';
import type { Prompt } from '../../core/prompts/prompt.ts';
import type { Resource, ResourceTemplate } from '../../core/resources/resource.ts';
import type { Tool } from '../../core/tool.ts';

/** The tools, resources and prompts that a module offers. */
export interface Offers {
  readonly tools: readonly Tool[];
  readonly resources: readonly (Resource | ResourceTemplate)[];
  readonly prompts: readonly Prompt[];
}

/** An empty offer. */
export const NO_OFFERS: Offers = { tools: [], resources: [], prompts: [] };

/**
 * Picks the tools, resources and prompts from the exports of a module, single or in arrays; throws if there is none.
 */
export function offersIn(exports: Readonly<Record<string, unknown>>): Offers {
  const values = new Set<unknown>();
  // The exports of a CommonJS module may be a tool themselves.
  for (const [name, value] of isTool(exports) ? [['exports', exports] as const] : Object.entries(exports))
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value])
      if (isOffer(one, name)) values.add(one);
  const all = [...values];
  const offers = {
    tools: all.filter(isTool),
    resources: all.filter(isResource),
    prompts: all.filter(isPrompt),
  };
  if (all.length === 0)
    throw new ToolcribError(
      'invalid_tool',
      'It exports no tool, resource or prompt: write `export const name = defineTool(...)`.',
    );
  return offers;
}

type Fields = Readonly<Record<string, unknown>>;

function isOffer(value: unknown, name: string): boolean {
  if (isTool(value) || isResource(value) || isPrompt(value)) return true;
  if (isObject(value) && typeof value['name'] === 'string' && typeof value['handler'] === 'function')
    throw new ToolcribError(
      'invalid_tool',
      `The export "${name}" looks like a tool but has no description or no inputSchema: make it with defineTool.`,
    );
  return false;
}

function isTool(value: unknown): value is Tool {
  return (
    isObject(value) &&
    typeof value['name'] === 'string' &&
    typeof value['description'] === 'string' &&
    isObject(value['inputSchema']) &&
    typeof value['handler'] === 'function'
  );
}

function isResource(value: unknown): value is Resource | ResourceTemplate {
  if (!isObject(value) || typeof value['read'] !== 'function') return false;
  return (
    typeof value['uri'] === 'string' ||
    (typeof value['uriTemplate'] === 'string' && isObject(value['template']))
  );
}

function isPrompt(value: unknown): value is Prompt {
  return (
    isObject(value) &&
    typeof value['name'] === 'string' &&
    typeof value['get'] === 'function' &&
    isObject(value['arguments'])
  );
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
