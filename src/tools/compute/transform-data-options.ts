import { z } from 'zod';

/** How much `transform_data` takes and gives, and how long it may take. */
export const transformDataOptions = z.strictObject({
  maxBytes: z
    .int()
    .min(1_024)
    .max(4_194_304)
    .default(1_048_576)
    .describe('The most bytes of data a call may send, and the most it gets back.'),
  timeoutSeconds: z
    .number()
    .positive()
    .max(30)
    .default(5)
    .describe('The longest a call may take; it is then ended where it runs.'),
});
