import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KeyRecord } from 'toolcrib';
import { type ConfigInput, openSecrets, openSqliteStore } from 'toolcrib/gateway';
import { createApiKey, hashKey } from 'toolcrib/node';
import { scratchSubfolder } from './scratch.ts';
import type { ToolsWanted } from './targets/bench-tools.ts';

/** What a deployment is to have. */
export interface DeploymentWanted {
  /** How many tenants, each with one key. */
  readonly tenants?: number;
  /** How many access rules, a hundred unless set; of every ten, one has a condition. */
  readonly rules?: number;
  /** Its own tools; left out, it has the ready-made ones and no module to load. */
  readonly tools?: ToolsWanted;
  /** Other servers it is the gateway of. */
  readonly servers?: NonNullable<ConfigInput['mcpServers']>;
}

/** A folder as in a real deployment: configuration, secrets, store and tools. */
export interface Deployment {
  readonly folder: string;
  readonly config: string;
  /** One key a tenant. */
  readonly keys: readonly string[];
}

/** Makes a deployment with every stage on, its limits far above any load. */
export async function makeDeployment({
  tenants = 1,
  rules = 100,
  tools,
  servers,
}: DeploymentWanted): Promise<Deployment> {
  const folder = scratchSubfolder('deployment');
  const config = join(folder, 'toolcrib.yaml');
  // JSON is YAML, too.
  writeFileSync(
    config,
    JSON.stringify({ ...configuration(rules, tools !== undefined), ...(servers && { mcpServers: servers }) }),
  );
  if (tools) writeFileSync(join(folder, 'tools.js'), toolsModule(tools));
  return { folder, config, keys: await makeKeys(folder, tenants) };
}

/** What kind of file system a folder is on. */
export function fileSystemOf(folder: string): string {
  try {
    const [, line = ''] = execFileSync('df', ['-PT', folder], { encoding: 'utf8' }).split('\n');
    return line.split(/\s+/)[1] ?? 'unknown';
  } catch {
    return 'unknown';
  }
}

const FAR_ABOVE = 1_000_000_000;
const ROLE = 'agent';

function configuration(rules: number, hasModule: boolean): ConfigInput {
  return {
    server: { name: 'bench', listen: '127.0.0.1:0', requestsPerMinute: FAR_ABOVE },
    ...(hasModule && { tools: { modules: ['./tools.js'], ready: {} } }),
    auth: { keys: {} },
    access: accessRules(rules),
    stages: {
      rateLimit: { perMinute: FAR_ABOVE, perTenant: FAR_ABOVE },
      concurrency: { perCaller: FAR_ABOVE, perTenant: FAR_ABOVE },
    },
    log: { level: 'warn' },
  };
}

/** Rules of which the last one lets the bench in, so that all others are looked at first. */
export function accessRules(total: number): NonNullable<ConfigInput['access']> {
  const others = Array.from({ length: total - 1 }, (_, index) => ({
    roles: [`role_${index}`],
    tools: [`list_*_${index}`, 'echo*'],
    ...(index % 10 === 5 && { tools: [`list_orders_*${index}`], when: 'args.customer == caller.id' }),
  }));
  return [...others, { roles: [ROLE], tools: ['*'] }];
}

function toolsModule(wanted: ToolsWanted): string {
  const file = fileURLToPath(new URL('./targets/bench-tools.js', import.meta.url));
  return [
    `import { benchTools } from ${JSON.stringify(file)};`,
    `export const tools = benchTools(${JSON.stringify(wanted)});`,
    '',
  ].join('\n');
}

async function makeKeys(folder: string, tenants: number): Promise<string[]> {
  const { pepper, signingKey } = openSecrets(join(folder, 'toolcrib.secrets'));
  const store = await openSqliteStore({
    file: join(folder, 'toolcrib.db'),
    signingKey,
    checkpointFiles: [join(folder, 'toolcrib.checkpoints')],
  });
  const keys = Array.from({ length: tenants }, () => createApiKey());
  const { identities } = store;
  await Promise.all(
    keys.flatMap((key, index) => {
      const tenant = `tenant_${index}`;
      return [
        identities.putTenant({ id: tenant, name: `Tenant ${index}`, data: {}, disabled: false }),
        identities.putKey(keyRecord(`key_${index}`, tenant, hashKey(key, pepper))),
      ];
    }),
  );
  await store.close();
  return keys;
}

function keyRecord(id: string, tenant: string, hash: string): KeyRecord {
  return {
    id,
    hash,
    tenant,
    caller: 'bench',
    scopes: [],
    roles: [ROLE],
    createdAt: Date.now(),
    expiresAt: undefined,
    revokedAt: undefined,
    lastUsedAt: undefined,
  };
}
