import { z } from 'zod';

/** Size and time limits: options of every tool that reads a database. */
export const sqlLimits = {
  maxBytes: z
    .int()
    .min(1_024)
    .max(16_777_216)
    .default(1_048_576)
    .describe('The most the rows of a call may take as JSON; what goes beyond is cut off and marked.'),
  timeoutSeconds: z
    .number()
    .positive()
    .max(300)
    .default(5)
    .describe('The longest a query may take; it is then ended where it runs.'),
};
