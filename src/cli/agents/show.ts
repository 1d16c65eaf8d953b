import { isObject } from '../../base/json.ts';
import { complaintError } from '../../config/complaint.ts';
import { concealValues } from '../../config/expand.ts';
import type { AgentConfig } from '../../host/agent-config.ts';
import { splitReference } from '../../host/files/agent-file.ts';
import { describeGrants } from '../../host/files/describe-grants.ts';
import { chosenAgent } from '../../host/files/load-agent-config.ts';
import { estimateTokens } from '../../host/models/estimate-tokens.ts';
import { concealInComplaints } from '../complain.ts';
import { readable } from '../client/readable.ts';
import { formatJson, printable } from '../table.ts';
import { confirmModule } from './confirm-agent.ts';
import { findAgent, isModule, readAnyAgentFile } from './find-agents.ts';
import { knownServers } from './known-servers.ts';
import { ownToolsOf, type OwnToolsFile } from './own-tools.ts';

/** Options of the commands that are about one agent. */
export interface AgentFlags {
  readonly json?: boolean;
  /** Shows keys that nothing here reads. */
  readonly explain?: boolean;
  /** Asks nothing before a module is run. */
  readonly yes?: boolean;
}

/** An agent that was found and read. */
export interface FoundAgent {
  readonly config: AgentConfig;
  /** Values that must not be shown. */
  readonly secrets: readonly string[];
  /** Tools of its own file, for an agent of a `toolcrib.yaml`. */
  readonly ownTools: OwnToolsFile | undefined;
}

/** `toolcrib agents show`: explains an agent: its model, servers, limits, and the parts of its file without effect. */
export async function showAgent(reference: string, flags: AgentFlags): Promise<void> {
  const { config, secrets } = await openAgentFile(reference, flags);
  const shown = concealed(config, secrets) as AgentConfig;
  process.stdout.write(flags.json ? formatJson(shown, 2) : readable(`${explain(shown, flags)}\n`));
}

/** Finds and reads the agent that a command line means, with the servers that `toolcrib servers` finds. */
export async function openAgentFile(reference: string, { yes = false }: AgentFlags): Promise<FoundAgent> {
  const known = await knownServers();
  const found = await findAgent(reference, { servers: known.entries });
  const { file, agent } = splitReference(found);
  if (isModule(file) && !yes) await confirmModule(file);
  const reading = await readAnyAgentFile(file, { servers: known.entries });
  const secrets = [...known.secrets, ...reading.secrets];
  concealInComplaints({ secrets });
  const errors = reading.complaints.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw complaintError(errors);
  const config = chosenAgent(reading.configs, { file, agent });
  const loaded = 'loaded' in reading ? reading.loaded : undefined;
  const ownTools = loaded && config.ownTools && ownToolsOf(loaded, config.ownTools);
  return { config, secrets, ownTools };
}

function explain(config: AgentConfig, flags: AgentFlags): string {
  const { name, description, instructions, file, agents, mode, outputSchema, skills } = config;
  const unknown = Object.entries(config.unknown);
  return [
    `${printable(name)}${description === '' ? '' : `: ${printable(description)}`}`,
    ...(file === undefined ? [] : [`File: ${printable(file)}`]),
    `Model: ${modelOf(config)}`,
    `Instructions: ${instructions.length} characters, about ${estimateTokens(instructions)} tokens`,
    `Limits: ${limitsOf(config)}`,
    ...(mode === undefined ? [] : [`Mode: at most ${mode}`]),
    ...(agents.length > 0 ? [`May ask: ${agents.map(printable).join(', ')}`] : []),
    ...(outputSchema === undefined ? [] : ['Answers with data that match a schema']),
    ...(skills ? ['Skills of its servers are offered'] : []),
    describeGrants(config),
    ...config.notes.map((note) => `Note: ${printable(note)}`),
    ...unknownLines(unknown, flags),
  ].join('\n');
}

function unknownLines(
  unknown: readonly (readonly [string, unknown])[],
  { explain: isFull = false }: AgentFlags,
): string[] {
  if (unknown.length === 0) return [];
  if (!isFull) {
    const keys = unknown.map(([key]) => printable(key)).join(', ');
    return [`Not read here: ${keys} (--explain shows their values)`];
  }
  return [
    'Not read here:',
    ...unknown.map(([key, value]) => `  ${printable(key)}: ${JSON.stringify(value)}`),
  ];
}

function modelOf({ model }: AgentConfig): string {
  const { name, api, baseUrl, keyVariable, maxOutputTokens } = model;
  if (name === undefined) return 'left open; say which with --model';
  return [
    printable(name),
    ...(api === undefined ? [] : [`by ${api}`]),
    ...(baseUrl === undefined ? [] : [`at ${printable(baseUrl)}`]),
    ...(keyVariable === undefined ? [] : [`with the key in ${printable(keyVariable)}`]),
    ...(maxOutputTokens === undefined ? [] : [`up to ${maxOutputTokens} tokens an answer`]),
  ].join(', ');
}

function limitsOf({ limits }: AgentConfig): string {
  const { turns, calls, tokens, money, seconds } = limits;
  return [
    `${turns} turns`,
    ...(calls === undefined ? [] : [`${calls} calls`]),
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
    ...(money === undefined ? [] : [`${money} of money`]),
    ...(seconds === undefined ? [] : [`${seconds} seconds of work`]),
  ].join(', ');
}

/** Data without values from outside, at any depth. */
export function concealed(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return concealValues(value, secrets);
  if (Array.isArray(value)) return value.map((one) => concealed(one, secrets));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, concealed(one, secrets)]));
}
