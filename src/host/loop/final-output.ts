import { parseJson } from '../../base/parse-json.ts';
import { copyJson } from '../../base/json.ts';
import type { JsonSchema } from '../../schema/schema.ts';
import { describeIssues, validatorOf } from '../../schema/validator.ts';

/** The final answer as data, or what is wrong with it. */
export type FinalOutput = { readonly output: unknown } | { readonly complaint: string };

/** Reads a final answer that must have a form; a fence around it is taken off. */
export function readOutput(text: string, schema: JsonSchema): FinalOutput {
  let value: unknown;
  try {
    value = parseJson(withoutFence(text));
  } catch {
    return { complaint: 'The answer must be JSON alone, without any words around it.' };
  }
  const outcome = validatorOf(schema)(copyJson(value));
  return 'issues' in outcome
    ? { complaint: `The answer does not fit its schema: ${describeIssues(outcome.issues)}` }
    : { output: outcome.value };
}

function withoutFence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed.startsWith('```') || !trimmed.endsWith('```')) return trimmed;
  const firstLine = trimmed.indexOf('\n');
  return firstLine < 0 ? trimmed : trimmed.slice(firstLine + 1, -3);
}
