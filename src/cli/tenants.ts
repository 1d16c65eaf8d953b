import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { TenantRecord } from '../core/memory/identities.ts';
import { parseJson } from '../base/parse-json.ts';
import { readDeployment, withDeployment, type DeploymentFlags } from './deployment.ts';
import { formatJson, formatTable } from './table.ts';

/** Options of `toolcrib tenants create`. */
export interface CreateTenantFlags extends DeploymentFlags {
  readonly name?: string;
  readonly data?: string;
}

/** `toolcrib tenants create`: creates a tenant, or changes its name and data. */
export async function createTenant(id: string, flags: CreateTenantFlags): Promise<void> {
  if (!/^[\w.-]{1,64}$/.test(id)) {
    const text = `A tenant's id has up to 64 letters, digits, "_", "-" and ".", unlike "${id.slice(0, 80)}".`;
    throw new ToolcribError('invalid_setup', text);
  }
  // As a folder name it would mean another folder.
  if (/^\.+$/.test(id))
    throw new ToolcribError('invalid_setup', `A tenant's id has more than dots in it, unlike "${id}".`);
  const data = readData(flags.data);
  await withDeployment(flags, async ({ store, operate }) => {
    const before = await store.identities.findTenant(id);
    const tenant: TenantRecord = {
      id,
      name: flags.name ?? before?.name ?? id,
      data: data ?? before?.data ?? {},
      disabled: before?.disabled ?? false,
    };
    const did = before ? 'tenant changed' : 'tenant created';
    await operate(store.identities.putTenant(tenant), { did, tenant: id });
    say(
      flags,
      tenant,
      `${id} is ${before ? 'changed' : 'there'}. Make a key: toolcrib keys create --tenant ${id} --caller NAME`,
    );
  });
}

/** `toolcrib tenants disable` and `enable`: the keys and tokens of a disabled tenant are refused. */
export async function switchTenant(id: string, disabled: boolean, flags: DeploymentFlags): Promise<void> {
  await withDeployment(flags, async ({ store, operate }) => {
    const tenant = await store.identities.findTenant(id);
    if (!tenant)
      throw new ToolcribError('invalid_setup', `There is no tenant "${id}"; see: toolcrib tenants list`);
    const changed = { ...tenant, disabled };
    const did = disabled ? 'tenant disabled' : 'tenant enabled';
    await operate(store.identities.putTenant(changed), { did, tenant: id });
    say(flags, changed, `${id} is ${disabled ? 'disabled' : 'enabled'}.`);
  });
}

/** `toolcrib tenants list`: all tenants. */
export async function listTenants(flags: DeploymentFlags): Promise<void> {
  const tenants = await readDeployment(flags, ({ listTenants: list }) => list());
  if (flags.json) {
    process.stdout.write(formatJson(tenants, 2));
    return;
  }
  const rows = tenants.map(({ id, name, disabled }) => [id, name, disabled ? 'disabled' : 'good']);
  const empty = 'There are no tenants; make one with: toolcrib tenants create ID';
  process.stdout.write(formatTable(['TENANT', 'NAME', 'STATUS'], rows, empty));
}

function say({ json }: DeploymentFlags, tenant: TenantRecord, text: string): void {
  process.stdout.write(json ? formatJson(tenant) : `${text}\n`);
}

function readData(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  if (text === undefined) return undefined;
  try {
    const data: unknown = parseJson(text);
    if (isObject(data)) return data;
  } catch {
    // Not JSON; the message is the same.
  }
  throw new ToolcribError('invalid_setup', `--data takes a JSON object, such as '{"plan":"pro"}'.`);
}
