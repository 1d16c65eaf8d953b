import { basename, resolve } from 'node:path';
import type { z } from 'zod';
import { ToolcribError } from '../../base/errors.ts';
import { ruleOf, type WrittenKeys } from '../../config/agents.ts';
import type { Complaint } from '../../config/complaint.ts';
import { readServerEntry, type ServerEntry } from '../../config/servers.ts';
import type { About, Path } from '../../config/yaml-text.ts';
import { readOutputSchema, type JsonSchema } from '../../schema/schema.ts';
import type { AgentConfig, AgentServer, ModelChoice } from '../agent-config.ts';
import { spanMs, type agentsSchema, type WrittenAgent, type WrittenAgentServer } from './agent-schema.ts';

/** Where agents of our own format were written, and what their names lead to. */
export interface OwnContext {
  /** The file as it was named; `undefined` for an agent that is written in code. */
  readonly file: string | undefined;
  readonly folder: string;
  /** Servers that may be named without being defined. */
  readonly servers: Readonly<Record<string, ServerEntry>>;
  readonly complain: (path: Path, about: About) => Complaint;
}

/** Agents of a file, and what is wrong with them. */
export interface ReadAgents {
  readonly configs: readonly AgentConfig[];
  readonly complaints: readonly Complaint[];
}

type Group = z.output<typeof agentsSchema>;

/** Makes agents of what a file of our own format holds. */
export function ownAgents(written: WrittenAgent | Group, context: OwnContext): ReadAgents {
  const complaints: Complaint[] = [];
  const place = { ...context, path: [], shared: {}, siblings: [], complaints };
  if (!isGroup(written)) {
    const config = agentOf(written.name ?? agentNameAfter(context.file), written, place);
    return { configs: [config], complaints };
  }
  const { agents, mcpServers, model } = written;
  const siblings = Object.keys(agents);
  const configs = Object.entries(agents).map(([name, agent]) => {
    const usual = model === undefined ? {} : { model };
    return agentOf(
      name,
      { ...usual, ...agent },
      { ...place, path: ['agents', name], shared: mcpServers, siblings },
    );
  });
  if (configs.length === 0)
    complaints.push(context.complain(['agents'], { message: 'names no agent', remedy: 'add one' }));
  return { configs, complaints };
}

/** What an agent is called that does not say so: its file without the endings. */
export function agentNameAfter(file: string | undefined): string {
  const [name = ''] = basename(file ?? '').split('.', 1);
  return name === '' ? 'agent' : name;
}

interface Place extends OwnContext {
  /** The steps to the agent in its file. */
  readonly path: Path;
  /** Servers that the file defines for all of its agents. */
  readonly shared: Readonly<Record<string, WrittenAgentServer>>;
  /** The other agents of the file. */
  readonly siblings: readonly string[];
  readonly complaints: Complaint[];
}

function isGroup(written: WrittenAgent | Group): written is Group {
  return !Array.isArray(written.agents);
}

function agentOf(name: string, written: Omit<WrittenAgent, 'name'>, place: Place): AgentConfig {
  const { mcpServers, prefix, skills, output } = written;
  const servers = Object.entries(mcpServers).flatMap(([server, entry]) => {
    const read = serverOf(server, entry, place);
    return read ? [[server, read] as const] : [];
  });
  return {
    ...agentConfig(name, written),
    file: place.file,
    servers: Object.fromEntries(servers),
    prefix,
    agents: written.agents.map((other) => agentReference(other, place)),
    outputSchema: output === undefined ? undefined : outputOf(output, place),
    skills,
  };
}

/** The part of an agent that is written the same way everywhere; it has no servers yet. */
export function agentConfig(name: string, written: WrittenKeys): AgentConfig {
  const { description, instructions, model, mode, limits } = written;
  return {
    name,
    description,
    instructions,
    format: 'toolcrib',
    file: undefined,
    model: modelOf(model),
    servers: {},
    prefix: 'collisions',
    mode,
    limits: {
      turns: limits.turns,
      calls: limits.calls,
      tokens: limits.tokens,
      money: limits.money,
      seconds: limits.seconds,
    },
    agents: [],
    outputSchema: undefined,
    skills: false,
    notes: [],
    unknown: {},
  };
}

