import { dirname } from 'node:path';
import type { AgentConfig, ModelChoice } from '../agent-config.ts';
import {
  finishDraft,
  listed,
  notHonoured,
  type ForeignContext,
  type ForeignServer,
} from './foreign-draft.ts';
import type { DockerSettings } from './foreign-schema.ts';
import { agentReference } from './own-agent.ts';
import { powerIn, POWER_FIELDS } from './power-fields.ts';
import { programName, siteName } from './server-names.ts';

type Value = Readonly<Record<string, unknown>>;
type DockerAgent = DockerSettings['agents'][string];
type Toolset = NonNullable<DockerAgent['toolsets']>[number];

const READ: ReadonlySet<string> = new Set([
  'model',
  'description',
  'instruction',
  'toolsets',
  'sub_agents',
  'max_iterations',
  'structured_output',
]);

/** Makes agents of a file of docker-agent; of its toolsets, only those of the type `mcp` exist here. */
export function dockerAgents(settings: DockerSettings, context: ForeignContext): readonly AgentConfig[] {
  const { agents, permissions } = settings;
  const names = Object.keys(agents);
  const fileNotes = powerNotes(settings);
  const { denied, byArgument } = denials(permissions?.deny ?? []);
  if (byArgument.length > 0)
    fileNotes.push(`${listed(byArgument)}: denials for some arguments deny the whole tool here.`);
  return names.map((name) => {
    const agent = agents[name]!;
    const toolsets = agent.toolsets ?? [];
    const notes = [...fileNotes, ...powerNotes(agent), ...builtInNotes(toolsets)];
    const folder = dirname(context.file);
    return finishDraft(
      {
        format: 'docker-agent',
        name,
        description: agent.description ?? '',
        instructions: agent.instruction ?? '',
        model: modelOf(agent.model, settings),
        servers: serversOf(toolsets, ['agents', name, 'toolsets'], notes),
        tools: undefined,
        deniedTools: denied,
        inherits: false,
        turns: agent.max_iterations,
        agents: (agent.sub_agents ?? []).map((other) =>
          agentReference(other, { file: context.file, folder, siblings: names }),
        ),
        outputSchema: agent.structured_output?.schema,
        notes,
        unknown: unknownOf(agent, settings),
      },
      context,
    );
  });
}

function powerNotes(value: Value): string[] {
  const power = powerIn(value);
  return power.length > 0 ? [notHonoured(power)] : [];
}

function builtInNotes(toolsets: readonly Toolset[]): string[] {
  const others = [...new Set(toolsets.map(({ type }) => type).filter((type) => type !== 'mcp'))];
  return others.length > 0
    ? [`${listed(others)}: toolsets that are built into docker-agent; only those of the type mcp exist here.`]
    : [];
}

// `tool:argument=pattern` cannot be kept, so it denies the tool.
function denials(written: readonly string[]): { denied: readonly string[]; byArgument: readonly string[] } {
  const byArgument = written.filter((rule) => /^[^:=]+:[^:=]+=/.test(rule));
  const whole = written.map((rule) => (byArgument.includes(rule) ? rule.slice(0, rule.indexOf(':')) : rule));
  return { denied: whole, byArgument };
}

const APIS: Readonly<Record<string, ModelChoice['api']>> = {
  openai: 'openai-responses',
  anthropic: 'anthropic-messages',
};

function modelOf(written: string | undefined, { models = {} }: DockerSettings): Partial<ModelChoice> {
  if (written === undefined) return {};
  // Several models may be listed by commas; the first one is used.
  const [first = ''] = written.split(',').map((name) => name.trim());
  const entry = Object.hasOwn(models, first) ? models[first]! : undefined;
  if (!entry) return { name: first === 'auto' ? undefined : first };
  const { provider = '', model = first, base_url, token_key, max_tokens } = entry;
  const api =
    base_url === undefined ? APIS[provider] : provider === 'anthropic' ? APIS[provider] : 'openai-chat';
  return {
    name: api === undefined && provider !== '' ? `${provider}/${model}` : model,
    api,
    baseUrl: base_url,
    keyVariable: token_key,
    maxOutputTokens: max_tokens,
  };
}

function serversOf(
  toolsets: readonly Toolset[],
  path: readonly PropertyKey[],
  notes: string[],
): ForeignServer[] {
  const taken = new Set<string>();
  return toolsets.flatMap((toolset, index) => {
    if (toolset.type !== 'mcp') return [];
    const power = powerIn(toolset);
    const name = freshName(nameOf(toolset), taken);
    if (power.length > 0) notes.push(notHonoured(power.map((key) => `${name}.${key}`)));
    return [{ name, path: [...path, index], ...usedOf(toolset), entry: entryOf(toolset) }];
  });
}

// Empty filters filter nothing there.
function usedOf({ tools = [], defer }: Toolset): Pick<ForeignServer, 'only' | 'load'> {
  const load = defer === true || Array.isArray(defer) ? { load: 'defer' as const } : {};
  return { ...(tools.length > 0 && { only: tools }), ...load };
}

function entryOf({ command, args, env, remote, ref }: Toolset): Value | undefined {
  if (remote) {
    const { url, transport_type: type, headers = {} } = remote;
    return { url, headers, ...(type === 'sse' && { type }) };
  }
  if (command !== undefined) return { command, args: args ?? [], env: env ?? {} };
  // A server of the catalogue runs behind the gateway that docker itself has.
  const image = /^docker:([\w./:-]+)$/.exec(ref ?? '')?.[1];
  return image === undefined
    ? undefined
    : { command: 'docker', args: ['mcp', 'gateway', 'run', `--servers=${image}`] };
}

function nameOf({ name, ref, command, args = [], remote }: Toolset): string {
  if (name !== undefined) return name;
  if (ref !== undefined) return ref.replace(/^docker:/, '');
  return remote ? siteName(remote.url) : programName(command ?? 'server', args);
}

function freshName(name: string, taken: Set<string>): string {
  let fresh = name;
  for (let count = 2; taken.has(fresh); count++) fresh = `${name}-${count}`;
  taken.add(fresh);
  return fresh;
}

function unknownOf(agent: Value, settings: Value): Value {
  const isKept = (key: string, read: ReadonlySet<string>): boolean =>
    !read.has(key) && !POWER_FIELDS.some((field) => field.split('.')[0] === key);
  const own = Object.entries(agent).filter(([key]) => isKept(key, READ));
  const top = Object.entries(settings).filter(([key]) => isKept(key, FILE_READ));
  return Object.fromEntries([...top, ...own]);
}

const FILE_READ: ReadonlySet<string> = new Set(['agents', 'models', 'permissions', 'version']);
