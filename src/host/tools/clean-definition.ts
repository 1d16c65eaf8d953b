import { isObject } from '../../base/json.ts';
import { changeTool, type Hint, type Tool } from '../../core/tool.ts';
import { cleanText } from '../../observe/clean-text.ts';
import { checkSchema } from '../../schema/check.ts';
import type { JsonSchema, Outcome } from '../../schema/schema.ts';
import { Cleaner } from '../../stages/cleaning/cleaner.ts';
import type { ListedReading } from '../agent.ts';

/** A definition that may be shown, or why it may not. */
export type CleanDefinition =
  | { readonly tool: Tool; readonly note: string | undefined }
  | { readonly problem: string };

// A definition takes part of the context of a model, and a hostile one could hide text in a long definition.
const MAX_NAME = 128;
const MAX_DESCRIPTION = 16_000;
const MAX_SCHEMA = 65_536;
const HINTS: readonly Hint[] = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];
// Words for readers: cleaning them changes nothing about which arguments fit.
const WORDS: ReadonlySet<string> = new Set(['title', 'description', '$comment', 'examples']);

const cleaner = new Cleaner({ maxBytes: 4 * MAX_SCHEMA, redact: undefined, escapeHtml: false });

/**
 * A definition of a server without anything that cannot be seen. One that is too large, or whose names or values hold
 * something unseen, is held back. The hints of a server that is not trusted are marked as assumed.
 */
export function cleanDefinition(tool: Tool, trust: 'trusted' | 'untrusted'): CleanDefinition {
  const { name, description, inputSchema, outputSchema } = tool;
  if (name === '' || name.length > MAX_NAME || cleanText(name) !== name)
    return { problem: 'its name is too long, or holds something that cannot be seen' };
  if (description.length > MAX_DESCRIPTION)
    return { problem: `its description has over ${MAX_DESCRIPTION} characters` };
  try {
    const schemas = [inputSchema, outputSchema ?? {}];
    if (JSON.stringify(schemas).length > MAX_SCHEMA)
      return { problem: `its schemas have over ${MAX_SCHEMA} characters` };
    const clean = cleaned(tool);
    if (schemas.some((schema, at) => isChanged(schema, [clean.inputSchema, clean.outputSchema ?? {}][at])))
      return { problem: 'its schema has names or values that hold something that cannot be seen' };
    const unchecked = [inputSchema, outputSchema].filter((schema) => schema && !isCheckable(schema));
    return {
      tool: changeTool(tool, {
        ...clean,
        ...(trust === 'untrusted' && { assumedHints: HINTS }),
        ...(unchecked.includes(inputSchema) && { parseInput: takeAsIs }),
        ...(outputSchema && unchecked.includes(outputSchema) && { parseOutput: takeAsIs }),
      }),
      note: unchecked.length > 0 ? 'has a schema that cannot be checked here; the server checks' : undefined,
    };
  } catch {
    return { problem: 'its definition is too large, or nested too deeply' };
  }
}

// Requests name things by these, so cleaning them would ask for something else.
const HANDLES = ['name', 'uri', 'uriTemplate'];

/** Resources, templates and prompts without anything unseen; those are left out that could not be asked for then. */
export function cleanReadings(listed: readonly object[]): readonly ListedReading[] {
  return listed.flatMap((item) => {
    try {
      cleaner.bytes = 0;
      const clean: ListedReading = cleaner.data({ ...item });
      const isSame = HANDLES.every((field) => clean[field] === (item as ListedReading)[field]);
      return isSame ? [clean] : [];
    } catch {
      // Too large to be shown.
      return [];
    }
  });
}

function cleaned(tool: Tool): Omit<Tool, 'handler'> {
  cleaner.bytes = 0;
  const parts = Object.entries(tool).filter(([, part]) => typeof part !== 'function');
  return cleaner.data(Object.fromEntries(parts) as unknown as Omit<Tool, 'handler'>);
}

function isChanged(before: unknown, after: unknown, key = ''): boolean {
  if (before === after) return false;
  if (Array.isArray(before) && Array.isArray(after))
    return before.some((item, at) => isChanged(item, (after as unknown[])[at], key));
  if (!isObject(before) || !isObject(after)) return !WORDS.has(key);
  const keys = Object.keys(before);
  return (
    keys.length !== Object.keys(after).length ||
    keys.some((name) => !Object.hasOwn(after, name) || isChanged(before[name], after[name], name))
  );
}

// A schema from elsewhere may try to be fetched, to never end or to fill memory when it is compiled.
function isCheckable(schema: JsonSchema): boolean {
  try {
    checkSchema(schema, 'input');
    return true;
  } catch {
    return false;
  }
}

function takeAsIs(value: unknown): Outcome {
  return { value };
}
