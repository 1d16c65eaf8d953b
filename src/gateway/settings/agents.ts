import { z } from 'zod';
import { agentKeys, granted, mayAsk } from '../../config/agents.ts';
import { serverName } from '../../config/servers.ts';

const serving = z.strictObject({
  tokensPerHour: z
    .int()
    .positive()
    .default(1_000_000)
    .describe('How many tokens of its model each caller may use in an hour.'),
});

const agent = z.strictObject({
  ...agentKeys,
  mcpServers: z
    .array(serverName)
    .default([])
    .describe('The servers of this file whose tools it may be granted, by name.'),
  tools: granted('tools', 'github.search_*'),
  agents: mayAsk.describe('Other agents of this file that it may ask.'),
  serve: z
    .union([z.boolean(), serving])
    .default(false)
    .describe(
      'Whether callers may ask it by the tool `ask_<name>`, under the rules of this file; with `{ tokensPerHour: ... }`, how much of it each may use, 1,000,000 unless set.',
    ),
});

/** `agents`: by name, what each may use of what there is. */
export const agentsSection = z.record(
  z.string().regex(/^[A-Za-z0-9][\w-]{0,59}$/, 'must be up to 60 letters, digits, "_" and "-"'),
  agent,
);

/** An agent of the configuration with every default filled in. */
export type AgentEntry = z.output<typeof agent>;

/** Bounds of one run of an agent that callers may ask. */
export interface ServedLimits {
  readonly turns: number;
  readonly calls: number;
  readonly tokens: number;
  readonly seconds: number;
  /** Of all runs for one caller. */
  readonly tokensPerHour: number;
}

/** The bounds of an agent that callers may ask, none of them open; `undefined` for one that they may not. */
export function servedLimits({ serve, limits }: AgentEntry): ServedLimits | undefined {
  if (serve === false) return undefined;
  const { tokensPerHour } = serving.parse(serve === true ? {} : serve, { jitless: true });
  const { turns, calls = 100, tokens = 200_000, seconds = 300 } = limits;
  return { turns, calls, tokens, seconds, tokensPerHour };
}
