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

/** The caller of open mode: whoever can reach this machine's loopback address or start the process. */
export const localCaller: Caller = Object.freeze({
  id: 'local',
  tenant: Object.freeze({ id: 'local', name: 'Local', data: Object.freeze({}) }),
  scopes: Object.freeze([]),
  roles: Object.freeze([]),
});