/** An agent that another one names: one of the same file, a file beside it, or a name to look up. */
export function agentReference(
  name: string,
  { file, folder, siblings }: { file: string | undefined; folder: string; siblings: readonly string[] },
): string {
  if (file !== undefined && siblings.includes(name)) return `${file}#${name}`;
  return /[\\/]|\.(?:ya?ml|json|md|[cm]?[jt]s)(?:#|$)/i.test(name) ? resolve(folder, name) : name;
}

/** What is known of a model where nothing is. */
export const OPEN_MODEL: ModelChoice = {
  name: undefined,
  api: undefined,
  baseUrl: undefined,
  keyVariable: undefined,
  maxOutputTokens: undefined,
};

function modelOf(model: WrittenAgent['model']): ModelChoice {
  if (typeof model === 'string') return { ...OPEN_MODEL, name: model };
  return { ...OPEN_MODEL, ...model };
}

function outputOf(schema: JsonSchema, place: Place): JsonSchema | undefined {
  try {
    return readOutputSchema(schema).json;
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    complain(place, ['output'], { message: 'is no schema that can be used.', remedy: error.message });
    return undefined;
  }
}

function serverOf(name: string, written: WrittenAgentServer, place: Place): AgentServer | undefined {
  const entry = entryOf(name, written, place);
  if (!entry) return undefined;
  const { tools, resources, prompts, trust, parallel, load, retryInterval } = written;
  return {
    entry,
    tools: ruleOf(tools),
    resources: ruleOf(resources),
    prompts: ruleOf(prompts),
    trust,
    parallel,
    load,
    retryMs: msOf(retryInterval) ?? DEFAULT_RETRY_MS,
  };
}

/** The pause before a connection is tried again, unless a file says otherwise. */
export const DEFAULT_RETRY_MS = 1_000;

function entryOf(name: string, written: WrittenAgentServer, place: Place): ServerEntry | undefined {
  const timeoutMs = msOf(written.timeout);
  const timeout = timeoutMs === undefined ? {} : { timeoutSeconds: timeoutMs / 1000 };
  if (isDefined(written)) return ownEntry(name, written, { place, timeout });
  const shared = ownMember(place.shared, name);
  const found =
    shared && isDefined(shared)
      ? entryOf(name, shared, { ...place, path: [] })
      : ownMember(place.servers, name);
  if (!found) {
    complain(place, ['mcpServers', name], {
      message: 'has neither command nor url, and no server of this name is known',
      remedy: 'say how it is started or where it is, or pass it as a known server',
      isKey: true,
    });
    return undefined;
  }
  return { ...found, ...timeout, disabled: found.disabled || written.disabled };
}

// A name such as `constructor` leads nowhere.
function ownMember<T>(members: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

type Defined = Exclude<WrittenAgentServer, { readonly command?: never; readonly url?: never }>;

function isDefined(written: WrittenAgentServer): written is Defined {
  return 'url' in written || 'command' in written;
}

function ownEntry(
  name: string,
  written: Defined,
  { place, timeout }: { readonly place: Place; readonly timeout: { readonly timeoutSeconds?: number } },
): ServerEntry | undefined {
  const { type, transport, protocol, disabled } = written;
  const chosen = transport === 'http+sse' ? 'sse' : transport;
  if (type !== undefined && chosen !== undefined && type !== chosen) {
    const message = 'says something else than type';
    complain(place, ['mcpServers', name, 'transport'], { message, remedy: 'keep one of the two' });
    return undefined;
  }
  const shared = { protocol, disabled, ...timeout };
  if ('url' in written) {
    const kind = (chosen ?? type) as 'http' | undefined;
    return readServerEntry({
      ...shared,
      url: written.url,
      headers: written.headers,
      ...(kind && { type: kind }),
    });
  }
  const { command, args, env, cwd } = written;
  const folder = cwd === undefined ? {} : { cwd: resolve(place.folder, cwd) };
  return readServerEntry({ ...shared, command, args, env, ...folder });
}

function msOf(span: number | string | undefined): number | undefined {
  return span === undefined ? undefined : spanMs(span);
}

function complain({ complain: say, complaints, path }: Place, at: Path, about: About): void {
  complaints.push(say([...path, ...at], about));
}
