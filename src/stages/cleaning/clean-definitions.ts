import type { Readable } from '../../core/expose-readings.ts';
import type { Stage } from '../../core/stage.ts';
import { changeTool, type Tool } from '../../core/tool.ts';
import type { Secrets } from '../../observe/secrets.ts';
import { Cleaner } from './cleaner.ts';

/**
 * Takes what is invisible, and every secret, out of what other servers say about their tools. Comes after everything
 * that has to see a definition as it is.
 */
export function cleanDefinitions(secrets: Secrets): Stage {
  const cleaner = createDefinitionCleaner(secrets);
  const known = new WeakMap<Tool, Tool>();
  return {
    name: 'cleanDefinitions',
    // The same for everybody.
    viewOf: () => '',
    expose: (tool) => {
      if (!tool.place) return tool;
      let clean = known.get(tool);
      if (!clean) known.set(tool, (clean = cleanTool(tool, cleaner)));
      return clean;
    },
  };
}

/** A cleaner for definitions, which other limits bound. */
export function createDefinitionCleaner(secrets: Secrets): Cleaner {
  const redact = (text: string): string => secrets.redact(text);
  return new Cleaner({ maxBytes: Infinity, redact, secrets, escapeHtml: false });
}

const SAID = [
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  'annotations',
  'icons',
  '_meta',
  'extraFields',
  // A long integer has digits that its number lacks: they may be those of a secret.
  'longIntegers',
] as const satisfies readonly (keyof Tool)[];

function cleanTool(tool: Tool, cleaner: Cleaner): Tool {
  const fields = SAID.flatMap((field) => (tool[field] === undefined ? [] : [[field, tool[field]]]));
  const said = Object.fromEntries(fields) as Partial<Tool>;
  const clean = cleaner.data(said);
  return clean === said ? tool : changeTool(tool, clean);
}

/** The same for a resource, a template or a prompt; `undefined` if its name or address would change. */
export function cleanReadable<T extends Readable>(item: T, cleaner: Cleaner): T | undefined {
  const address = 'arguments' in item ? item.name : 'uri' in item ? item.uri : item.uriTemplate;
  if (cleaner.name(address) !== address) return undefined;
  const fields = Object.entries(item).map(([key, value]: [string, unknown]) => {
    if (key === 'arguments') return [key, cleanArguments(value as object, cleaner)];
    return [key, KEPT.has(key) || typeof value === 'function' ? value : cleaner.data(value)];
  });
  return Object.fromEntries(fields) as T;
}

// Members that are used and not shown.
const KEPT = new Set(['uri', 'uriTemplate', 'template', 'complete', 'place']);

function cleanArguments(all: object, cleaner: Cleaner): object {
  return mapEntries(all, ([name, argument]) => [
    cleaner.name(name),
    mapEntries(argument as object, ([key, value]) => [
      key,
      typeof value === 'function' ? value : cleaner.data(value),
    ]),
  ]);
}

function mapEntries(from: object, change: (entry: [string, unknown]) => [string, unknown]): object {
  return Object.fromEntries(Object.entries(from).map(change));
}
