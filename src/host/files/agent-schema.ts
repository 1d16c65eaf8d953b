import { z } from 'zod';
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

const patterns = z.union([z.literal('*'), z.array(z.string().min(1))]);

const grantRule = z.union([
  patterns,
  z.strictObject({ allow: patterns, deny: z.array(z.string().min(1)).default([]) }),
]);

function granted(what: string) {
  return grantRule
    .exactOptional()
    .describe(
      `Which of its ${what} the agent may use: names, patterns such as \`get_*\`, \`*\` for all, or keys \`allow\` and \`deny\`, of which \`deny\` wins. Left out, none.`,
    );
}

/** Names of tools, resources or prompts, as they may be written. */
export type Granted = z.output<typeof grantRule>;

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
  tools: granted('tools'),
  resources: granted('resources'),
  prompts: granted('prompts'),
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

const model = z.strictObject({
  name: z.string().min(1).describe('The model, such as `claude-sonnet-4-5`, `gpt-5.4` or `ollama/qwen3`.'),
  api: z
    .enum(['openai-chat', 'openai-responses', 'anthropic-messages'])
    .exactOptional()
    .describe('Which API its endpoint has; it follows from the name where that is well known.'),
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .exactOptional()
    .describe('The address of its endpoint, for a provider of your own or a local server.'),
  keyVariable: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable, not a key')
    .exactOptional()
    .describe('The environment variable that holds the key.'),
  maxOutputTokens: z.int().positive().exactOptional().describe('The most tokens of one answer.'),
});

const limits = z.strictObject({
  turns: z.int().positive().max(1_000).default(50).describe('The most answers of the model in one run.'),
  calls: z.int().positive().exactOptional().describe('The most calls of tools in one run.'),
  tokens: z.int().positive().exactOptional().describe('The most tokens of one run.'),
  money: z
    .number()
    .positive()
    .exactOptional()
    .describe('The most money of one run, by your table of prices.'),
  seconds: z
    .number()
    .positive()
    .exactOptional()
    .describe('The longest a run may work; waiting for a person does not count.'),
});

const agentKeys = {
  description: z.string().default('').describe('What it is for; other agents that may ask it read this.'),
  instructions: z.string().default('').describe('What the model is told first.'),
  model: z
    .union([z.string().min(1), model])
    .exactOptional()
    .describe('The model: its name, or keys. Left out, whoever runs the agent says which.'),
  mcpServers: agentServersSection
    .default({})
    .describe('The servers it uses, by name. One without `command` and `url` is looked up by its name.'),
  prefix: z
    .enum(['collisions', 'always', 'never'])
    .default('collisions')
    .describe(
      'Whether names of tools begin with that of their server: where two are the same, always or never.',
    ),
  mode: z
    .enum(['strict', 'balanced', 'restricted'])
    .exactOptional()
    .describe(
      'The loosest mode it is run in. `autonomous` is not for files: whoever runs the agent chooses it with `--mode`.',
    ),
  limits: limits.prefault({}).describe('Bounds of one run, shared with the agents it asks.'),
  output: z
    .record(z.string(), z.unknown())
    .exactOptional()
    .describe('A JSON Schema that the final answer must match.'),
  skills: z.boolean().default(false).describe('Whether skills of its servers are offered to the model.'),
};

const mayAsk = z.array(z.string().min(1)).default([]);

/** An agent's file of our own: the check, the types, the defaults and the table of the docs come from it. */
export const agentSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][\w-]{0,63}$/, 'must be up to 64 letters, digits, "_" and "-"')
    .exactOptional()
    .describe('What it is called; the name of the file unless set.'),
  ...agentKeys,
  agents: mayAsk.describe(
    'Agents it may ask, each as a tool `ask_<name>`: names, or files such as `./critic.yaml`.',
  ),
});

/** A file with several agents. */
export const agentsSchema = z.strictObject({
  agents: z
    .record(
      z.string().regex(/^[A-Za-z0-9][\w-]{0,63}$/),
      z.strictObject({ ...agentKeys, agents: mayAsk.describe('Agents it may ask, also of this file.') }),
    )
    .describe('Agents by name; each has the keys of a file of its own.'),
  mcpServers: agentServersSection
    .default({})
    .describe('Servers that several of them use. Each agent still says which tools of them it may use.'),
  model: z
    .union([z.string().min(1), model])
    .exactOptional()
    .describe('The model of those that name none.'),
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
