import { compileGlob } from '../../base/glob.ts';
import { isObject } from '../../base/json.ts';
import type { Complaint } from '../../config/complaint.ts';
import { readEntry, type Target } from '../../config/foreign-entry.ts';
import { readServerEntry, type ServerEntry } from '../../config/servers.ts';
import type { About, Path } from '../../config/yaml-text.ts';
import type { JsonSchema } from '../../schema/schema.ts';
import type { AgentConfig, AgentFormat, AgentServer, ModelChoice, NameRule } from '../agent-config.ts';
import { DEFAULT_RETRY_MS, OPEN_MODEL } from './own-agent.ts';
import { powerIn, SERVER_POWER_FIELDS } from './power-fields.ts';
import { patternsOf } from './tool-patterns.ts';

type Value = Readonly<Record<string, unknown>>;

/** Where a file of another format was found, and what its names lead to. */
export interface ForeignContext {
  readonly file: string;
  /** The project the file belongs to: paths in it lead no further. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly servers: Readonly<Record<string, ServerEntry>>;
  readonly complain: (path: Path, about: About) => Complaint;
  /** What was found wrong so far. */
  readonly complaints: Complaint[];
  /** Values of the environment that the file asked for. */
  readonly secrets: string[];
}

/** A server as a file names it. */
export interface ForeignServer {
  readonly name: string;
  readonly path: Path;
  /** How it is reached, in the words of the file; `undefined` where it is only named. */
  readonly entry: Value | undefined;
  /** What the file grants of this server alone; `undefined` for all. */
  readonly only?: readonly string[] | undefined;
  readonly denied?: readonly string[];
  readonly resources?: readonly string[];
  readonly prompts?: readonly string[];
  readonly load?: AgentServer['load'];
}

/** An agent of another format, before its servers and rules are put together. */
export interface ForeignDraft {
  readonly format: AgentFormat;
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly model: Partial<ModelChoice>;
  readonly servers: readonly ForeignServer[];
  /** Names of tools as written; `undefined` where the file leaves them out, which means all. */
  readonly tools: readonly string[] | undefined;
  readonly deniedTools: readonly string[];
  /** Whether servers that are known count: all where the file names none itself, else those its tools name. */
  readonly inherits: boolean;
  readonly turns?: number | undefined;
  readonly seconds?: number | undefined;
  readonly agents: readonly string[];
  readonly outputSchema?: JsonSchema | undefined;
  readonly notes: readonly string[];
  readonly unknown: Value;
}

/** How a format is called by people. */
export const FORMAT_NAMES: Readonly<Record<AgentFormat, string>> = {
  toolcrib: 'Toolcrib',
  'claude-code': 'Claude Code',
  copilot: 'VS Code and Copilot',
  opencode: 'opencode',
  gemini: 'Gemini CLI',
  'fast-agent': 'fast-agent',
  'docker-agent': 'docker-agent',
  'amazon-q': 'Amazon Q and Kiro',
};

// Patterns for tools of any server, such as `*`, `mcp__*` and `@*`.
const ANY_SERVER = /^(?:@|mcp_{1,2})?\*/;
const DEFAULT_TURNS = 50;
const MAX_TURNS = 1_000;
const ALL: NameRule = { allow: ['*'], deny: [] };
const NONE: NameRule = { allow: [], deny: [] };

/** Puts an agent of another format together: servers are found, rules are joined, and what has no effect is noted. */
export function finishDraft(draft: ForeignDraft, context: ForeignContext): AgentConfig {
  const { format, name, description, instructions, model, agents, outputSchema, unknown } = draft;
  const notes = [...draft.notes];
  const servers = grantedServers(draft, context, notes);
  return {
    name,
    description,
    instructions,
    format,
    file: context.file,
    model: { ...OPEN_MODEL, ...model, name: model.name === 'inherit' ? undefined : model.name },
    servers,
    prefix: 'collisions',
    mode: undefined,
    limits: {
      turns: Math.min(draft.turns ?? DEFAULT_TURNS, MAX_TURNS),
      calls: undefined,
      tokens: undefined,
      money: undefined,
      seconds: draft.seconds,
    },
    agents,
    outputSchema,
    skills: false,
    notes,
    unknown,
  };
}

