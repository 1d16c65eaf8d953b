import { z } from 'zod';
import { isLoopback } from '../../base/loopback.ts';
import { accessOptions } from '../../stages/access/rules.ts';
import { agentsSection } from './agents.ts';
import { authSection, issuersOf } from './auth.ts';
import { logSection, serverSection, storeSection } from './server.ts';
import { stagesSection } from './stages.ts';
import { toolsSection } from './tools.ts';
import { upstreamsSection } from '../../config/servers.ts';
import { upstreamSettings } from './upstreams.ts';
import type { Path } from '../../config/yaml-text.ts';

/**
 * A configuration file: the validation, the types, the defaults, the editor's schema and the docs page all come from
 * this declaration.
 */
export const configSchema = z.strictObject({
  server: serverSection.prefault({}).describe('How the server presents itself and where it listens.'),
  store: storeSection.prefault({}).describe('Where everything that lasts is kept.'),
  tools: toolsSection.prefault({}).describe('Which tools there are.'),
  skills: z
    .union([z.string().min(1), z.array(z.string().min(1))])
    .default([])
    .describe('Folders with skills: each folder in them that has a `SKILL.md`; relative to this file.'),
  mcpServers: upstreamsSection
    .exactOptional()
    .describe('Other servers by name: what they offer is served under the rules of this file.'),
  upstreams: upstreamSettings.prefault({}).describe('What all of those servers have in common.'),
  agents: agentsSection
    .exactOptional()
    .describe('Agents by name: what each may use of what there is, and whether callers may ask it.'),
  auth: authSection
    .exactOptional()
    .describe('Who may call. Left out, the server is open to this machine and to nobody else.'),
  access: accessOptions
    .exactOptional()
    .describe(
      'Who may use which tools: the first rule that matches decides, and where none does the call is refused.',
    ),
  stages: stagesSection.prefault({}).describe('What is done to every call.'),
  log: logSection.prefault({}).describe('What is written to standard error.'),
});

/** A configuration with every default filled in. */
export type Config = z.output<typeof configSchema>;

/** A configuration as it may be written. */
export type ConfigInput = z.input<typeof configSchema>;

/** A problem of settings that are each valid alone. */
export interface Conflict {
  readonly path: Path;
  readonly message: string;
  readonly remedy: string;
  readonly severity: 'error' | 'warning';
}

/** Finds settings that do not go together. */
export function conflictsIn(config: Config): Conflict[] {
  const conflicts = config.auth
    ? [...conflictsOfGuarded(config, config.auth), ...conflictsOfIssuers(config.auth)]
    : conflictsOfOpen(config);
  return [...conflicts, ...conflictsOfApproval(config), ...conflictsOfPins(config)];
}

function conflictsOfIssuers(auth: NonNullable<Config['auth']>): Conflict[] {
  const issuers = issuersOf(auth);
  return issuers.flatMap(({ issuer, tenant, tenantClaim }, index) => {
    const found: Conflict[] = [];
    const path = ['auth', 'jwt', ...(Array.isArray(auth.jwt) ? [index] : [])];
    const same = issuers.findIndex((other) => other.issuer === issuer);
    if (same < index)
      found.push({
        path: [...path, 'issuer'],
        message: `is the same issuer as auth.jwt[${same}]`,
        remedy: 'keep one of the two; its audience may be a list',
        severity: 'error',
      });
    if (tenant !== undefined && tenantClaim !== undefined)
      found.push({
        path: [...path, 'tenantClaim'],
        message: 'cannot be set beside tenant, which is the tenant of all tokens of this issuer',
        remedy: 'keep one of the two',
        severity: 'error',
      });
    const isShared = issuers.filter((other) => other.tenant === tenant).length > 1;
    if (issuers.length > 1 && (tenant === undefined || isShared))
      found.push({
        path: [...path, 'tenant'],
        message: 'does not keep this issuer apart: it can name callers of tenants that others serve, too',
        remedy: 'set a tenant of its own, unless you trust all issuers alike',
        severity: 'warning',
      });
    return found;
  });
}

