import { z } from 'zod';
import { describeIssue, type IssueFinding } from './describe-issue.ts';

const NAME_RULE = 'must be up to 32 letters, digits, "-" and single "_"';

const names = z.record(z.string(), z.string());

/** What a server may be called. */
export const serverName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/, NAME_RULE)
  .refine((name) => !name.includes('__'), NAME_RULE);

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

const remote = {
  type: z
    .enum(['http', 'streamable-http', 'sse'])
    .default('http')
    .describe('The transport; `sse` is that of 2024-11-05.'),
  url: z
    .url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' })
    .describe('The address of the server.'),
  headers: names.default({}).describe('Headers to send along, such as `authorization`.'),
};

const local = {
  type: z.literal('stdio').default('stdio').describe('A program that is spoken to line by line.'),
  command: z.string().min(1).describe('The program to start; no shell is involved.'),
  args: z.array(z.string()).default([]).describe('What it is started with.'),
  env: names.default({}).describe('Variables to add to the few it gets anyway.'),
  cwd: z.string().exactOptional().describe('The folder it runs in.'),
};

/** A server at an address. */
export const remoteServer = z.strictObject({ ...remote, ...shared });

/** A server that is a program to start. */
export const localServer = z.strictObject({ ...local, ...shared });

const server = z.union([remoteServer, localServer]);

/** One server of `mcpServers`, with every default filled in. */
export type ServerEntry = z.output<typeof server>;

/** One server of `mcpServers`, as it may be written. */
export type ServerEntryInput = z.input<typeof server>;

/** Checks one entry and fills in its defaults. */
export function readServerEntry(entry: ServerEntryInput): ServerEntry {
  return server.parse(entry);
}

const account = z
  .string()
  .min(1)
  .max(100)
  .exactOptional()
  .describe('What the record calls this account; the name of the server or of the tenant unless set.');

const remoteCredential = z.strictObject({
  bearer: z.string().min(1).exactOptional().describe('A token, sent as `authorization: Bearer`.'),
  headers: names.default({}).describe('Headers that hold a credential, such as `x-api-key`.'),
  account,
});

const localCredential = z.strictObject({
  env: names.default({}).describe('Variables that hold a credential.'),
  account,
});

const CREDENTIAL = 'What the gateway signs in with; a credential of a caller is never passed on.';
const BY_TENANT = 'One for each tenant, by its id; other tenants do not see the server.';

const governed = {
  skills: z
    .union([z.literal('*'), z.array(z.string())])
    .default('*')
    .describe('Which of its skills are used: patterns of names or addresses, or `*` for all.'),
  deny: z
    .array(z.string())
    .default([])
    .describe('Tools and skills that are not used, by name or pattern, whatever `tools` and `skills` say.'),
  rename: names
    .default({})
    .describe('Other names for its tools: `{ theirs: ours }`. Rules go on naming theirs.'),
  describe: names.default({}).describe('Descriptions in the place of its own, by its name of the tool.'),
  prefix: z
    .enum(['collisions', 'always', 'never'])
    .default('collisions')
    .describe(
      'When its name stands in front of tool and prompt names: where names are alike, always or never.',
    ),
  label: serverName
    .exactOptional()
    .describe('What stands there instead of its name; short, since models read it.'),
  trust: z
    .enum(['untrusted', 'trusted'])
    .default('untrusted')
    .describe('Whether its hints count, such as `readOnlyHint`; those of an untrusted one relax no rule.'),
  pin: z
    .enum(['approve', 'first-use', 'off'])
    .exactOptional()
    .describe('Which definitions of its tools and skills are used; `stages.pin` decides unless it is set.'),
  parallel: z
    .int()
    .min(1)
    .max(10_000)
    .default(64)
    .describe('How many calls it gets at one time; others wait.'),
  connectSeconds: z
    .number()
    .positive()
    .max(600)
    .default(30)
    .describe('How long connecting may take; a call waits for it no longer than `timeoutSeconds`.'),
  idleSeconds: z
    .number()
    .positive()
    .max(86_400)
    .default(300)
    .describe('How long an unused connection or process is kept.'),
  lifetimeSeconds: z
    .number()
    .positive()
    .max(604_800)
    .default(86_400)
    .describe('After how long a connection or process is replaced, between calls.'),
  maxMessageBytes: z
    .int()
    .min(1_000)
    .max(1_000_000_000)
    .default(4_194_304)
    .describe('The largest message that is taken from it, in bytes.'),
  warm: z
    .boolean()
    .default(false)
    .describe('Connects at the start and stays connected, instead of when needed.'),
};

const process = {
  cwd: z.string().exactOptional().describe('The folder it runs in; an empty one of its own unless set.'),
  sandbox: z
    .array(z.string().min(1))
    .default([])
    .describe('Put in front of the command, such as `[/usr/bin/bwrap, --ro-bind, /, /]`.'),
  limits: z
    .strictObject({
      memoryMb: z.int().positive().exactOptional().describe('Address space of each process, in MB.'),
      cpuSeconds: z.int().positive().exactOptional().describe('Processor time of each process.'),
      openFiles: z.int().positive().exactOptional().describe('Open files and sockets of each process.'),
      processes: z.int().positive().exactOptional().describe('Processes of the same user.'),
    })
    .prefault({})
    .describe('What the program may use, all it wants unless set; needs `prlimit`, which Linux has.'),
};

const upstream = z.union([
  z.strictObject({
    ...remote,
    ...shared,
    ...governed,
    credential: z
      .union([
        remoteCredential,
        z.strictObject({ byTenant: z.record(z.string(), remoteCredential).describe(BY_TENANT) }),
      ])
      .exactOptional()
      .describe(CREDENTIAL),
  }),
  z.strictObject({
    ...local,
    ...shared,
    ...governed,
    ...process,
    credential: z
      .union([
        localCredential,
        z.strictObject({ byTenant: z.record(z.string(), localCredential).describe(BY_TENANT) }),
      ])
      .exactOptional()
      .describe(CREDENTIAL),
  }),
]);

/** The same for a gateway, which serves what they offer under its own rules. */
export const upstreamsSection = z.record(serverName, upstream);

/** One server behind a gateway, with every default filled in. */
export type UpstreamEntry = z.output<typeof upstream>;

/** An entry of `toolcrib.yaml`, or what is wrong with it, by places within it. */
export function readUpstreamEntry(
  name: string,
  entry: unknown,
): { readonly read?: UpstreamEntry; readonly problems: readonly IssueFinding[] } {
  const section = { [name]: entry };
  // Compiling a check for one use is not worth it.
  const { error, data } = upstreamsSection.safeParse(section, { jitless: true });
  const findings = error?.issues.flatMap((issue) => describeIssue(issue, upstreamsSection, section)) ?? [];
  const read = data?.[name];
  // A problem with its name is at the entry itself.
  const problems = findings.map((finding) => ({ ...finding, path: finding.path.slice(1) }));
  return { ...(read && { read }), problems };
}
