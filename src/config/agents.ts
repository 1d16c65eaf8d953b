import { z } from 'zod';

const patterns = z.union([z.literal('*'), z.array(z.string().min(1))]);

const grantRule = z.union([
  patterns,
  z.strictObject({
    allow: patterns.describe('Which ones: names, patterns, or `*` for all.'),
    deny: z.array(z.string().min(1)).default([]).describe('Which ones not, whatever `allow` says.'),
  }),
]);

/** Names of tools, resources or prompts, as they may be written. */
export type Granted = z.output<typeof grantRule>;

/** Which names are granted: patterns with `*`, and those that are taken away again; a denial always wins. */
export interface NameRule {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** The declaration of what may be used; `what` says of which things. */
export function granted(what: string, example = 'get_*') {
  return grantRule
    .exactOptional()
    .describe(
      `Which ${what} the agent may use: names, patterns such as \`${example}\`, \`*\` for all, or keys \`allow\` and \`deny\`, of which \`deny\` wins. Left out, none.`,
    );
}

/** A grant, in one form. */
export function ruleOf(written: Granted | undefined): NameRule {
  if (written === undefined) return { allow: [], deny: [] };
  if (written === '*' || Array.isArray(written)) return { allow: [written].flat(), deny: [] };
  return { allow: [written.allow].flat(), deny: written.deny };
}

const modelKeys = z.strictObject({
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

/** The model of an agent: its name, or keys. */
export const agentModel = z.union([z.string().min(1), modelKeys]);

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

/** The settings of every agent, in a file of its own and in `toolcrib.yaml`. */
export const agentKeys = {
  description: z.string().default('').describe('What it is for; other agents that may ask it read this.'),
  instructions: z.string().default('').describe('What the model is told first.'),
  model: agentModel
    .exactOptional()
    .describe('The model: its name, or keys. Left out, the person who runs the agent says which.'),
  mode: z
    .enum(['strict', 'balanced', 'restricted'])
    .exactOptional()
    .describe(
      'The loosest mode it is run in. `autonomous` is not for files: the person who runs the agent chooses it with `--mode`.',
    ),
  limits: limits.prefault({}).describe('Bounds of one run, shared with the agents it asks.'),
  output: z
    .record(z.string(), z.unknown())
    .exactOptional()
    .describe('A JSON Schema that the final answer must match.'),
};

const everyAgent = z.strictObject(agentKeys);

/** The settings of every agent, with every default filled in. */
export type WrittenKeys = z.output<typeof everyAgent>;

/** The agents that another one may ask. */
export const mayAsk = z.array(z.string().min(1)).default([]);

/** The name of the tool by which an agent is asked; models take no other characters in names. */
export function askToolName(agent: string): string {
  return `ask_${agent.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`.slice(0, 64);
}

/** The settings of such a tool. */
export function askDescription(agent: string, description: string): string {
  return `Asks the agent ${agent}, which answers in words. ${description}`.trim();
}

/** The arguments of such a tool. */
export const askInput = {
  type: 'object',
  properties: {
    question: { type: 'string', description: 'The whole question; the agent sees nothing else.' },
  },
  required: ['question'],
  additionalProperties: false,
} as const;
