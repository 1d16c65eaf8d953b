import { z } from 'zod';

/** What all other servers of a gateway have in common. */
export const upstreamSettings = z.strictObject({
  maxConnections: z
    .int()
    .min(1)
    .max(100_000)
    .default(500)
    .describe('How many connections and processes there are at one time, for all servers together.'),
  maxPerTenant: z.int().min(1).max(100_000).default(50).describe('How many of them serve one tenant alone.'),
  relistSeconds: z
    .number()
    .min(1)
    .max(86_400)
    .default(300)
    .describe('After how long the lists of a server in use are fetched again, told of changes or not.'),
  firstListSeconds: z
    .number()
    .min(0)
    .max(60)
    .default(5)
    .describe(
      'How long a list waits for a server that was never reached, and a call for lists that are fetched again.',
    ),
});

/** The settings with every default filled in. */
export type UpstreamSettings = z.output<typeof upstreamSettings>;
