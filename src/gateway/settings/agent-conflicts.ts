import { compileGlob, restsAfter } from '../../base/glob.ts';
import { askToolName, ruleOf } from '../../config/agents.ts';
import { nearest } from '../../config/schema-keys.ts';
import type { Path } from '../../config/yaml-text.ts';
import type { AgentEntry } from './agents.ts';
import type { Config, Conflict } from './config.ts';

type Agents = Readonly<Record<string, AgentEntry>>;

/** Finds agents that name missing parts, or that callers could not call. */
export function agentConflicts({ agents = {}, mcpServers = {} }: Config): Conflict[] {
  return Object.entries(agents).flatMap(([name, entry]) => {
    const path = ['agents', name];
    return [
      ...serverConflicts(path, entry, mcpServers),
      ...toolConflicts(path, entry, { agents, servers: Object.keys(mcpServers) }),
      ...othersConflicts(path, entry, agents),
      ...servingConflicts(path, entry),
    ];
  });
}

/** Finds entries of `tools` that are about no server and match none of our own tools, which have these names. */
export function unmatchedTools({ agents = {} }: Config, names: readonly string[]): Conflict[] {
  return Object.entries(agents).flatMap(([agent, entry]) =>
    patternsIn(['agents', agent], entry).flatMap(({ path, pattern }): Conflict[] => {
      const fits = compileGlob(pattern);
      const isOfServer = entry.mcpServers.some((server) => isAbout(server, pattern));
      if (isOfServer || pattern === '*' || names.some(fits)) return [];
      const meant = nearest(pattern, names);
      const remedy =
        meant === undefined
          ? 'name a tool of this file, or server.tool for one of its mcpServers'
          : `did you mean "${meant}"?`;
      return [{ path, message: 'matches no tool', remedy, severity: 'warning' }];
    }),
  );
}

/** Finds entries of `tools` that match none of the tools their server lists; `names` are those of all servers. */
export function unmatchedFarTools(
  { agents = {} }: Pick<Config, 'agents'>,
  names: readonly string[],
): Conflict[] {
  return Object.entries(agents).flatMap(([agent, entry]) =>
    patternsIn(['agents', agent], entry).flatMap(({ path, pattern }): Conflict[] => {
      const server = entry.mcpServers.find((name) => pattern.startsWith(`${name}.`));
      const listed = server === undefined ? [] : names.filter((name) => name.startsWith(`${server}.`));
      // The tools of a server that lists nothing are not known.
      if (listed.length === 0 || listed.some(compileGlob(pattern))) return [];
      const meant = nearest(pattern, listed);
      const remedy = meant === undefined ? 'correct it, or leave it out' : `did you mean "${meant}"?`;
      return [{ path, message: `matches no tool that ${server} lists`, remedy, severity: 'warning' }];
    }),
  );
}

function serverConflicts(
  path: Path,
  { mcpServers, tools }: AgentEntry,
  servers: NonNullable<Config['mcpServers']>,
): Conflict[] {
  const { allow } = ruleOf(tools);
  return mcpServers.flatMap((name, index): Conflict[] => {
    const at = [...path, 'mcpServers', index];
    if (!Object.hasOwn(servers, name))
      return [{ path: at, ...unknown(name, 'server', Object.keys(servers)), severity: 'error' }];
    if (servers[name]!.disabled)
      return [
        { path: at, message: 'is disabled', remedy: 'enable it, or leave it out', severity: 'warning' },
      ];
    if (allow.some((pattern) => isAbout(name, pattern))) return [];
    const remedy = `add "${name}.*" to tools, or leave it out`;
    return [{ path: at, message: 'is named, but none of its tools is granted', remedy, severity: 'warning' }];
  });
}

function toolConflicts(
  path: Path,
  entry: AgentEntry,
  { agents, servers }: { readonly agents: Agents; readonly servers: readonly string[] },
): Conflict[] {
  const asked = new Map(Object.keys(agents).map((name) => [askToolName(name), name]));
  return patternsIn(path, entry).flatMap(({ path: at, pattern }): Conflict[] => {
    const server = servers.find((name) => pattern.startsWith(`${name}.`));
    if (server !== undefined && !entry.mcpServers.includes(server)) {
      const message = `is about ${server}, which is not among its mcpServers`;
      return [{ path: at, message, remedy: `add "${server}" there`, severity: 'error' }];
    }
    const agent = asked.get(pattern);
    if (agent === undefined) return [];
    return [{ path: at, message: 'is an agent', remedy: `add "${agent}" to its agents`, severity: 'error' }];
  });
}

function othersConflicts(path: Path, { agents: asks, serve }: AgentEntry, agents: Agents): Conflict[] {
  return asks.flatMap((name, index): Conflict[] => {
    const at = [...path, 'agents', index];
    if (name === path.at(-1))
      return [{ path: at, message: 'is the agent itself', remedy: 'leave it out', severity: 'error' }];
    if (!Object.hasOwn(agents, name))
      return [{ path: at, ...unknown(name, 'agent', Object.keys(agents)), severity: 'error' }];
    if (serve === false || agents[name]!.serve !== false) return [];
    const message = 'is not served, so callers of this one could not ask it';
    return [{ path: at, message, remedy: `set "serve: true" at agents.${name}`, severity: 'error' }];
  });
}

function servingConflicts(path: Path, { serve, model, limits }: AgentEntry): Conflict[] {
  if (serve === false) return [];
  const found: Conflict[] = [];
  if (model === undefined)
    found.push({
      path: [...path, 'serve'],
      message: 'needs a model, because callers do not choose one',
      remedy: 'add "model" to the agent',
      severity: 'error',
    });
  if (limits.money !== undefined)
    found.push({
      path: [...path, 'limits', 'money'],
      message: 'cannot be counted here, where no prices are known',
      remedy: 'set limits.tokens instead',
      severity: 'error',
    });
  return found;
}

function unknown(name: string, what: string, known: readonly string[]): Pick<Conflict, 'message' | 'remedy'> {
  const meant = nearest(name, known);
  const there = known.length === 0 ? 'there are none' : `there are: ${known.join(', ')}`;
  return {
    message: `names no ${what} of this file`,
    remedy: meant === undefined ? there : `did you mean "${meant}"?`,
  };
}

// The places are those of the file, in which `tools` has one of three forms.
function patternsIn(
  path: Path,
  { tools }: AgentEntry,
): readonly { readonly path: Path; readonly pattern: string }[] {
  const at = [...path, 'tools'];
  const listed = (list: '*' | readonly string[], place: Path): { path: Path; pattern: string }[] =>
    list === '*' ? [] : list.map((pattern, index) => ({ path: [...place, index], pattern }));
  if (tools === undefined || tools === '*') return [];
  if (Array.isArray(tools)) return listed(tools, at);
  const { allow, deny } = tools as { allow: '*' | readonly string[]; deny: readonly string[] };
  return [...listed(allow, [...at, 'allow']), ...listed(deny, [...at, 'deny'])];
}

function isAbout(server: string, pattern: string): boolean {
  return restsAfter(pattern, `${server}.`).length > 0;
}
