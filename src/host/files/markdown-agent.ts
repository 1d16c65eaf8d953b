import { compileGlob } from '../../base/glob.ts';
import { isObject } from '../../base/json.ts';
import type { AgentConfig, AgentFormat } from '../agent-config.ts';
import {
  finishDraft,
  FORMAT_NAMES,
  groupIn,
  listed,
  notHonoured,
  textsIn,
  type ForeignContext,
  type ForeignServer,
} from './foreign-draft.ts';
import type { MarkdownSettings } from './foreign-schema.ts';
import { agentReference, agentNameAfter } from './own-agent.ts';
import { powerIn, POWER_FIELDS } from './power-fields.ts';
import { readPromptFile } from './prompt-file.ts';
import { programName, siteName } from './server-names.ts';

type Value = Readonly<Record<string, unknown>>;

/** What was read of a Markdown file. */
export interface MarkdownParts {
  readonly format: AgentFormat;
  readonly settings: MarkdownSettings;
  readonly body: string;
  /** The folder of the file itself. */
  readonly folder: string;
}

// What is read here; everything else is kept as unknown.
const READ: ReadonlySet<string> = new Set([
  'name',
  'description',
  'tools',
  'disallowedTools',
  'model',
  'mcpServers',
  'mcp-servers',
  'servers',
  'mcp_connect',
  'maxTurns',
  'max_turns',
  'steps',
  'maxSteps',
  'max_iterations',
  'request_params',
  'timeout_mins',
  'permission',
  'agents',
  'subagents',
  'instruction',
  'prompt',
  'kind',
]);

/** Makes an agent of a Markdown file: one key map for Claude Code, Copilot, opencode, Gemini CLI and fast-agent. */
export function markdownAgent(parts: MarkdownParts, context: ForeignContext): AgentConfig {
  const { format, settings } = parts;
  if (settings.kind === 'remote')
    context.complaints.push(
      context.complain(['kind'], {
        message: 'is remote: an agent behind A2A is not run here',
        remedy: 'name a local one',
      }),
    );
  const notes = [...powerNotes(settings), ...readNotes(settings)];
  const { tools, deniedTools } = toolsOf(parts, notes);
  const models = textsIn(settings.model) ?? [];
  if (models.length > 1) notes.push(`model lists several; ${models[0]} is used.`);
  return finishDraft(
    {
      format,
      name: settings.name?.trim() || agentNameAfter(context.file),
      description: settings.description ?? '',
      instructions: instructionsOf(parts, context),
      model: models[0] === undefined ? {} : { name: models[0] },
      servers: serversOf(parts),
      tools,
      deniedTools,
      inherits: format !== 'fast-agent',
      turns: turnsOf(settings),
      seconds: settings.timeout_mins ? settings.timeout_mins * 60 : undefined,
      agents: agentsOf(parts, context),
      notes,
      unknown: Object.fromEntries(Object.entries(settings).filter(([key]) => isUnknown(key, format))),
    },
    context,
  );
}

function isUnknown(key: string, format: AgentFormat): boolean {
  if (format === 'fast-agent' && (key === 'resources' || key === 'prompts')) return false;
  return !READ.has(key) && !POWER_FIELDS.some((field) => field.split('.')[0] === key);
}

function powerNotes(settings: Value): string[] {
  const power = powerIn(settings);
  return power.length > 0 ? [notHonoured(power)] : [];
}

function readNotes(settings: MarkdownSettings): string[] {
  const isEmpty = settings.tools === null;
  return isEmpty ? ['tools has no value: nothing is granted.'] : [];
}

function turnsOf(settings: MarkdownSettings): number | undefined {
  const { maxTurns, max_turns, steps, maxSteps, max_iterations, request_params } = settings;
  const found = [maxTurns, max_turns, steps, maxSteps, max_iterations, request_params?.max_iterations];
  return found.find((turns) => typeof turns === 'number') ?? undefined;
}

function instructionsOf({ settings, body, folder }: MarkdownParts, context: ForeignContext): string {
  const written = settings.prompt ?? settings.instruction ?? '';
  const path = /^\{file:([^{}]+)\}$/.exec(written.trim())?.[1];
  if (path === undefined) return [written.trim(), body].filter((part) => part !== '').join('\n\n');
  const read = readPromptFile(path, folder, context.folder);
  if ('problem' in read) context.complaints.push(context.complain(['prompt'], { message: read.problem }));
  return 'text' in read ? read.text : '';
}

function agentsOf({ settings, folder }: MarkdownParts, { file }: ForeignContext): readonly string[] {
  const names = [...(textsIn(settings.agents) ?? []), ...(textsIn(settings.subagents) ?? [])];
  return names
    .filter((name) => name !== '*')
    .map((name) => agentReference(name, { file, folder, siblings: [] }));
}

interface ToolRules {
  readonly tools: readonly string[] | undefined;
  readonly deniedTools: readonly string[];
}

