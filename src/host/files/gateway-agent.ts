import { compileGlob, restsAfter } from '../../base/glob.ts';
import { ruleOf, type Granted, type NameRule, type WrittenKeys } from '../../config/agents.ts';
import type { UpstreamEntry } from '../../config/servers.ts';
import { readOutputSchema } from '../../schema/schema.ts';
import type { AgentConfig, AgentServer } from '../agent-config.ts';
import { agentConfig, DEFAULT_RETRY_MS } from './own-agent.ts';

/** An agent as `toolcrib.yaml` has it: it names servers and tools that are there. */
export interface GatewayAgent extends WrittenKeys {
  readonly mcpServers: readonly string[];
  /** By the names that rules have: `server.tool`, or the bare name of a tool of our own. */
  readonly tools?: Granted;
  readonly agents: readonly string[];
}

/** Makes an agent of an entry of `toolcrib.yaml` and the servers of that file. */
export function gatewayAgentConfig(
  name: string,
  written: GatewayAgent,
  entries: Readonly<Record<string, UpstreamEntry>>,
): AgentConfig {
  const rule = ruleOf(written.tools);
  const servers = written.mcpServers.flatMap((server): [string, AgentServer][] => {
    const entry = Object.hasOwn(entries, server) ? entries[server] : undefined;
    return entry ? [[server, usedServer(entry, ruleFor(server, rule))]] : [];
  });
  const { output } = written;
  const own = ownRule(written.mcpServers, rule);
  return {
    ...agentConfig(name, written),
    servers: Object.fromEntries(servers),
    ...(own.allow.length > 0 && { ownTools: own }),
    agents: written.agents,
    outputSchema: output && readOutputSchema(output).json,
  };
}

/** What a rule about `server.tool` says of the tools of one server. */
function ruleFor(server: string, { allow, deny }: NameRule): NameRule {
  const rests = (patterns: readonly string[]): string[] => [
    ...new Set(
      patterns.flatMap((pattern) => restsAfter(pattern, `${server}.`)).filter((rest) => rest !== ''),
    ),
  ];
  return { allow: rests(allow), deny: rests(deny) };
}

// What is about a server is about nothing else.
function ownRule(servers: readonly string[], { allow, deny }: NameRule): NameRule {
  const own = (patterns: readonly string[]): string[] =>
    patterns.filter((pattern) => !servers.some((server) => pattern.startsWith(`${server}.`)));
  return { allow: own(allow), deny: own(deny) };
}

function usedServer(entry: UpstreamEntry, { allow, deny }: NameRule): AgentServer {
  const { tools, deny: denied, trust } = entry;
  return {
    entry,
    tools: {
      allow: tools === '*' ? allow : inBoth(allow, tools),
      deny: [...new Set([...deny, ...denied])],
    },
    resources: NOTHING,
    prompts: NOTHING,
    trust,
    parallel: 'read-only',
    load: 'auto',
    retryMs: DEFAULT_RETRY_MS,
  };
}

const NOTHING: NameRule = { allow: [], deny: [] };

// Of two patterns the one that the other covers; where neither covers the other, nothing is granted.
function inBoth(some: readonly string[], others: readonly string[]): readonly string[] {
  const narrower = some.flatMap((one) =>
    others.flatMap((other) => (compileGlob(other)(one) ? [one] : compileGlob(one)(other) ? [other] : [])),
  );
  return [...new Set(narrower)];
}
