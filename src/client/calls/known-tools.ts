import { withoutBigints } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { isContentBlock } from '../../core/content.ts';
import type { ListedTool } from '../../core/tool.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { checkSchema } from '../../schema/check.ts';
import { mirrorsOf } from '../../schema/mirrors.ts';
import { fitsPlainly } from '../../schema/plain-check.ts';
import type { JsonSchema, Outcome } from '../../schema/schema.ts';
import { describeIssues, validatorOf } from '../../schema/validator.ts';
import type { CallResult } from './call-result.ts';
import { InvalidArguments } from '../errors.ts';

/** Reads a list of tools; what is no tool, or asks for headers it may not ask for, is left out with a warning. */
export function readTools(items: readonly unknown[], warn: (text: string) => void): readonly ListedTool[] {
  const names = new Set<string>();
  return items.flatMap((item): ListedTool[] => {
    if (!isObject(item) || typeof item['name'] !== 'string' || !isObject(item['inputSchema'])) {
      warn('The server lists a tool without a name or a schema; it is left out.');
      return [];
    }
    const { name, inputSchema } = item;
    if (names.has(name)) {
      warn(`The server lists "${name}" twice; the second is left out.`);
      return [];
    }
    const problem = headerProblem(inputSchema);
    if (problem !== undefined) {
      warn(`The tool "${name}" is left out: ${problem}`);
      return [];
    }
    names.add(name);
    return [item as ListedTool];
  });
}

function headerProblem(schema: JsonSchema): string | undefined {
  try {
    mirrorsOf(schema);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Refuses arguments that break the tool's schema; a schema that cannot be checked is left to the server. */
export function checkArguments(tool: ListedTool, args: JsonObject): void {
  const { inputSchema } = tool;
  const outcome = outcomeOf(inputSchema, args);
  if (!outcome || !('issues' in outcome)) return;
  // To the validator a bigint is no integer.
  const rounded = withoutBigints(args);
  const again = rounded === args ? outcome : checkValue(inputSchema, rounded);
  if ('issues' in again) throw new InvalidArguments(describeIssues(again.issues));
}

/** What is wrong with a result: its blocks, or its data held against the tool's output schema. */
export function resultProblem(tool: ListedTool | undefined, result: CallResult): string | undefined {
  const { content } = result.raw;
  if (!Array.isArray(content)) return 'has no list of content blocks';
  const odd = content.findIndex((block) => !isTyped(block));
  if (odd >= 0) return `has a content block without a type, or without what its type needs, at ${odd}`;
  if (result.isError || !tool?.outputSchema) return undefined;
  if (result.structuredContent === undefined)
    return 'has no structured content, which its output schema promises';
  const outcome = outcomeOf(tool.outputSchema, result.structuredContent);
  return outcome && 'issues' in outcome
    ? `breaks its output schema: ${describeIssues(outcome.issues)}`
    : undefined;
}

// Types of later revisions pass; those that are known need their parts.
function isTyped(block: unknown): boolean {
  if (!isObject(block) || typeof block['type'] !== 'string') return false;
  return isContentBlock(block) || !KNOWN.has(block['type']);
}

const KNOWN: ReadonlySet<string> = new Set(['text', 'image', 'audio', 'resource_link', 'resource']);

const seen = new WeakSet<JsonSchema>();

// What is checked once, as by a command, is checked without the validator where that can be done.
function outcomeOf(schema: JsonSchema, value: unknown): Outcome | undefined {
  if (!seen.has(schema)) {
    seen.add(schema);
    if (fitsPlainly(schema, value)) return undefined;
  }
  return checkOf(schema)?.(value);
}

const checks = new WeakMap<JsonSchema, ReturnType<typeof validatorOf> | null>();

/** Holds a value against a schema of a server; one that cannot be checked is left to the server. */
export function checkValue(schema: JsonSchema, value: unknown): Outcome {
  return checkOf(schema)?.(value) ?? { value };
}

// Looked at before it is compiled: a schema from elsewhere may try to be fetched, to never end or to fill memory.
function checkOf(schema: JsonSchema): ReturnType<typeof validatorOf> | null {
  let check = checks.get(schema);
  if (check !== undefined) return check;
  try {
    checkSchema(schema, 'input');
    check = validatorOf(schema);
  } catch {
    check = null;
  }
  checks.set(schema, check);
  return check;
}
