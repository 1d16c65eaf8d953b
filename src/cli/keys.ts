import { randomBytes } from 'node:crypto';
import { createApiKey, hashKey } from '../auth/api-key.ts';
import { ToolcribError } from '../base/errors.ts';
import type { Config } from '../gateway/settings/config.ts';
import type { KeyRecord } from '../core/memory/identities.ts';
import { readDeployment, withDeployment, type DeploymentFlags } from './deployment.ts';
import { outputFailure } from './output.ts';
import { formatJson, formatTable, formatTime, isVisible, parseSpan, printable } from './table.ts';

/** Options of `toolcrib keys create`. */
export interface CreateKeyFlags extends DeploymentFlags {
  readonly tenant: string;
  readonly caller: string;
  readonly role?: readonly string[];
  readonly scope?: readonly string[];
  readonly expires?: string;
}

/** Options of `toolcrib keys list`. */
export interface ListKeysFlags extends DeploymentFlags {
  readonly tenant?: string;
}

/** `toolcrib keys create`: makes a key and shows it once. */
export async function createKey(flags: CreateKeyFlags): Promise<void> {
  const { tenant, caller, role = [], scope = [], expires, json } = flags;
  const lifeMs = expires === undefined ? undefined : parseSpan(expires);
  if (expires !== undefined && lifeMs === undefined)
    throw new ToolcribError('invalid_setup', `--expires takes a span such as 90d or 12h, not "${expires}".`);
  requireVisible({ '--caller': [caller], '--role': role, '--scope': scope });
  await withDeployment(flags, async ({ store, secrets, operate, config }) => {
    if (!(await store.identities.findTenant(tenant))) {
      throw new ToolcribError(
        'invalid_setup',
        `There is no tenant "${tenant}"; make it first: toolcrib tenants create ${tenant}`,
      );
    }
    const key = createApiKey();
    const createdAt = Date.now();
    const record: KeyRecord = {
      id: `key_${randomBytes(6).toString('hex')}`,
      hash: hashKey(key, secrets.pepper),
      tenant,
      caller,
      roles: role,
      scopes: scope,
      createdAt,
      expiresAt: lifeMs === undefined ? undefined : createdAt + lifeMs,
      revokedAt: undefined,
      lastUsedAt: undefined,
    };
    const { id } = record;
    warnOfRoles(role, config);
    await operate(store.identities.putKey(record), {
      did: 'key created',
      key: id,
      tenant,
      caller,
      roles: role,
      scopes: scope,
    });
    if (json) process.stdout.write(formatJson({ key, ...shown(record) }));
    else
      process.stdout.write(
        [
          key,
          '',
          `This is ${id}, for ${printable(caller)} of ${tenant}. It is shown this once: keep it now.`,
          'Send it as "Authorization: Bearer KEY" or "X-API-Key: KEY".',
          '',
        ].join('\n'),
      );
    await requireSeen(id);
  });
}

// Usually a typing error: the key would sign in but could do nothing.
function warnOfRoles(roles: readonly string[], { access = [] }: Config): void {
  const named = [...new Set(access.flatMap((rule) => rule.roles))];
  for (const role of roles.filter((one) => !named.includes(one)))
    process.stderr.write(
      `No access rule names the role "${printable(role)}"; ${named.length > 0 ? `rules name ${named.join(', ')}` : 'there are no rules with roles'}.\n`,
    );
}

function requireVisible(names: Readonly<Record<string, readonly string[]>>): void {
  for (const [flag, given] of Object.entries(names))
    if (!given.every(isVisible))
      throw new ToolcribError('invalid_setup', `${flag} takes a name with visible characters.`);
}

async function requireSeen(id: string): Promise<void> {
  const failure = await outputFailure();
  if (failure === undefined) return;
  const text = `The key could not be printed (${failure}), so nobody has it; revoke it: toolcrib keys revoke ${id}`;
  throw new ToolcribError('invalid_setup', text);
}

/** `toolcrib keys list`: all keys, without their secrets. */
export async function listKeys(flags: ListKeysFlags): Promise<void> {
  const keys = (await readDeployment(flags, ({ listKeys: list }) => list())).filter(
    ({ tenant }) => flags.tenant === undefined || tenant === flags.tenant,
  );
  if (flags.json) {
    process.stdout.write(formatJson(keys.map(shown), 2));
    return;
  }
  const rows = keys.map((key) => [
    key.id,
    key.tenant,
    key.caller,
    key.roles.join(',') || '-',
    key.scopes.join(',') || '-',
    statusOf(key),
    formatTime(key.lastUsedAt),
  ]);
  const headings = ['KEY', 'TENANT', 'CALLER', 'ROLES', 'SCOPES', 'STATUS', 'LAST USED'];
  process.stdout.write(formatTable(headings, rows, 'There are no keys; make one with: toolcrib keys create'));
}

/** `toolcrib keys revoke`: a running server notices within five seconds. */
export async function revokeKey(id: string, flags: DeploymentFlags): Promise<void> {
  await withDeployment(flags, async ({ store, operate }) => {
    const known = (await store.identities.listKeys()).find((key) => key.id === id);
    if (!known) throw new ToolcribError('invalid_setup', `There is no key "${id}"; see: toolcrib keys list`);
    const isNew = known.revokedAt === undefined;
    if (isNew)
      await operate(store.identities.revokeKey(id, Date.now()), {
        did: 'key revoked',
        key: id,
        tenant: known.tenant,
        caller: known.caller,
      });
    if (flags.json) process.stdout.write(formatJson({ id, revoked: true, already: !isNew }));
    else process.stdout.write(isNew ? `${id} is revoked.\n` : `${id} was revoked before.\n`);
  });
}

type ShownKey = Omit<KeyRecord, 'hash'>;

function shown({ hash: _secret, ...key }: KeyRecord): ShownKey {
  return key;
}

function statusOf({ revokedAt, expiresAt }: KeyRecord): string {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt === undefined) return 'good';
  return expiresAt <= Date.now() ? 'expired' : `until ${formatTime(expiresAt)}`;
}
