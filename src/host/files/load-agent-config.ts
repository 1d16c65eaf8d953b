import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { parseJson } from '../../base/parse-json.ts';
import { aboutFile, complaintError, type Complaint } from '../../config/complaint.ts';
import { readServerEntry, type ServerEntry, type ServerEntryInput } from '../../config/servers.ts';
import { inOrder, SettingsText } from '../../config/settings-text.ts';
import { YamlText } from '../../config/yaml-text.ts';
import type { AgentConfig, AgentFormat } from '../agent-config.ts';
import { readAgentBytes, splitReference } from './agent-file.ts';
import { agentFileSchema } from './agent-schema.ts';
import { amazonAgent } from './amazon-q.ts';
import { detectFormat, placedFormat, refusedName, type RefusedFormat } from './detect-format.ts';
import { dockerAgents } from './docker-agent.ts';
import type { ForeignContext } from './foreign-draft.ts';
import { amazonSchema, dockerSchema, markdownSchema } from './foreign-schema.ts';
import { splitFrontMatter } from './front-matter-text.ts';
import { markdownAgent } from './markdown-agent.ts';
import { ownAgents, type ReadAgents } from './own-agent.ts';

/** What an agent's file is read with. */
export interface LoadAgentOptions {
  /** The format, where its place and its content do not tell. */
  readonly format?: AgentFormat;
  /** Where `${NAME}` comes from; the environment of this process unless set. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Servers that a file may name without defining them. */
  readonly servers?: Readonly<Record<string, ServerEntryInput>>;
}

/** The agents of a file, or why it cannot be used. */
export interface AgentReading {
  /** Empty if a complaint is an error. */
  readonly configs: readonly AgentConfig[];
  readonly complaints: readonly Complaint[];
  /** Values of the environment or of secret files that are in the configurations, and must not be shown. */
  readonly secrets: readonly string[];
}

/** Reads an agent from `file.yaml` or `file.yaml#name`; throws `invalid_config` with every complaint in `data`. */
export async function loadAgentConfig(
  reference: string,
  options: LoadAgentOptions = {},
): Promise<AgentConfig> {
  const { file, agent } = splitReference(reference);
  const { configs, complaints } = await readAgentFile(file, options);
  const errors = complaints.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw complaintError(errors);
  return chosenAgent(configs, { file, agent });
}

/** Picks the agent that is meant of those in a file: the named one, the only one, or the one called `root`. */
export function chosenAgent(
  configs: readonly AgentConfig[],
  { file, agent }: { readonly file: string; readonly agent: string | undefined },
): AgentConfig {
  const wanted = agent ?? (configs.length > 1 ? 'root' : configs[0]?.name);
  const found = configs.find(({ name }) => name === wanted);
  if (found) return found;
  const names = configs.map(({ name }) => name).join(', ');
  const message =
    agent === undefined
      ? `The file has several agents: ${names}`
      : `The file has no agent "${agent}", but ${names}`;
  throw complaintError([
    aboutFile(file, { message, remedy: `say which: ${file}#${configs[0]?.name ?? 'name'}` }),
  ]);
}

/** Reads every agent of a file, without an exception. */
export async function readAgentFile(file: string, options: LoadAgentOptions = {}): Promise<AgentReading> {
  const refusal = options.format === undefined ? refusedName(file) : undefined;
  if (refusal) return refused([aboutFile(file, refusal)]);
  const servers = knownServers(options.servers ?? {});
  if (/\.[cm]?[jt]s$/.test(file)) {
    const { moduleAgents } = await import('./module-file.ts');
    return withErrors({ ...(await moduleAgents(file, servers)), secrets: [] });
  }
  const read = await readAgentBytes(file);
  if ('complaint' in read) return refused([read.complaint]);
  return readAgentText(read.text, file, { ...options, servers });
}

interface TextOptions extends Omit<LoadAgentOptions, 'servers'> {
  readonly servers: Readonly<Record<string, ServerEntry>>;
}

function readAgentText(text: string, file: string, options: TextOptions): AgentReading {
  const isMarkdown = /\.(?:md|markdown)$/i.test(file);
  const parts = isMarkdown ? splitFrontMatter(text, file) : { settings: text, body: '', asWritten: [] };
  if ('complaint' in parts) return refused([parts.complaint]);
  if (isMarkdown && parts.settings === '' && options.format === undefined && !placedFormat(file))
    return refused([aboutFile(file, NO_SETTINGS)]);
  const unlike = notJson(parts.settings, file);
  if (unlike) return refused([unlike]);
  const detected =
    options.format === undefined
      ? detectFormat(file, valueOf(parts.settings, file))
      : { format: options.format };
  if ('refusal' in detected) return refused([aboutFile(file, detected.refusal)]);
  const source: AgentSource = { ...parts, file, format: detected.format, isMarkdown };
  return detected.format === 'toolcrib' ? readOwn(source, options) : readForeign(source, options);
}

