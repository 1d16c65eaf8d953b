import { z } from 'zod';

const NAME_RULE = 'must be up to 32 letters, digits, "-" and single "_"';

const names = z.record(z.string(), z.string());
const shared = {
  tools: z
    .union([z.literal('*'), z.array(z.string())])
    .default('*')
    .describe('Which of its tools are used: patterns such as `search_*`, or `*` for all.'),
  protocol: z
    .enum(['auto', 'modern', 'legacy', '2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])
    .default('auto')
    .describe('Which revision is spoken; `auto` asks the server.'),
  timeoutSeconds: z.number().positive().max(3_600).default(60).describe('How long a call may take.'),
  disabled: z.boolean().default(false).describe('Keeps the entry without using it.'),
};

const remoteServer = z.strictObject({
  type: z
    .enum(['http', 'streamable-http', 'sse'])
    .default('http')
    .describe('The transport; `sse` is that of 2024-11-05.'),
  url: z.url({ protocol: /^https?$/ }).describe('The address of the server.'),
  headers: names.default({}).describe('Headers to send along, such as `authorization`.'),
  ...shared,
});

const localServer = z.strictObject({
  type: z.literal('stdio').default('stdio').describe('A program that is spoken to line by line.'),
  command: z.string().min(1).describe('The program to start; no shell is involved.'),
  args: z.array(z.string()).default([]).describe('What it is started with.'),
  env: names.default({}).describe('Variables to add to the few it gets anyway.'),
  cwd: z.string().exactOptional().describe('The folder it runs in.'),
  ...shared,
});

/** Other servers by name, in the form that most MCP programs know: the one declaration for every file that has them. */
export const serversSection = z.record(
  z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/, NAME_RULE)
    .refine((name) => !name.includes('__'), NAME_RULE),
  z.union([remoteServer, localServer]),
);

/** One server of `mcpServers`, with every default filled in. */
export type ServerEntry = z.output<typeof serversSection>[string];

/** One server of `mcpServers`, as it may be written. */
export type ServerEntryInput = z.input<typeof serversSection>[string];

/** Checks one entry and fills in its defaults. */
export function readServerEntry(entry: ServerEntryInput): ServerEntry {
  return z.union([remoteServer, localServer]).parse(entry);
}