function conflictsOfApproval({ stages, store }: Config): Conflict[] {
  if (stages.approve === false) return [];
  if (stages.approve.mode === 'argument' && stages.approve.afterUntrustedMinutes > 0)
    return [
      {
        path: ['stages', 'approve', 'afterUntrustedMinutes'],
        message: 'needs somebody who decides: a model that was misled would confirm its calls by itself',
        remedy: 'set mode to "operator", or leave this out',
        severity: 'error',
      },
    ];
  if (stages.approve.mode !== 'operator') return [];
  const path = ['stages', 'approve', 'mode'];
  const severity = 'error';
  if (stages.audit === false)
    return [
      {
        path,
        message: 'cannot be operator without a record of what was approved',
        remedy: 'remove "audit: false"',
        severity,
      },
    ];
  if (store.url !== 'memory:') return [];
  const message = 'cannot be operator while everything is kept in memory, where nobody could approve it';
  return [{ path, message, remedy: 'set store.url to "sqlite:./toolcrib.db"', severity }];
}

// No command could approve a pin in memory.
function conflictsOfPins({ stages, store, mcpServers = {} }: Config): Conflict[] {
  if (store.url !== 'memory:') return [];
  const own = Object.entries(mcpServers).flatMap(([name, { pin }]) =>
    pin === 'approve' ? [['mcpServers', name, 'pin']] : [],
  );
  const paths =
    stages.pin !== false && stages.pin.mode === 'approve' ? [['stages', 'pin', 'mode'], ...own] : own;
  const message = 'cannot be approve while everything is kept in memory, where nobody could approve a tool';
  const remedy = 'set store.url to "sqlite:./toolcrib.db"';
  return paths.map((path) => ({ path, message, remedy, severity: 'error' }));
}

function conflictsOfOpen({ server, access = [] }: Config): Conflict[] {
  const unmatched = access.flatMap(({ roles, scopes }, index): Conflict[] => {
    const key = roles.length > 0 ? 'roles' : 'scopes';
    if (roles.length + scopes.length === 0) return [];
    const message = `match nobody: without auth everybody is the caller "local", who has no ${key}`;
    const remedy = `add "auth: { keys: {} }" and make a key with them, or leave ${key} out`;
    return [{ path: ['access', index, key], message, remedy, severity: 'warning' }];
  });
  if (isLoopback(server.listen.host)) return unmatched;
  return [
    ...unmatched,
    {
      path: ['server', 'listen'],
      message: 'would open every tool to the network, because there is no auth',
      remedy: 'add "auth: { keys: {} }", or listen on 127.0.0.1',
      severity: 'error',
    },
  ];
}

function conflictsOfGuarded(
  { server, access, stages, store }: Config,
  auth: NonNullable<Config['auth']>,
): Conflict[] {
  const found: Conflict[] = [];
  if (!auth.keys && !auth.jwt && !auth.stdio)
    found.push({
      path: ['auth'],
      message: 'names no way to sign in',
      remedy: 'add "keys: {}", "jwt:" or "stdio:", or leave auth out',
      severity: 'error',
    });
  if (!isLoopback(server.listen.host) && !server.allowedHosts && server.publicUrl === undefined)
    found.push({
      path: ['server', 'listen'],
      message: 'can be reached from other machines, and nothing says by which names clients reach it',
      remedy: 'add server.publicUrl or server.allowedHosts',
      severity: 'error',
    });
  if (!stages.audit)
    found.push({
      path: ['stages', 'audit'],
      message: 'cannot be off while callers sign in',
      remedy: 'remove the line, since only a server without auth may do without a record',
      severity: 'error',
    });
  if (!access || access.length === 0)
    found.push({
      path: ['access'],
      message: 'has no rules, so every call is refused',
      remedy: 'add a rule, such as { roles: [admin], tools: ["*"] }',
      severity: 'warning',
    });
  if (auth.jwt && server.publicUrl === undefined)
    found.push({
      path: ['auth', 'jwt'],
      message: 'cannot tell clients where to get a token, because nothing says where they reach this server',
      remedy: 'add server.publicUrl',
      severity: 'warning',
    });
  if (auth.keys && store.url === 'memory:')
    found.push({
      path: ['store', 'url'],
      message: 'forgets all keys when the process ends',
      remedy: 'use "sqlite:./toolcrib.db"',
      severity: 'warning',
    });
  return found;
}
