import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { splitReference } from '../../host/files/agent-file.ts';
import { refusedName } from '../../host/files/detect-format.ts';
import {
  readAgentFile,
  type AgentReading,
  type LoadAgentOptions,
} from '../../host/files/load-agent-config.ts';
import { DEFAULT_CONFIG } from '../default-file.ts';
import { homeFolder, settingsFolder } from '../servers/places.ts';

import { hasGatewayAgents, isGatewayFile, readGatewayAgents, type GatewayReading } from './gateway-agents.ts';

/** A file with agents, and whose it is: a project's may come from anybody. */
export interface AgentFile {
  readonly file: string;
  readonly owner: 'user' | 'project';
}

/** A file with agents, and these agents; modules are not run for this. */
export interface FoundFile extends AgentFile {
  readonly reading: AgentReading | undefined;
}

const MAX_FILES = 500;
const MAX_DEPTH = 3;
const USUAL = /\.(?:ya?ml|json|md|[cm]?[jt]s)$/;
const AGENT_FILE = /^agent\.(?:ya?ml|json|[cm]?[jt]s)$|\.agent\.(?:ya?ml|json|md|[cm]?[jt]s)$/;
const MODULE = /\.[cm]?[jt]s$/;

const PROJECT_FOLDERS = [
  '.toolcrib/agents',
  '.claude/agents',
  '.cursor/agents',
  '.github/agents',
  '.github/chatmodes',
  '.opencode/agents',
  '.opencode/agent',
  '.gemini/agents',
  '.fast-agent/agent-cards',
  '.amazonq/cli-agents',
  '.kiro/agents',
];

/** The files in the usual places of every format: the user's own first, so that a project takes no name over. */
export async function agentFiles(): Promise<readonly AgentFile[]> {
  const [home, settings] = [homeFolder(), settingsFolder()];
  const gateways = { user: join(settings, 'toolcrib/toolcrib.yaml'), project: DEFAULT_CONFIG };
  const own = [
    join(settings, 'toolcrib/agents'),
    join(home, '.claude/agents'),
    join(home, '.cursor/agents'),
    join(home, '.copilot/agents'),
    join(settings, 'opencode/agents'),
    join(settings, 'opencode/agent'),
    join(home, '.gemini/agents'),
    join(home, '.aws/amazonq/cli-agents'),
    join(home, '.kiro/agents'),
  ];
  const found: AgentFile[] = [];
  if (await hasGatewayAgents(gateways.user)) found.push({ file: gateways.user, owner: 'user' });
  for (const folder of own)
    found.push(...(await filesIn(folder, 0)).map((file) => ({ file, owner: 'user' as const })));
  if (await hasGatewayAgents(gateways.project)) found.push({ file: gateways.project, owner: 'project' });
  const here = (await namesIn('.')).filter((name) => AGENT_FILE.test(name));
  const below = await Promise.all(PROJECT_FOLDERS.map((folder) => filesIn(folder, 0)));
  found.push(...[...here, ...below.flat()].map((file) => ({ file, owner: 'project' as const })));
  const places = new Set<string>();
  const once = found.filter(({ file }) => !places.has(resolve(file)) && places.add(resolve(file)));
  return once.slice(0, MAX_FILES);
}

/** Reads files with agents; a module is only named. */
export async function readAgentFiles(
  files: readonly AgentFile[],
  options: LoadAgentOptions,
): Promise<readonly FoundFile[]> {
  const found: FoundFile[] = [];
  for (const one of files)
    found.push({
      ...one,
      reading: MODULE.test(one.file) ? undefined : await readAnyAgentFile(one.file, options),
    });
  return found;
}

/** Reads the agents of a file, which may be a `toolcrib.yaml`. */
export async function readAnyAgentFile(
  file: string,
  options: LoadAgentOptions,
): Promise<AgentReading | GatewayReading> {
  return (await isGatewayFile(file)) ? readGatewayAgents(file) : readAgentFile(file, options);
}

/** Finds the agent that is meant: a file, `file#name`, or a name in the usual places. Returns a reference to a file. */
export async function findAgent(reference: string, options: LoadAgentOptions): Promise<string> {
  const { file } = splitReference(reference);
  if (existsSync(file) || /[\\/]/.test(file) || USUAL.test(file)) return reference;
  const found = await readAgentFiles(await agentFiles(), options);
  const all = found.flatMap(({ file: at, reading }) =>
    reading === undefined || reading.configs.length === 0
      ? [{ name: nameOfModule(at), at }]
      : reading.configs.map(({ name }) => ({ name, at: reading.configs.length > 1 ? `${at}#${name}` : at })),
  );
  const meant = all.find(({ name }) => name === reference);
  if (meant) return meant.at;
  const names = [...new Set(all.map(({ name }) => name))];
  const known = names.length > 0 ? `; there are: ${names.slice(0, 20).join(', ')}` : '';
  throw new ToolcribError(
    'invalid_setup',
    `There is no agent "${reference}"${known}. Name a file, or make one with toolcrib init --agent.`,
  );
}

/** Whether a file is a module, whose code runs when it is read. */
export function isModule(file: string): boolean {
  return MODULE.test(file);
}

/** The text for a module that was not run. */
export function nameOfModule(file: string): string {
  const [name = file] = file.split('/').at(-1)!.split('.', 1);
  return name;
}

async function filesIn(folder: string, depth: number): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < MAX_DEPTH) found.push(...(await filesIn(path, depth + 1)));
    else if (USUAL.test(entry.name) && !refusedName(entry.name) && !entry.isDirectory()) found.push(path);
    if (found.length >= MAX_FILES) break;
  }
  return found;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  const names: readonly string[] = await readdir(folder).catch(() => []);
  return names.toSorted((a, b) => (a < b ? -1 : 1));
}
