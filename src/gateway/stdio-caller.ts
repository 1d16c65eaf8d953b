import { localCaller, type Caller } from '../core/caller.ts';
import { nameCaller } from '../core/caller-memory.ts';
import type { Identities } from '../core/memory/identities.ts';
import { ToolcribError } from '../base/errors.ts';
import type { Authentication } from './authentication.ts';
import type { Config } from './settings/config.ts';

/** The credential or setting that names the caller over standard input and output. */
export interface StdioIdentity {
  readonly auth: Config['auth'];
  readonly authentication: Authentication | undefined;
  readonly identities: Identities;
  /** An API key; it goes before `auth.stdio`. */
  readonly key: string | undefined;
}

/** The caller of a server that talks over standard input and output; `undefined` if its key or tenant is not valid. */
export async function stdioCaller(identity: StdioIdentity): Promise<Caller | undefined> {
  const { auth, authentication, identities, key } = identity;
  if (key !== undefined) {
    if (!auth?.keys || !authentication)
      throw new ToolcribError('invalid_setup', 'A key names nobody here; add "auth: { keys: {} }".');
    return authentication.signIn.authenticate({ target: '/', headers: { authorization: `Bearer ${key}` } });
  }
  if (!auth?.stdio) return localCaller;
  const { tenant: id, caller, roles, scopes } = auth.stdio;
  const known = await identities.findTenant(id);
  if (known?.disabled) return undefined;
  const tenant = { id, name: known?.name ?? id, data: known?.data ?? {} };
  return nameCaller({ id: caller, tenant, roles, scopes });
}
