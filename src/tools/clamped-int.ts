import { z } from 'zod';
import { ToolcribError } from '../base/errors.ts';

/** The range of a number that is moved into it. */
export interface ClampedRange {
  readonly min: number;
  readonly max: number;
  /** What counts when nothing is given. */
  readonly default: number;
  /** What the number is for; the range is told after it. */
  readonly description?: string;
}

/** A Zod schema for a whole number that is moved into its range instead of being refused; clients are told the range in words, so that they let every number through. */
export function clampedInt(range: ClampedRange): z.ZodDefault<z.ZodNumber> {
  const { min, max, default: fallback, description } = range;
  if (![min, max, fallback].every(Number.isSafeInteger) || min > fallback || fallback > max) {
    const text = 'clampedInt takes whole numbers: min, max and a default between them.';
    throw new ToolcribError('invalid_tool', text);
  }
  const told = `From ${min} to ${max}; a number beyond counts as the nearer end.`;
  return z
    .number()
    .refine(Number.isInteger, 'must be a whole number')
    .overwrite((value) => Math.min(max, Math.max(min, value)))
    .meta({ type: 'integer' })
    .default(fallback)
    .describe(description === undefined ? told : `${description} ${told}`);
}