function grantedServers(
  draft: ForeignDraft,
  context: ForeignContext,
  notes: string[],
): Readonly<Record<string, AgentServer>> {
  const candidates = candidatesOf(draft, context);
  const rules = rulesOf(draft, candidates, notes);
  const idle: string[] = [];
  const found = candidates.flatMap((server) => {
    const tools = ruleFor(server, rules);
    const { resources, prompts } = server;
    const isUsed = [tools, ruleOf(resources), ruleOf(prompts)].some(({ allow }) => allow.length > 0);
    if (!isUsed && server.path.length > 0) idle.push(server.name);
    const entry = isUsed ? entryOf(server, context, notes) : undefined;
    return entry ? [[server, { ...standard(server), entry, tools }] as const] : [];
  });
  if (idle.length > 0) notes.push(`Nothing of ${listed(idle)} is granted, so it is left out.`);
  return withUsableNames(found, notes);
}

// A file that names servers, or tools of servers, means those; one that names none means all that are known.
function candidatesOf(
  { servers, tools, inherits, format }: ForeignDraft,
  context: ForeignContext,
): ForeignServer[] {
  const own = new Set(servers.map(({ name }) => name));
  const others = Object.keys(context.servers).filter((name) => !own.has(name));
  const isNamed = (name: string): boolean =>
    (tools ?? []).some((tool) => !ANY_SERVER.test(tool) && patternsOf(tool, format, [name]).size > 0);
  const isMeant = (name: string): boolean => inherits && (servers.length === 0 || isNamed(name));
  const borrowed = others.filter(isMeant).map((name) => ({ name, path: [], entry: undefined }));
  return [...servers, ...borrowed];
}

interface Rules {
  readonly allow: ReadonlyMap<string, readonly string[]>;
  readonly deny: ReadonlyMap<string, readonly string[]>;
}

function rulesOf(draft: ForeignDraft, servers: readonly ForeignServer[], notes: string[]): Rules {
  const { tools, deniedTools, format } = draft;
  const names = servers.map(({ name }) => name);
  const strangers: string[] = [];
  const gather = (written: readonly string[], isNoted: boolean): Map<string, readonly string[]> => {
    const all = new Map<string, readonly string[]>();
    for (const one of written) {
      const patterns = patternsOf(one, format, names);
      if (patterns.size === 0 && isNoted && !one.includes('*')) strangers.push(one);
      for (const [server, some] of patterns)
        all.set(server, [...new Set([...(all.get(server) ?? []), ...some])]);
    }
    return all;
  };
  const allow = tools ? gather(tools, true) : new Map(names.map((name) => [name, ['*']]));
  const deny = gather(deniedTools, false);
  const whole = servers
    .filter(({ name, only }) => only === undefined && !deny.get(name)?.includes('*'))
    .map(({ name }) => name);
  if (tools === undefined && whole.length > 0)
    notes.push(
      `The file does not list its tools: by the rule of ${FORMAT_NAMES[format]}, that grants those of ${listed(whole)}.`,
    );
  if (strangers.length > 0)
    notes.push(`${listed(strangers)}: no tool of a known server; tools of other programs do not exist here.`);
  return { allow, deny };
}

function ruleFor({ name, only, denied = [] }: ForeignServer, { allow, deny }: Rules): NameRule {
  const general = allow.get(name) ?? [];
  const allowed = only === undefined ? general : bothAllow(general, only);
  const refused = [...new Set([...(deny.get(name) ?? []), ...denied])];
  return refused.includes('*') ? NONE : { allow: allowed, deny: refused };
}

// A pattern that another one matches as a text allows no more than that one.
function bothAllow(some: readonly string[], others: readonly string[]): readonly string[] {
  const within = (patterns: readonly string[], wider: readonly string[]): readonly string[] =>
    patterns.filter((pattern) => wider.some((one) => compileGlob(one)(pattern)));
  return [...new Set([...within(some, others), ...within(others, some)])];
}

function standard({
  resources,
  prompts,
  load = 'auto',
}: ForeignServer): Omit<AgentServer, 'entry' | 'tools'> {
  return {
    resources: ruleOf(resources),
    prompts: ruleOf(prompts),
    trust: 'untrusted',
    parallel: 'read-only',
    load,
    retryMs: DEFAULT_RETRY_MS,
  };
}

function ruleOf(patterns: readonly string[] | undefined): NameRule {
  if (patterns === undefined) return NONE;
  return patterns.includes('*') ? ALL : { allow: patterns, deny: [] };
}

