import { z } from 'zod';
import { ToolcribError } from '../base/errors.ts';

/** The range a number is clamped to. */
export interface ClampedRange {
  readonly min: number;
  readonly max: number;
  /** The value if none is given. */
  readonly default: number;
  /** What the number is for; the range is appended. */
  readonly description?: string;
}

/**
 * A Zod schema for an integer that is clamped to its range instead of being refused; the range is only described in
 * words, so that clients send any number.
 */
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
