import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readServerEntry, type ServerEntryInput } from '../../src/config/servers.ts';
import {
  createAgent,
  type Agent,
  type AgentConfig,
  type AgentEvents,
  type AgentServer,
  type CreateAgentOptions,
} from '../../src/host.ts';
import { within } from '../within.ts';

/** A server of an agent, with everything granted unless the test says otherwise. */
export function serverOf(entry: ServerEntryInput, more: Partial<AgentServer> = {}): AgentServer {
  const all = { allow: ['*'], deny: [] };
  return {
    entry: readServerEntry(entry),
    tools: all,
    resources: all,
    prompts: all,
    trust: 'untrusted',
    parallel: 'read-only',
    load: 'auto',
    retryMs: 0,
    ...more,
  };
}

/** An agent that was written in code. */
export function configOf(
  servers: Readonly<Record<string, AgentServer>>,
  more: Partial<AgentConfig> = {},
): AgentConfig {
  return {
    name: 'helper',
    description: '',
    instructions: '',
    format: 'toolcrib',
    file: undefined,
    model: {
      name: undefined,
      api: undefined,
      baseUrl: undefined,
      keyVariable: undefined,
      maxOutputTokens: undefined,
    },
    servers,
    prefix: 'collisions',
    mode: undefined,
    limits: { turns: 10, calls: undefined, tokens: undefined, money: undefined, seconds: undefined },
    agents: [],
    outputSchema: undefined,
    skills: false,
    notes: [],
    unknown: {},
    ...more,
  };
}

/** Makes an agent that is closed when the test ends; what it logs fails the test. */
export async function agentOf(
  servers: Readonly<Record<string, AgentServer>>,
  { config, ...options }: CreateAgentOptions & { readonly config?: Partial<AgentConfig> } = {},
): Promise<Agent> {
  const agent = await createAgent(configOf(servers, config), options);
  onTestFinished(() => agent.close());
  return agent;
}

/** The next event of an agent. */
export function next<Name extends keyof AgentEvents>(
  agent: Agent,
  name: Name,
  fits: (event: AgentEvents[Name]) => boolean = () => true,
): Promise<AgentEvents[Name]> {
  let stop = (): void => {};
  const heard = new Promise<AgentEvents[Name]>((resolve) => {
    stop = agent.on(name, (event) => {
      if (fits(event)) resolve(event);
    });
  });
  return within(10_000, `the event ${name}`, heard).finally(() => stop());
}

const sdkServer = join(import.meta.dirname, '../interop/fixtures/sdk-server.mjs');

/** A server made with the official SDK, as a program: `v1` is old, `v2` is new. */
export function sdkEntry(version: 'v1' | 'v2'): ServerEntryInput {
  return { command: process.execPath, args: [sdkServer, version, 'stdio'] };
}
