import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { ConfigInput } from '../../src/gateway.ts';
import { openCrib } from '../gateway.ts';
import { SqliteDatabase } from '../../src/store/sqlite/database.ts';
import { createOperations } from '../../src/store/sqlite/operations.ts';
import { echo } from '../behaviour/governed-tools.ts';
import { startIssuer } from './issuer.ts';
import { ask } from './keyed.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/identity.md'), 'utf8');

interface Provider {
  readonly name: string;
  /** Where its host is replaced by a local one. */
  readonly origin: string;
  readonly alg?: string;
  /** Paths of its metadata and of its keys. */
  readonly metadata: string;
  readonly keys: string;
  /** Claims of an access token (of an ID token for Google), as the provider documents them. */
  readonly claims: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  /** Whom it names, and where. */
  readonly caller: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  /** Tokens of the same provider that must not be taken, by what is wrong. */
  readonly wrong: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const resource = 'https://tools.acme.example/mcp';
const none = { sub: undefined, tenant: undefined, scope: undefined };

const providers: readonly Provider[] = [
  {
    name: 'Keycloak',
    origin: 'https://keycloak.acme.example',
    metadata: '/realms/acme/.well-known/openid-configuration',
    keys: '/realms/acme/protocol/openid-connect/certs',
    header: { typ: 'JWT' },
    claims: {
      ...none,
      aud: [resource, 'account'],
      sub: 'f1b5c7a2-3c1f-4a55-9d0c-0a6a5d0b7e11',
      typ: 'Bearer',
      azp: 'desktop',
      sid: 'c0a9',
      acr: '1',
      realm_access: { roles: ['default-roles-acme', 'staff'] },
      resource_access: { account: { roles: ['manage-account'] } },
      scope: 'openid profile',
      preferred_username: 'ada',
    },
    caller: 'f1b5c7a2-3c1f-4a55-9d0c-0a6a5d0b7e11',
    tenant: 'acme',
    roles: ['default-roles-acme', 'staff'],
    wrong: { 'has no audience mapper': { aud: 'account' }, 'is for no one': { aud: undefined } },
  },
  {
    name: 'Microsoft Entra ID',
    origin: 'https://login.microsoftonline.com',
    metadata: '/9122040d-6c67-4c5b-b112-36a304b66dad/v2.0/.well-known/openid-configuration',
    keys: '/9122040d-6c67-4c5b-b112-36a304b66dad/discovery/v2.0/keys',
    header: { typ: 'JWT', x5t: 'one' },
    claims: {
      ...none,
      aud: '6731de76-14a6-49ae-97bc-6eba6914391e',
      sub: 'HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ',
      oid: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
      tid: '9122040d-6c67-4c5b-b112-36a304b66dad',
      azp: 'd8a1',
      scp: 'tools openid',
      roles: ['staff'],
      ver: '2.0',
    },
    caller: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
    tenant: 'acme',
    roles: ['staff'],
    wrong: {
      'is of version 1': { iss: 'https://sts.windows.net/9122040d-6c67-4c5b-b112-36a304b66dad/', ver: '1.0' },
      'is of another directory': { iss: 'https://login.microsoftonline.com/0000/v2.0', tid: '0000' },
      'is for the app by its address': { aud: 'api://6731de76-14a6-49ae-97bc-6eba6914391e' },
      'has no object id': { oid: undefined },
    },
  },
  {
    name: 'Auth0',
    origin: 'https://acme.eu.auth0.com',
    metadata: '/.well-known/openid-configuration',
    keys: '/.well-known/jwks.json',
    header: { typ: 'JWT' },
    claims: {
      ...none,
      aud: [resource, 'https://acme.eu.auth0.com/userinfo'],
      sub: 'auth0|507f1f77bcf86cd799439020',
      azp: 'my_client_id',
      scope: 'openid profile',
      org_id: 'org_9ybsU1dN2dKfDkBi',
      permissions: ['staff'],
    },
    caller: 'auth0|507f1f77bcf86cd799439020',
    tenant: 'org_9ybsU1dN2dKfDkBi',
    roles: ['staff'],
    wrong: {
      'is of no organization': { org_id: undefined },
      'is of an organization without a tenant': { org_id: 'org_other' },
      'is for Auth0 alone': { aud: 'https://acme.eu.auth0.com/userinfo' },
    },
  },
  {
    name: 'Okta',
    origin: 'https://acme.okta.com',
    metadata: '/oauth2/default/.well-known/openid-configuration',
    keys: '/oauth2/default/v1/keys',
    claims: {
      ...none,
      ver: 1,
      aud: resource,
      sub: 'ada@acme.example',
      cid: '0oa62b57p7c8PaGpU0h7',
      uid: '00uid4BxXw6I6TV4m0g3',
      scp: ['tools', 'openid'],
      groups: ['Everyone', 'staff'],
    },
    caller: 'ada@acme.example',
    tenant: 'acme',
    roles: ['Everyone', 'staff'],
    wrong: {
      'is of the org server': { iss: 'https://acme.okta.com', aud: 'https://acme.okta.com' },
      'is for the default audience': { aud: 'api://default' },
    },
  },
  {
    name: 'Google',
    origin: 'https://accounts.google.com',
    metadata: '/.well-known/openid-configuration',
    keys: '/oauth2/v3/certs',
    header: { typ: 'JWT' },
    claims: {
      ...none,
      aud: '1234987819200.apps.googleusercontent.com',
      azp: '1234987819200.apps.googleusercontent.com',
      sub: '110169484474386276334',
      hd: 'acme.example',
      email: 'ada@acme.example',
      email_verified: true,
      at_hash: 'HK6E_P6Dh8Y93mRNtsDB1Q',
    },
    caller: '110169484474386276334',
    tenant: 'acme.example',
    roles: [],
    wrong: {
      'is of an account without a domain': { hd: undefined },
      'is of a service account with our audience': { hd: undefined, email: 'x@y.iam.gserviceaccount.com' },
      'is of another domain': { hd: 'evil.example' },
      'is for another program': { aud: '999.apps.googleusercontent.com' },
    },
  },
];

/** The section of the page about a provider, with its host replaced. */
function recipe({ name, origin }: Provider, local: string): NonNullable<ConfigInput['auth']> {
  const text = page.split(`\n### ${name}\n`)[1]?.split('```yaml\n')[1]?.split('```')[0] ?? '';
  expect(text).toContain(origin);
  return (parse(text.replaceAll(origin, local)) as ConfigInput).auth!;
}

async function open(provider: Provider) {
  const { origin, metadata, keys, roles, tenant } = provider;
  const issuer = await startIssuer('RS256');
  const auth = recipe(provider, issuer.url);
  const { issuer: iss } = auth.jwt as { issuer: string };
  // Few providers say in a key what it is for.
  const { alg: _alg, ...key } = issuer.publicKey;
  issuer.publish([key]);
  issuer.documents.clear();
  issuer.documents.set(metadata, { issuer: iss, jwks_uri: `${issuer.url}${keys}` });
  const crib = await openCrib({
    offers: [echo().tool],
    config: {
      auth,
      server: { publicUrl: 'https://tools.acme.example' },
      access: [{ ...(roles.length > 0 && { roles: ['staff'] }), tenants: [tenant], tools: ['*'] }],
    },
  });
  const db = new SqliteDatabase(crib.path('toolcrib.db'), 'existing');
  createOperations(db, 'test').putTenant({ id: tenant, name: tenant, data: {}, disabled: false });
  db.close();
  const send = async (claims: Readonly<Record<string, unknown>> = {}): Promise<[number, string]> => {
    const all = { iss, ...provider.claims, ...claims };
    const token = await issuer.token(all, provider.header);
    const { status, body } = await ask(crib, {
      headers: { host: 'tools.acme.example', authorization: `Bearer ${token}` },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'echo', arguments: { text: 'hello' } },
      }),
    });
    return [status, body];
  };
  return { crib, issuer, origin, send };
}

test.each(providers)(
  'B1 a token of $name is accepted with the documented settings, and its tokens for others are refused',
  async (provider) => {
    const { crib, issuer, send } = await open(provider);
    expect(await send()).toEqual([200, expect.stringContaining('hello')]);
    expect(issuer.asked).toEqual([provider.metadata, provider.keys]);
    const { caller, tenant } = provider;
    expect(crib.rowsOf('echo')).toMatchObject([{ caller, tenant }]);
    const others = Object.entries(provider.wrong);
    for (const [what, claims] of others) expect([what, (await send(claims))[0]]).toEqual([what, 401]);
    const reasons = (): string[] =>
      crib.logged.map(({ message }) => message).filter((one) => REASON.test(one));
    await expect.poll(() => reasons().length).toBe(others.length);
  },
);

const REASON =
  /^Sign-in refused: token: (?:audience is|issuer is|no (?:tenant|caller) claim|there is no tenant|its claim aud)/;

test('B1 a caller without the documented role is refused', async () => {
  const { send } = await open(providers[0]!);
  const [status, body] = await send({ realm_access: { roles: ['guest'] } });
  expect([status, body.includes('hello'), body.includes('Unknown tool')]).toEqual([200, false, true]);
});