const NO_SETTINGS: RefusedFormat = {
  message: 'The file does not begin with settings',
  remedy: 'put them between two lines "---" at its top',
};

interface AgentSource {
  readonly file: string;
  readonly format: AgentFormat;
  readonly isMarkdown: boolean;
  readonly settings: string;
  readonly body: string;
  readonly asWritten: readonly string[];
}

function readOwn(
  { file, settings, body, isMarkdown }: AgentSource,
  { env, servers }: TextOptions,
): AgentReading {
  const text = new SettingsText(Buffer.from(settings), { file, ...(env && { env }) });
  const checked = text.read<ReturnType<typeof agentFileSchema>>(agentFileSchema);
  if ('complaints' in checked) return refused(checked.complaints, text.secrets);
  const folder = dirname(resolve(file));
  const read = ownAgents(checked.data, {
    file,
    folder,
    servers,
    complain: (path, about) => text.complain(path, about),
  });
  const configs = isMarkdown ? read.configs.map((config) => withBody(config, body)) : read.configs;
  return withErrors({ ...read, configs, secrets: text.secrets });
}

function withBody(config: AgentConfig, body: string): AgentConfig {
  const parts = [config.instructions, body].filter((part) => part !== '');
  return { ...config, instructions: parts.join('\n\n') };
}

function readForeign(source: AgentSource, { env = process.env, servers }: TextOptions): AgentReading {
  const { file, settings, format } = source;
  const text = new SettingsText(Buffer.from(settings), { file, isLiteral: true });
  const context: ForeignContext = {
    file,
    folder: projectFolder(file, env),
    env,
    servers,
    complain: (path, about) => text.complain(path, about),
    complaints: [],
    secrets: [],
  };
  const read = <T extends z.ZodType>(
    schema: T,
    make: (data: z.output<T>) => readonly AgentConfig[],
  ): AgentReading => {
    const checked = text.read(schema);
    if ('complaints' in checked) return refused(checked.complaints);
    const configs = make(checked.data).map((config) => noted(config, source));
    return withErrors({ configs, complaints: context.complaints, secrets: context.secrets });
  };
  if (format === 'docker-agent') return read(dockerSchema, (data) => dockerAgents(data, context));
  if (format === 'amazon-q') return read(amazonSchema, (data) => [amazonAgent(data, context)]);
  const folder = dirname(resolve(file));
  return read(markdownSchema, (data) => [markdownAgent({ ...source, settings: data, folder }, context)]);
}

function noted(config: AgentConfig, { asWritten }: AgentSource): AgentConfig {
  if (asWritten.length === 0) return config;
  const note = `${asWritten.join(', ')}: no YAML; taken as it is written. Put it in quotes.`;
  return { ...config, notes: [...config.notes, note] };
}

// Where other programs keep agents: in a folder of the project, or of the user.
const PROGRAM_FOLDERS: ReadonlySet<string> = new Set([
  '.claude',
  '.cursor',
  '.github',
  '.copilot',
  '.opencode',
  '.gemini',
  '.fast-agent',
  '.amazonq',
  '.kiro',
  '.aws',
  '.config',
]);

function projectFolder(file: string, env: Readonly<Record<string, string | undefined>>): string {
  const folder = dirname(resolve(file));
  const parts = folder.split('/');
  const dot = parts.findLastIndex((part) => PROGRAM_FOLDERS.has(part));
  if (dot < 0) return folder;
  const project = parts.slice(0, dot).join('/');
  const isHome = project === resolve(env['HOME'] ?? homedir()) || project === '';
  return isHome ? parts.slice(0, dot + 1).join('/') : project;
}

function knownServers(
  servers: Readonly<Record<string, ServerEntryInput>>,
): Readonly<Record<string, ServerEntry>> {
  return Object.fromEntries(Object.entries(servers).map(([name, entry]) => [name, readServerEntry(entry)]));
}

// YAML reads more than JSON; a comment would become part of a value.
function notJson(text: string, file: string): Complaint | undefined {
  if (!file.endsWith('.json')) return undefined;
  try {
    parseJson(text.replace(/^\uFEFF/, ''));
    return undefined;
  } catch {
    const [first] = new YamlText(text.replace(/^\uFEFF/, ''), file).problems();
    return (
      first ??
      aboutFile(file, { message: 'The file is not JSON', remedy: 'look for comments and commas at the end' })
    );
  }
}

function valueOf(text: string, file: string): unknown {
  const yaml = new YamlText(text.replace(/^\uFEFF/, ''), file);
  try {
    return yaml.problems().length === 0 ? yaml.value() : undefined;
  } catch {
    return undefined;
  }
}

function refused(complaints: readonly Complaint[], secrets: readonly string[] = []): AgentReading {
  return { configs: [], complaints: inOrder(complaints), secrets };
}

function withErrors(read: ReadAgents & { readonly secrets: readonly string[] }): AgentReading {
  const isBad = read.complaints.some(({ severity }) => severity === 'error');
  return { ...read, configs: isBad ? [] : read.configs, complaints: inOrder(read.complaints) };
}
