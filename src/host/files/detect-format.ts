import { basename, resolve } from 'node:path';
import { isObject } from '../../base/json.ts';
import type { AgentFormat } from '../agent-config.ts';

/** What a file is: a format that is read, or one that is not, with what to do instead. */
export type Detected = { readonly format: AgentFormat } | { readonly refusal: RefusedFormat };

/** Why a format is not read, and the nearest one that is. */
export interface RefusedFormat {
  readonly message: string;
  readonly remedy: string;
}

type Value = Readonly<Record<string, unknown>>;

interface Place {
  readonly format: AgentFormat;
  /** A file in one of these folders, or below, is meant. */
  readonly folders: readonly string[];
  readonly endings: readonly string[];
}

const MARKDOWN = ['.md'];
const PLACES: readonly Place[] = [
  {
    format: 'toolcrib',
    folders: ['/.toolcrib/agents/', '/toolcrib/agents/'],
    endings: ['.md', '.yaml', '.yml', '.json'],
  },
  { format: 'claude-code', folders: ['/.claude/agents/', '/.cursor/agents/'], endings: MARKDOWN },
  {
    format: 'copilot',
    folders: ['/.github/agents/', '/.github/chatmodes/', '/.copilot/agents/'],
    endings: MARKDOWN,
  },
  { format: 'copilot', folders: ['/'], endings: ['.agent.md', '.chatmode.md'] },
  {
    format: 'opencode',
    folders: ['/.opencode/agents/', '/.opencode/agent/', '/opencode/agents/', '/opencode/agent/'],
    endings: MARKDOWN,
  },
  { format: 'gemini', folders: ['/.gemini/agents/'], endings: MARKDOWN },
  { format: 'fast-agent', folders: ['/.fast-agent/agent-cards/'], endings: ['.md', '.yaml', '.yml'] },
  {
    format: 'amazon-q',
    folders: ['/.amazonq/cli-agents/', '/amazonq/cli-agents/', '/.kiro/agents/'],
    endings: ['.json'],
  },
];

/** Finds the format of a file by its place, else by what it holds: the settings of a Markdown file, or all of it. */
export function detectFormat(file: string, value: unknown): Detected {
  const path = resolve(file).replaceAll('\\', '/');
  const refusal = refusalOf(path, isObject(value) ? value : {});
  if (refusal) return { refusal };
  const placed = placedFormat(file);
  if (placed) return { format: placed };
  const content = isObject(value) ? value : {};
  if (/\.(?:md|markdown)$/i.test(path)) return { format: markdownFormat(content) };
  if (isDockerAgent(content)) return { format: 'docker-agent' };
  if (isFastAgent(content)) return { format: 'fast-agent' };
  return { format: path.endsWith('.json') && isAmazonQ(content) ? 'amazon-q' : 'toolcrib' };
}

/** The format of the place where a file is, if it is a usual one. */
export function placedFormat(file: string): AgentFormat | undefined {
  const path = resolve(file).replaceAll('\\', '/');
  const found = PLACES.find(
    ({ folders, endings }) =>
      folders.some((folder) => path.includes(folder)) && endings.some((ending) => path.endsWith(ending)),
  );
  return found?.format;
}

/** Why a file whose name alone says what it is cannot be read. */
export function refusedName(file: string): RefusedFormat | undefined {
  if (/\.toml$/i.test(file))
    return {
      message: 'An agent of Codex (TOML) is not read here.',
      remedy: 'Write it as Markdown with front matter, as Claude Code does, or as YAML of our own.',
    };
  if (/^(?:AGENTS|CLAUDE|GEMINI|SKILL|README)\.md$/i.test(basename(file)))
    return {
      message: `${basename(file)} holds instructions, not an agent.`,
      remedy: 'Make an agent with "toolcrib init --agent" and put them into its instructions.',
    };
  return undefined;
}

function refusalOf(path: string, value: Value): RefusedFormat | undefined {
  if (/\/root_agent\.ya?ml$/.test(path) || has(value, 'agent_class') || hasConfigPaths(value))
    return {
      message: 'An agent of Google ADK is not read here.',
      remedy: 'The nearest format that is read is docker-agent YAML: agents, instruction, toolsets.',
    };
  if (typeof value['kind'] === 'string' && /^(?:prompt|workflow|hosted)/i.test(value['kind']))
    return {
      message: 'An agent of Microsoft Agent Framework is not read here.',
      remedy: 'The nearest format that is read is our own YAML: name, instructions, model, mcpServers.',
    };
  const isRecipe =
    has(value, 'title') && (has(value, 'extensions') || has(value, 'activities') || has(value, 'version'));
  if (isRecipe && !has(value, 'agents'))
    return {
      message: 'A recipe of Goose is not read here.',
      remedy: 'The nearest format that is read is our own YAML: its extensions become mcpServers.',
    };
  return undefined;
}

function hasConfigPaths(value: Value): boolean {
  const agents = value['sub_agents'];
  return Array.isArray(agents) && agents.some((one) => isObject(one) && has(one, 'config_path'));
}

function markdownFormat(value: Value): AgentFormat {
  if (isFastAgent(value)) return 'fast-agent';
  if (
    hasAny(value, [
      'mcp-servers',
      'handoffs',
      'target',
      'user-invocable',
      'argument-hint',
      'disable-model-invocation',
    ])
  )
    return 'copilot';
  const tools = value['tools'];
  if (hasAny(value, ['permission', 'steps', 'maxSteps', 'mode', 'top_p']) || isObject(tools))
    return 'opencode';
  if (hasAny(value, ['max_turns', 'timeout_mins', 'display_name']) || value['kind'] === 'local')
    return 'gemini';
  const isSlashed =
    Array.isArray(tools) && tools.some((tool) => typeof tool === 'string' && tool.includes('/'));
  return isSlashed ? 'copilot' : 'claude-code';
}

function isFastAgent(value: Value): boolean {
  const isNamed = Array.isArray(value['servers']) && !has(value, 'agents');
  return isNamed || hasAny(value, ['mcp_connect', 'request_params', 'use_history']);
}

function isDockerAgent(value: Value): boolean {
  const agents = isObject(value['agents']) ? Object.values(value['agents']) : [];
  if (agents.length === 0) return false;
  if (hasAny(value, ['models', 'providers', 'metadata', 'runtime', 'permissions'])) return true;
  return agents.some((agent) => isObject(agent) && hasAny(agent, ['toolsets', 'instruction', 'sub_agents']));
}

function isAmazonQ(value: Value): boolean {
  return hasAny(value, [
    'prompt',
    'tools',
    'allowedTools',
    'toolsSettings',
    'toolAliases',
    'useLegacyMcpJson',
    'includeMcpJson',
  ]);
}

function hasAny(value: Value, keys: readonly string[]): boolean {
  return keys.some((key) => has(value, key));
}

function has(value: Value, key: string): boolean {
  return Object.hasOwn(value, key);
}
