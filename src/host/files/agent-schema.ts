import { z } from 'zod';
import { agentKeys, agentModel, granted, mayAsk } from '../../config/agents.ts';
import { localServer, remoteServer, serverName } from '../../config/servers.ts';

const MAX_SECONDS = 3_600;
const SPAN = /^(\d{1,7})(ms|s|m)$/;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** A span in milliseconds, from seconds or a text such as `500ms`; 0 where it is none. */
export function spanMs(span: number | string): number {
  if (typeof span === 'number') return span * 1_000;
  const [, amount = '0', unit = 's'] = SPAN.exec(span) ?? [];
  return Number(amount) * UNITS[unit]!;
}

function isUsual(span: number | string): boolean {
  return spanMs(span) > 0 && spanMs(span) <= MAX_SECONDS * 1_000;
}

function spanOf(meaning: string) {
  return z
    .union([
      z.number().refine((seconds) => isUsual(seconds), 'is in seconds, up to 3600; write 30 or 500ms'),
      z.string().refine((text) => isUsual(text), 'must be a span such as 30s or 500ms, up to 60m'),
    ])
    .exactOptional()
    .describe(meaning);
}

const use = {
  tools: granted('of its tools'),
  resources: granted('of its resources'),
  prompts: granted('of its prompts'),
  timeout: spanOf('How long a call may take: seconds, or a span such as `500ms`; 60 seconds unless set.'),
  retryInterval: spanOf('The pause before a connection that failed is tried again; 1 second unless set.'),
  trust: z
    .enum(['trusted', 'untrusted'])
    .default('untrusted')
    .describe('Whether hints of its tools, such as that one only reads, are believed.'),
  parallel: z
    .enum(['read-only', 'all', 'none'])
    .default('read-only')
    .describe('Which of its tools may run at the same time.'),
  load: z
    .enum(['always', 'defer', 'auto'])
    .default('auto')
    .describe('Whether the model sees its definitions at once, or only their names until it asks.'),
};

const shared = { tools: true, timeoutSeconds: true } as const;
const remote = remoteServer.omit({ ...shared, type: true }).extend({
  type: z.enum(['http', 'streamable-http', 'sse']).exactOptional().describe('The same as `transport`.'),
  transport: z
    .enum(['http', 'streamable-http', 'sse', 'http+sse'])
    .exactOptional()
    .describe('How it is spoken to; `sse` and `http+sse` are that of 2024-11-05.'),
  ...use,
});
const local = localServer.omit({ ...shared, type: true }).extend({
  type: z.literal('stdio').exactOptional().describe('The same as `transport`.'),
  transport: z.literal('stdio').exactOptional().describe('How it is spoken to: line by line.'),
  ...use,
});
// A server that is defined elsewhere. What is never there tells it apart, so that complaints are about the right kind.
const known = z.strictObject({
  ...use,
  command: z.never().exactOptional(),
  url: z.never().exactOptional(),
  disabled: z.boolean().default(false).describe('Keeps the entry without using it.'),
});

const agentServersSection = z.record(serverName, z.union([remote, local, known]));

const ownKeys = {
  ...agentKeys,
  mcpServers: agentServersSection
    .default({})
    .describe('The servers it uses, by name. One without `command` and `url` is looked up by its name.'),
  prefix: z
    .enum(['collisions', 'always', 'never'])
    .default('collisions')
    .describe(
      'Whether names of tools begin with that of their server: where two are the same, always or never.',
    ),
  skills: z.boolean().default(false).describe('Whether skills of its servers are offered to the model.'),
};

/** An agent's file of our own: the check, the types, the defaults and the table of the docs come from it. */
export const agentSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][\w-]{0,63}$/, 'must be up to 64 letters, digits, "_" and "-"')
    .exactOptional()
    .describe('What it is called; the name of the file unless set.'),
  ...ownKeys,
  agents: mayAsk.describe(
    'Agents it may ask, each as a tool `ask_<name>`: names, or files such as `./critic.yaml`.',
  ),
});

/** A file with several agents. */
export const agentsSchema = z.strictObject({
  agents: z
    .record(
      z.string().regex(/^[A-Za-z0-9][\w-]{0,63}$/),
      z.strictObject({ ...ownKeys, agents: mayAsk.describe('Agents it may ask, also of this file.') }),
    )
    .describe('Agents by name; each has the keys of a file of its own.'),
  mcpServers: agentServersSection
    .default({})
    .describe('Servers that several of them use. Each agent still says which tools of them it may use.'),
  model: agentModel.exactOptional().describe('The model of those that name none.'),
});

/** One agent, as it may be written in code. */
export type AgentInput = z.input<typeof agentSchema>;

/** One agent with every default filled in. */
export type WrittenAgent = z.output<typeof agentSchema>;

/** One server of an agent with every default filled in. */
export type WrittenAgentServer = z.output<typeof agentServersSection>[string];

/** The declaration for what a file holds: one agent, or a group of them. */
export function agentFileSchema(value: unknown): typeof agentSchema | typeof agentsSchema {
  const agents = (value as { readonly agents?: unknown } | null | undefined)?.agents;
  const isGroup = typeof agents === 'object' && agents !== null && !Array.isArray(agents);
  return isGroup ? agentsSchema : agentSchema;
}
