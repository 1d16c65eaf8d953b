import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { UpstreamEntry } from '../../config/servers.ts';
import type { Catalog } from './catalog.ts';
import type { PooledConnection } from './pool.ts';

/** How an upstream stands. */
export interface UpstreamState {
  readonly name: string;
  readonly transport: 'http' | 'sse' | 'stdio';
  /** `unused` until it is first needed; `idle` while it is known, and is connected again when it is needed. */
  readonly state: 'unused' | 'connecting' | 'connected' | 'idle' | 'needs_sign_in' | 'failed' | 'disabled';
  /** Whether its lists are from before it failed. */
  readonly degraded: boolean;
  readonly revision: string | undefined;
  readonly connections: number;
  readonly processes: number;
  readonly tools: number;
  readonly prompts: number;
  readonly resources: number;
  /** When its lists were fetched last, in milliseconds since 1970. */
  readonly listedAt: number | undefined;
  readonly reason: string | undefined;
  readonly remedy: string | undefined;
}

/** The facts behind the state of an upstream: its lists with each account, and its connections. */
export interface UpstreamFacts {
  readonly catalogs: readonly Catalog[];
  readonly connections: readonly PooledConnection[];
  readonly revision: string | undefined;
}

/** Says how an upstream stands; of several accounts, the one that fails is told of. */
export function upstreamState(name: string, entry: UpstreamEntry, facts: UpstreamFacts): UpstreamState {
  const { catalogs, connections, revision } = facts;
  const failed = catalogs.find(({ isDegraded }) => isDegraded);
  const connected = connections.filter(({ client }) => client).length;
  const most = (kind: 'tools' | 'prompts' | 'resources'): number =>
    catalogs.reduce((count, { lists }) => Math.max(count, lists[kind].length), 0);
  const times = catalogs.flatMap(({ lastListed }) => lastListed ?? []);
  return {
    ...nothingKnown(name, entry),
    state: failed ? failureState(failed.failure, connected) : calmState(catalogs, connections),
    degraded: failed?.isListed ?? false,
    revision,
    connections: connected,
    processes: 'command' in entry ? connected : 0,
    tools: most('tools'),
    prompts: most('prompts'),
    resources: most('resources'),
    listedAt: times.length > 0 ? Math.max(...times) : undefined,
    ...(failed && explain(failed.failure, name, entry)),
  };
}

/** How an upstream stands that is not used, or was not used yet. */
export function nothingKnown(name: string, entry: UpstreamEntry): UpstreamState {
  return {
    name,
    transport: 'command' in entry ? 'stdio' : entry.type === 'sse' ? 'sse' : 'http',
    state: entry.disabled ? 'disabled' : 'unused',
    degraded: false,
    revision: undefined,
    connections: 0,
    processes: 0,
    tools: 0,
    prompts: 0,
    resources: 0,
    listedAt: undefined,
    reason: undefined,
    remedy: undefined,
  };
}

/** The reason in a failed connection or an error. */
export function reasonOf(failure: unknown): string {
  if (failure instanceof Error) return failure.message;
  return String(isObject(failure) ? failure['reason'] : failure);
}

function calmState(
  catalogs: readonly Catalog[],
  connections: readonly PooledConnection[],
): UpstreamState['state'] {
  if (connections.some(({ client }) => client)) return 'connected';
  if (connections.some(({ isOpening }) => isOpening)) return 'connecting';
  return catalogs.some(({ isListed }) => isListed) ? 'idle' : 'unused';
}

function failureState(failure: unknown, connected: number): UpstreamState['state'] {
  const code = codeOf(failure);
  if (code === 'needs_sign_in' || code === 'refused') return 'needs_sign_in';
  return connected > 0 ? 'connected' : 'failed';
}

function explain(
  failure: unknown,
  name: string,
  entry: UpstreamEntry,
): Pick<UpstreamState, 'reason' | 'remedy'> {
  const otherwise =
    'command' in entry
      ? programRemedy(failure, name)
      : 'See whether it is running, and its entry in mcpServers.';
  const remedy = REMEDIES[codeOf(failure) ?? '']?.replace('<name>', name) ?? otherwise;
  return { reason: reasonOf(failure), remedy };
}

function programRemedy(failure: unknown, name: string): string {
  // What was never started has written nothing.
  return reasonOf(failure).endsWith(' could not be found.')
    ? `Install it, or correct mcpServers.${name}: its command, sandbox or cwd.`
    : `See what it wrote before it ended: toolcrib doctor ${name}`;
}

function codeOf(failure: unknown): string | undefined {
  return failure instanceof ToolcribError ? failure.code : undefined;
}

const REMEDIES: Readonly<Record<string, string>> = {
  needs_sign_in: 'Give it a credential: mcpServers.<name>.credential.',
  refused: 'Give it a credential that may use it: mcpServers.<name>.credential.',
  timed_out: 'See whether it is running, or allow it more time: connectSeconds.',
  unsupported_version: 'Update it, or set the protocol it speaks.',
  invalid_answer: 'See whether the address is that of an MCP server.',
};
