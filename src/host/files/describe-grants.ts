import type { AgentConfig, AgentServer, ModelChoice, NameRule } from '../agent-config.ts';
import { FORMAT_NAMES } from './foreign-draft.ts';

/** Says in plain words what an agent was granted, a line a server. */
export function describeGrants(config: AgentConfig): string {
  const servers = Object.entries(config.servers);
  const heading = `${config.name} (${FORMAT_NAMES[config.format]})`;
  const model = modelOf(config.model);
  const own = config.ownTools ? [`  of its own process: ${phrase('tool', config.ownTools)}`] : [];
  if (servers.length + own.length === 0) return [`${heading} may use no server.`, ...model].join('\n');
  const grants = servers.map(([name, server]) => `  ${name}: ${grantOf(server)}`);
  return [`${heading} may use:`, ...own, ...grants, ...model].join('\n');
}

// A file that names an address and a variable sends the content of the one to the other.
function modelOf({ baseUrl, keyVariable }: ModelChoice): string[] {
  if (baseUrl === undefined) return [];
  return [
    `Its model is at ${hostOf(baseUrl)}${keyVariable === undefined ? '' : `, which is sent $${keyVariable}`}.`,
  ];
}

function grantOf(server: AgentServer): string {
  const { tools, resources, prompts, entry, trust } = server;
  const granted = [
    phrase('tool', tools),
    ...(resources.allow.length > 0 ? [phrase('resource', resources)] : []),
    ...(prompts.allow.length > 0 ? [phrase('prompt', prompts)] : []),
  ].join('; ');
  const reached = 'url' in entry ? `at ${hostOf(entry.url)}` : `started as ${entry.command}`;
  const trusted = trust === 'trusted' ? '; its hints are trusted' : '';
  return `${granted} (${entry.disabled ? 'disabled' : reached}${trusted})`;
}

function phrase(what: string, { allow, deny }: NameRule): string {
  if (allow.length === 0) return `no ${what}s`;
  const isAll = allow.includes('*');
  const names = isAll ? `all ${what}s` : `${what}${allow.length === 1 ? '' : 's'} ${allow.join(', ')}`;
  return deny.length > 0 ? `${names}, but never ${deny.join(', ')}` : names;
}

// An address may hold a key.
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