function entryOf(server: ForeignServer, context: ForeignContext, notes: string[]): ServerEntry | undefined {
  const { name, path, entry } = server;
  if (!entry || isBare(entry)) {
    const known = Object.hasOwn(context.servers, name) ? context.servers[name] : undefined;
    if (!known)
      context.complaints.push(
        context.complain(path, {
          message: `names the server "${name}", which is not known`,
          remedy: 'define it in the file, or pass it as a known server',
        }),
      );
    return known;
  }
  const power = powerIn(entry, SERVER_POWER_FIELDS).filter((key) => entry[key] !== 'none');
  if (power.length > 0) notes.push(notHonoured(power.map((key) => `${name}.${key}`)));
  const read = readEntry({ entry, folder: context.folder, readsFiles: false, env: context.env });
  context.secrets.push(...read.secrets);
  if (!read.target) {
    const message = (read.problem ?? 'It cannot be used.').replace(/^It /, '').replace(/\.$/, '');
    context.complaints.push(context.complain(path, { message, isKey: true }));
    return undefined;
  }
  return toEntry(read.target, entry, { isDisabled: read.isDisabled, context, path });
}

function isBare(entry: Value): boolean {
  return !['command', 'url', 'httpUrl', 'serverUrl'].some((key) => Object.hasOwn(entry, key));
}

function toEntry(
  target: Target,
  entry: Value,
  { isDisabled, context, path }: { isDisabled: boolean; context: ForeignContext; path: Path },
): ServerEntry | undefined {
  const ms = entry['timeout'];
  const timeout =
    typeof ms === 'number' && ms > 0 ? { timeoutSeconds: Math.min(Math.max(ms / 1_000, 0.001), 3_600) } : {};
  const shared = { disabled: isDisabled, ...timeout };
  if (target.kind === 'command') {
    const { command, args, env = {}, folder } = target;
    return readServerEntry({
      ...shared,
      command,
      args: [...args],
      env,
      ...(folder !== undefined && { cwd: folder }),
    });
  }
  if (!/^https?:\/\//i.test(target.url) || !URL.canParse(target.url)) {
    context.complaints.push(
      context.complain(path, {
        message: 'has no address of a server',
        remedy: 'it begins with https:// or http://',
      }),
    );
    return undefined;
  }
  const type = target.transport === 'sse' ? { type: 'sse' as const } : {};
  return readServerEntry({ ...shared, ...type, url: target.url, headers: target.headers ?? {} });
}

// Names of servers end up in names of tools.
function withUsableNames(
  found: readonly (readonly [ForeignServer, AgentServer])[],
  notes: string[],
): Readonly<Record<string, AgentServer>> {
  const named = new Map<string, AgentServer>();
  for (const [{ name }, server] of found) {
    const plain = name.replaceAll(/[^A-Za-z0-9-]+/g, '_').replaceAll(/^[_-]+/g, '') || 'server';
    const short = plain.slice(0, 32);
    let usable = short;
    for (let count = 2; named.has(usable); count++) usable = `${short.slice(0, 28)}-${count}`;
    if (usable !== name) notes.push(`The server "${name}" is called ${usable} here.`);
    named.set(usable, server);
  }
  return Object.fromEntries(named);
}

/** The note about keys that ask for more power. */
export function notHonoured(keys: readonly string[]): string {
  return `${listed(keys)}: not honoured. Only the person who runs the agent decides what is allowed without asking.`;
}

/** Names as part of a sentence, the first dozen of them. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, 12).map((name) => name.slice(0, 100));
  const rest = names.length > shown.length ? ` and ${names.length - shown.length} more` : '';
  return `${shown.join(', ')}${rest}`;
}

/** The texts of a list, or of a text with commas; `undefined` where there is neither. */
export function textsIn(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return splitNames(value);
  if (!Array.isArray(value)) return undefined;
  return value
    .filter((one): one is string => typeof one === 'string' && one.trim() !== '')
    .map((one) => one.trim());
}

// A comma inside brackets, as in `Bash(git, npm)`, does not divide.
function splitNames(text: string): readonly string[] {
  const names: string[] = [];
  let [depth, start] = [0, 0];
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === '(') depth++;
    if (text[at] === ')') depth--;
    if (at < text.length && (text[at] !== ',' || depth > 0)) continue;
    names.push(text.slice(start, at).trim());
    start = at + 1;
  }
  return names.filter((name) => name !== '');
}

/** The member of a group of keys that is a group of keys itself; empty where it is none. */
export function groupIn(value: unknown): Value {
  return isObject(value) ? value : {};
}
