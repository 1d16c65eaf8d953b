import { endsWithin } from '../base/within.ts';
import { keyReader } from '../auth/discover-keys.ts';
import { fetchDocument } from '../auth/fetch-document.ts';
import { formatPath, type Complaint } from '../config/complaint.ts';
import type { Path } from '../config/yaml-text.ts';
import { unmatchedFarTools } from '../gateway/settings/agent-conflicts.ts';
import { issuersOf } from '../gateway/settings/auth.ts';
import type { LoadedConfig } from '../gateway/settings/load-config.ts';
import { readyEntries } from '../gateway/settings/ready-entries.ts';
import { createOutboundClient } from '../net/create-outbound-client.ts';
import type { OutboundOptions } from '../net/outbound.ts';
import { openSql } from '../tools/sql/open.ts';
import { packageVersion } from './package-version.ts';

const TIMEOUT_MS = 5_000;
// Extra time, because an attempt with a limit of its own reports its timeout in more detail.
const GRACE_MS = 250;

/**
 * Tries every database, issuer, host and other server that a configuration names, for five seconds each at most;
 * `onWait` is called with what is being tried.
 */
export async function tryConnections(
  loaded: LoadedConfig,
  onWait: (text: string) => void,
): Promise<Complaint[]> {
  const attempts = [...databases(loaded), ...issuers(loaded), ...hosts(loaded)];
  const tried = attempts.map(async ({ path, connect }): Promise<Complaint[]> => {
    onWait(`waiting for ${formatPath(path)}, ${TIMEOUT_MS / 1000} seconds at most`);
    try {
      await inTime(connect());
      return [];
    } catch (error) {
      const message = `cannot be reached: ${reasonOf(error)}`;
      return [loaded.complain(path, { message, severity: 'error' })];
    }
  });
  return (await Promise.all([...tried, servers(loaded, onWait)])).flat();
}

// Listed, too: a server that answers and cannot be listed is of no use.
async function servers(loaded: LoadedConfig, onWait: (text: string) => void): Promise<Complaint[]> {
  const names = Object.entries(loaded.config.mcpServers ?? {}).filter(([, { disabled }]) => !disabled);
  if (names.length === 0) return [];
  for (const [name] of names) onWait(`waiting for mcpServers.${name}, ${TIMEOUT_MS / 1000} seconds at most`);
  const { tryUpstreams } = await import('../gateway/upstreams/try-upstreams.ts');
  const tried = await tryUpstreams(loaded, { withinMs: TIMEOUT_MS, version: packageVersion() });
  const unmatched = unmatchedFarTools(loaded.config, tried.tools);
  const failed = tried.states.flatMap(({ name, state, reason = '', remedy = '' }) =>
    state === 'failed' || state === 'needs_sign_in'
      ? [
          loaded.complain(['mcpServers', name], {
            message: `cannot be reached: ${reason}`,
            remedy,
            severity: 'error',
          }),
        ]
      : [],
  );
  return [...failed, ...unmatched.map((one) => loaded.complain(one.path, one))];
}

// Finding an issuer's keys takes several requests, each with a limit of its own.
async function inTime(work: Promise<unknown>): Promise<void> {
  const isAnswered = await endsWithin(TIMEOUT_MS + GRACE_MS, work);
  if (!isAnswered) throw new Error('there was no answer in time');
}

/** A connection to try, and its place in the configuration. */
interface Attempt {
  readonly path: Path;
  readonly connect: () => Promise<unknown>;
}

function databases({ config, folder }: LoadedConfig): Attempt[] {
  const { ready } = config.tools;
  const named = [
    ...readyEntries(ready, 'query_database').map(
      ({ path, options }) => [[...path, 'url'], options.url] as const,
    ),
    ...readyEntries(ready, 'query_sql').flatMap(({ path, options: { url, urlByTenant = {} } }) => [
      ...(url === undefined ? [] : [[[...path, 'url'], url] as const]),
      ...Object.entries(urlByTenant).map(([tenant, one]) => [[...path, 'urlByTenant', tenant], one] as const),
    ]),
  ];
  return named.map(([path, url]) => ({ path, connect: () => queryOnce(url, folder) }));
}

async function queryOnce(url: string, folder: string): Promise<void> {
  const db = openSql(url, folder);
  const signal = AbortSignal.timeout(TIMEOUT_MS * 2);
  try {
    await db.query({
      sql: 'select 1',
      values: [],
      maxRows: 1,
      maxBytes: 1_024,
      timeoutMs: TIMEOUT_MS,
      signal,
    });
  } finally {
    await db.close();
  }
}

function issuers({ config: { auth } }: LoadedConfig): Attempt[] {
  if (!auth) return [];
  return issuersOf(auth).map(({ issuer, jwks }, index) => ({
    path: [
      'auth',
      'jwt',
      ...(Array.isArray(auth.jwt) ? [index] : []),
      jwks === undefined ? 'issuer' : 'jwks',
    ],
    connect: keyReader({ issuer, jwks, fetch: fetchDocument }),
  }));
}

function hosts({ config: { tools } }: LoadedConfig): Attempt[] {
  const { get_weather: weather, notion } = tools.ready;
  const fetched = readyEntries(tools.ready, 'fetch_api_data').flatMap(({ path, options }) => {
    const { ports, trustedOrigins } = options;
    const trustedHosts = new Set(trustedOrigins.map((origin) => new URL(origin).hostname));
    // A pattern for many names cannot be tried.
    const exact = options.hosts
      .map((host, index) => [host, index] as const)
      .filter(([host]) => !host.includes('*') && !trustedHosts.has(host));
    return [
      ...exact.map(([host, index]) =>
        request([...path, 'hosts', index], `https://${host}:${ports[0]}/`, { hosts: [host], ports }),
      ),
      ...trustedOrigins.map((origin, index) => trusted([...path, 'trustedOrigins', index], origin)),
    ];
  });
  const described = [tools.openapi].flat().flatMap((entry, index) => {
    const server = typeof entry === 'string' ? undefined : entry.server;
    const path = ['tools', 'openapi', ...(Array.isArray(tools.openapi) ? [index] : []), 'server'];
    return server === undefined ? [] : [trusted(path, server)];
  });
  return [
    ...fetched,
    ...described,
    ...(weather ? [trusted(['tools', 'ready', 'get_weather'], weather.baseUrl)] : []),
    ...(notion ? [trusted(['tools', 'ready', 'notion'], notion.baseUrl)] : []),
  ];
}

function trusted(path: Path, url: string): Attempt {
  const { origin } = new URL(url);
  return request(path, `${origin}/`, { hosts: [], trustedOrigins: [origin] });
}

// Any response will do: only the tool knows what to request.
function request(path: Path, url: string, reach: OutboundOptions): Attempt {
  const client = createOutboundClient({ ...reach, maxRedirects: 0, timeoutMs: TIMEOUT_MS });
  const connect = async (): Promise<void> => {
    try {
      await client.request(url, { method: 'HEAD' });
    } catch (error) {
      if (ANSWERED.has((error as { reason?: string }).reason ?? '')) return;
      throw error;
    }
  };
  return { path, connect };
}

const ANSWERED: ReadonlySet<string> = new Set(['refused_redirect', 'encoded', 'too_large']);

// An operator may see the reason itself; a caller may not.
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  const detail = cause instanceof Error ? (cause as NodeJS.ErrnoException) : undefined;
  const told = detail && (detail.message || detail.code);
  return told ? `${message.replace(/\.$/, '')} (${told})` : message;
}
