import { isCount } from '../../base/secret-spellings.ts';
import type { UpstreamEntry } from '../../config/servers.ts';

/** The credential with which a gateway signs in to an upstream, for some callers. */
export interface Account {
  /** The tenant that it is for; empty where all callers share it. */
  readonly key: string;
  /** What the record calls it; `undefined` where there is no credential. */
  readonly name: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

/** The account that is used for a tenant; `undefined` for a tenant that has none. */
export interface Accounts {
  (tenant: string): Account | undefined;
  readonly all: readonly Account[];
}

/** Makes the one resolver of accounts, for lists and calls alike. */
export function createAccounts(name: string, { credential }: UpstreamEntry): Accounts {
  if (!credential || !('byTenant' in credential)) {
    const account = credential ? toAccount(credential, '', name) : NOBODY;
    return Object.assign(() => account, { all: [account] });
  }
  const named: Readonly<Record<string, Credential>> = credential.byTenant;
  const byTenant = new Map(
    Object.entries(named).map(([tenant, one]) => [tenant, toAccount(one, tenant, tenant)]),
  );
  return Object.assign((tenant: string) => byTenant.get(tenant), { all: [...byTenant.values()] });
}

/** The tenants that some of these list other things to than to everybody. */
export function tenantsWithAccounts(entries: readonly UpstreamEntry[]): ReadonlySet<string> {
  return new Set(
    entries.flatMap(({ credential }) =>
      credential && 'byTenant' in credential ? Object.keys(credential.byTenant) : [],
    ),
  );
}

/** Every secret of an entry, so that none of them is shown. */
export function secretsOf(entry: UpstreamEntry): string[] {
  const { credential } = entry;
  const all: readonly Credential[] = !credential
    ? []
    : 'byTenant' in credential
      ? Object.values<Credential>(credential.byTenant)
      : [credential];
  const values = all.flatMap((one) => {
    if ('env' in one) return Object.values(one.env);
    return [...Object.values(one.headers), ...(one.bearer === undefined ? [] : [one.bearer])];
  });
  const others = Object.entries('command' in entry ? entry.env : entry.headers);
  if ('url' in entry) others.push(...secretsIn(new URL(entry.url)));
  return [...values, ...others.flatMap(([name, value]) => (isSecret(name, value) ? [value] : []))].flatMap(
    partsOf,
  );
}

function isSecret(name: string, value: string): boolean {
  return SECRET_NAME.test(name) && !isCount(name, value);
}

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE/i;

// Many servers take a key in their address.
function secretsIn({ searchParams, password }: URL): [name: string, value: string][] {
  return [...searchParams, ['password', decoded(password)]];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// A server may show a token without the scheme in front of it, or a key line by line.
function partsOf(value: string): string[] {
  const lines = value.split('\n').filter((line) => !line.startsWith('-----'));
  const space = value.indexOf(' ');
  return [value, ...lines, ...(space < 0 ? [] : [value.slice(space + 1)])];
}

type Credential = Exclude<NonNullable<UpstreamEntry['credential']>, { readonly byTenant: unknown }>;

const NOBODY: Account = { key: '', name: undefined, headers: {}, env: {} };

function toAccount(credential: Credential, key: string, name: string): Account {
  const { account = name } = credential;
  if ('env' in credential) return { key, name: account, headers: {}, env: credential.env };
  const { bearer, headers } = credential;
  return {
    key,
    name: account,
    headers: { ...headers, ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) },
    env: {},
  };
}
