/** The organisation a caller belongs to; everything kept on behalf of a caller is kept under its tenant. */
export interface Tenant {
  readonly id: string;
  readonly name: string;
  /** Facts the operator attaches to the tenant; handlers read them, clients never set them. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Who makes a call: always named, never assumed. */
export interface Caller {
  readonly id: string;
  readonly tenant: Tenant;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  /** Which key or token named the caller; one caller may have several. */
  readonly credential?: string;
}

/** The caller of open mode: anybody who can reach this machine's loopback address or start the process. */
export const localCaller: Caller = Object.freeze({
  id: 'local',
  tenant: Object.freeze({ id: 'local', name: 'Local', data: Object.freeze({}) }),
  scopes: Object.freeze([]),
  roles: Object.freeze([]),
});

/** Whether a caller comes with a tenant of its own, or with facts about one. */
export function hasContext({ id, data }: Tenant): boolean {
  return id !== localCaller.tenant.id || Object.keys(data).length > 0;
}

/** The key under which everything kept for a caller is kept; length first, so that no two callers can share one. */
export function ownerOf(caller: Caller): string {
  let known = owners.get(caller);
  if (known === undefined) {
    const { tenant, id } = caller;
    owners.set(caller, (known = `${tenant.id.length}:${tenant.id}/${id}`));
  }
  return known;
}

/**
 * The part of an owner that names its tenant; never the name of an owner. One that names no tenant is a tenant of its
 * own.
 */
export function tenantOf(owner: string): string {
  const length = /^\d+(?=:)/.exec(owner)?.[0];
  return length === undefined ? `:${owner}` : owner.slice(0, length.length + 1 + Number(length));
}

// Asked several times for every call.
const owners = new WeakMap<Caller, string>();