function toolsOf({ format, settings }: MarkdownParts, notes: string[]): ToolRules {
  const denied = [...(textsIn(settings.disallowedTools) ?? [])];
  const byPermission = permissionRules(settings.permission, notes);
  const deniedTools = [...denied, ...byPermission];
  const { tools } = settings;
  if (tools === undefined || (format === 'fast-agent' && isObject(tools)))
    return { tools: undefined, deniedTools };
  if (tools === null) return { tools: [], deniedTools };
  if (!isObject(tools)) return { tools: textsIn(tools) ?? [], deniedTools };
  // opencode: names with true or false; tools that are not named stay allowed.
  const rules = Object.entries(tools).map(([name, isOn]) => [name, isOn === false] as const);
  noteOrder(notes, 'tools', rules);
  const off = rules.flatMap(([name, isOff]) => (isOff ? [name] : []));
  return { tools: undefined, deniedTools: [...deniedTools, ...off] };
}

// A permission that allows is ignored here: the operator of the agent is asked.
function permissionRules(permission: MarkdownSettings['permission'], notes: string[]): readonly string[] {
  if (permission === undefined || permission === null) return [];
  const rules = typeof permission === 'string' ? { '*': permission } : permission;
  const effects = Object.entries(rules).map(([name, rule]) => [name, effectOf(rule)] as const);
  const named = (wanted: string): string[] =>
    effects.flatMap(([name, effect]) => (effect === wanted ? [name] : []));
  const allowed = named('allow');
  if (allowed.length > 0) notes.push(notHonoured(allowed.map((name) => `permission "${name}": allow`)));
  noteOrder(
    notes,
    'permission',
    effects.map(([name, effect]) => [name, effect === 'deny']),
  );
  return named('deny');
}

// Rules about arguments cannot be kept; what they say of all arguments can.
function effectOf(rule: unknown): unknown {
  return isObject(rule) ? rule['*'] : rule;
}

// Where the last rule that matches wins, one that allows may undo an earlier denial.
function noteOrder(
  notes: string[],
  key: string,
  rules: readonly (readonly [name: string, isOff: boolean])[],
): void {
  const undone = rules.flatMap(([name, isOff], index) => {
    if (isOff) return [];
    const covers = (one: string, other: string): boolean => compileGlob(one)(other);
    const isUndoing = rules
      .slice(0, index)
      .some(([earlier, wasOff]) => wasOff && (covers(earlier, name) || covers(name, earlier)));
    return isUndoing ? [name] : [];
  });
  if (undone.length > 0)
    notes.push(
      `${key} goes by order in ${FORMAT_NAMES.opencode}; here a denial always wins, so ${listed(undone)} has no effect.`,
    );
}

function serversOf({ format, settings }: MarkdownParts): readonly ForeignServer[] {
  const all = (['mcpServers', 'mcp-servers', 'servers', 'mcp_connect'] as const).flatMap((key) =>
    namedIn(settings[key], key),
  );
  if (format !== 'fast-agent') return all;
  const filters = {
    tools: groupIn(settings.tools),
    resources: groupIn(settings.resources),
    prompts: groupIn(settings.prompts),
  };
  return all.map((server) => ({
    ...server,
    only: Object.hasOwn(filters.tools, server.name) ? (textsIn(filters.tools[server.name]) ?? []) : undefined,
    resources: textsIn(filters.resources[server.name]) ?? ['*'],
    prompts: textsIn(filters.prompts[server.name]) ?? ['*'],
  }));
}

// Names, names with definitions, or a list of either.
function namedIn(value: unknown, key: string): readonly ForeignServer[] {
  if (typeof value === 'string')
    return (textsIn(value) ?? []).map((name) => ({ name, path: [key], entry: undefined }));
  if (Array.isArray(value))
    return value.flatMap((one: unknown, index): readonly ForeignServer[] => {
      if (typeof one === 'string') return [{ name: one, path: [key, index], entry: undefined }];
      if (!isObject(one)) return [];
      if (key === 'mcp_connect') return [connected(one, [key, index])];
      return Object.entries(one).map(([name, entry]) => definedServer(name, entry, [key, index, name]));
    });
  return Object.entries(groupIn(value)).map(([name, entry]) => {
    const path = [key, name];
    return key === 'mcp_connect'
      ? { ...connected(groupIn(entry), path), name }
      : definedServer(name, entry, path);
  });
}

function definedServer(name: string, entry: unknown, path: readonly PropertyKey[]): ForeignServer {
  const written = groupIn(entry);
  const only = textsIn(written['tools']) ?? textsIn(written['includeTools']);
  const denied = [...(textsIn(written['excludeTools']) ?? []), ...(textsIn(written['disabledTools']) ?? [])];
  return { name, path, entry: written, denied, ...(only && { only }) };
}

// A target of fast-agent is an address, or a command in one line.
function connected(written: Value, path: readonly PropertyKey[]): ForeignServer {
  const target = typeof written['target'] === 'string' ? written['target'].trim() : '';
  const isUrl = /^https?:\/\//i.test(target);
  const [command = '', ...args] = target.split(/\s+/).filter((word) => word !== '');
  const own = typeof written['name'] === 'string' ? written['name'] : undefined;
  const name = own ?? (isUrl ? siteName(target) : programName(command, args));
  const reached = isUrl ? { url: target, headers: written['headers'] } : { command, args };
  return { name, path, entry: { ...written, ...reached } };
}
