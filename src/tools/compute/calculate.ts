import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.ts';
import { evaluate, ExpressionError } from './expression.ts';
import { MAX_DIGITS, NumberTooLarge, toDecimal } from './rational.ts';

/** The arguments of `calculate`. */
export type CalculateArguments = { readonly expression: string; readonly digits: number };

/** The `calculate` tool: arithmetic with exact decimals, by a reader of its own that runs nothing. */
export function calculateTool(): Tool<CalculateArguments> {
  return defineTool(DEFINITION, ({ expression, digits }) => {
    try {
      const { text, isExact } = toDecimal(evaluate(expression), digits);
      return { result: text, exact: isExact };
    } catch (error) {
      if (error instanceof ExpressionError) return { error: 'Invalid expression', message: error.message };
      if (!(error instanceof NumberTooLarge)) throw error;
      const message = `A number grows beyond ${MAX_DIGITS} digits; ask for less.`;
      return { error: 'Number too large', message };
    }
  });
}

const DEFINITION = {
  name: 'calculate',
  title: 'Calculator',
  description:
    'Computes an arithmetic expression with exact decimals, such as "round(19.99 * 3 * 1.19, 2)". Returns the result as text, and whether it is exact. Use it for every sum that has to be right.',
  input: z.strictObject({
    expression: z
      .string()
      .min(1)
      .max(500)
      .describe(
        'Numbers with + - * / % ^ and brackets; abs, ceil, floor, sqrt, round(x, places), min, max, sum, avg.',
      ),
    digits: z
      .int()
      .min(1)
      .max(100)
      .default(30)
      .describe('How many digits to return of a result that has no end.'),
  }),
  output: z.object({
    result: z.string().describe('The result as a decimal.'),
    exact: z.boolean().describe('Whether nothing was rounded.'),
  }),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
} as const;
