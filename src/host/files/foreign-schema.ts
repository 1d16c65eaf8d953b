import { z } from 'zod';

const text = z.string();
const texts = z.union([text, z.array(text)]);
const group = z.record(z.string(), z.unknown());
const count = z.int().positive().nullable().exactOptional();

/** Settings of a Markdown agent: the keys of Claude Code, VS Code and Copilot, opencode, Gemini CLI and fast-agent. */
export const markdownSchema = z.looseObject({
  name: text.nullable().exactOptional(),
  description: text.nullable().exactOptional(),
  tools: z
    .union([text, z.array(text), group])
    .nullable()
    .exactOptional(),
  disallowedTools: texts.nullable().exactOptional(),
  model: texts.nullable().exactOptional(),
  mcpServers: z
    .union([z.array(z.union([text, group])), group, text])
    .nullable()
    .exactOptional(),
  'mcp-servers': z
    .union([z.array(z.union([text, group])), group])
    .nullable()
    .exactOptional(),
  servers: z
    .union([text, z.array(text), group])
    .nullable()
    .exactOptional(),
  mcp_connect: z
    .union([z.array(group), group])
    .nullable()
    .exactOptional(),
  resources: z
    .union([group, z.array(z.unknown())])
    .nullable()
    .exactOptional(),
  prompts: z
    .union([group, z.array(z.unknown())])
    .nullable()
    .exactOptional(),
  maxTurns: count,
  max_turns: count,
  steps: count,
  maxSteps: count,
  max_iterations: count,
  request_params: z.looseObject({ max_iterations: count }).nullable().exactOptional(),
  timeout_mins: z.number().positive().nullable().exactOptional(),
  permission: z.union([text, group]).nullable().exactOptional(),
  agents: texts.nullable().exactOptional(),
  subagents: texts.nullable().exactOptional(),
  instruction: text.nullable().exactOptional(),
  prompt: text.nullable().exactOptional(),
  kind: text.nullable().exactOptional(),
});

/** Settings of a Markdown agent, as they were read. */
export type MarkdownSettings = z.output<typeof markdownSchema>;

const toolset = z.looseObject({
  type: text,
  name: text.exactOptional(),
  command: text.exactOptional(),
  args: z.array(text).exactOptional(),
  env: z.record(z.string(), z.union([text, z.number()])).exactOptional(),
  remote: z
    .looseObject({
      url: text,
      transport_type: text.exactOptional(),
      headers: z.record(z.string(), text).exactOptional(),
    })
    .exactOptional(),
  ref: text.exactOptional(),
  tools: z.array(text).exactOptional(),
  defer: z.union([z.boolean(), z.array(text)]).exactOptional(),
});

const dockerOne = z.looseObject({
  model: text.exactOptional(),
  description: text.exactOptional(),
  instruction: text.exactOptional(),
  toolsets: z.array(toolset).exactOptional(),
  sub_agents: z.array(text).exactOptional(),
  max_iterations: z.int().positive().exactOptional(),
  structured_output: z.looseObject({ schema: group }).exactOptional(),
});

/** A file of docker-agent. */
export const dockerSchema = z.looseObject({
  agents: z.record(z.string(), dockerOne),
  models: z
    .record(
      z.string(),
      z.looseObject({
        provider: text.exactOptional(),
        model: text.exactOptional(),
        base_url: text.exactOptional(),
        token_key: text.exactOptional(),
        max_tokens: z.int().positive().exactOptional(),
      }),
    )
    .exactOptional(),
  permissions: z
    .looseObject({
      allow: z.array(text).exactOptional(),
      ask: z.array(text).exactOptional(),
      deny: z.array(text).exactOptional(),
    })
    .exactOptional(),
});

/** A file of docker-agent, as it was read. */
export type DockerSettings = z.output<typeof dockerSchema>;

/** An agent of Amazon Q or Kiro. */
export const amazonSchema = z.looseObject({
  name: text.exactOptional(),
  description: text.nullable().exactOptional(),
  prompt: text.nullable().exactOptional(),
  model: text.nullable().exactOptional(),
  mcpServers: z.record(z.string(), group).exactOptional(),
  tools: z.array(text).exactOptional(),
  toolAliases: z.record(z.string(), text).exactOptional(),
  useLegacyMcpJson: z.boolean().exactOptional(),
  includeMcpJson: z.boolean().exactOptional(),
});

/** An agent of Amazon Q or Kiro, as it was read. */
export type AmazonSettings = z.output<typeof amazonSchema>;
