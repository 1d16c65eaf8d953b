import { createHmac } from 'node:crypto';
import { exportSPKI, importJWK, jwtVerify, type CryptoKey } from 'jose';
import { expect, test } from 'vitest';
import type { IssuerOptions } from '../../src/auth/issuer.ts';
import { createJwtSignIn } from '../../src/auth/jwt-sign-in.ts';
import type { CredentialSignIn } from '../../src/auth/sign-in.ts';
import { createFakeClock } from '../../src/testing.ts';
import { openCrib } from '../gateway.ts';
import { MapIdentities } from './identities.ts';
import { audience, startIssuer, type Issuer } from './issuer.ts';
import { ask } from './keyed.ts';

interface Two {
  readonly one: Issuer;
  readonly other: Issuer;
  readonly tenants: MapIdentities;
  readonly signIn: CredentialSignIn;
}

/** Two issuers with a tenant each, whose keys have the same id. */
async function openTwo(second: Partial<IssuerOptions> = {}): Promise<Two> {
  const [one, other] = [await startIssuer(), await startIssuer('ES384')];
  const tenants = new MapIdentities('north', 'south');
  const issuers = [
    { issuer: one.url, audience, tenant: 'north' },
    { issuer: other.url, audience, tenant: 'south', ...second },
  ];
  return { one, other, tenants, signIn: createJwtSignIn({ issuers, tenants }) };
}

test('each issuer can name callers of its own tenant only, whatever its tokens say', async () => {
  const { one, other, signIn } = await openTwo();
  expect(await signIn.check(await one.token({ tenant: 'south' }))).toMatchObject({ tenant: { id: 'north' } });
  expect(await signIn.check(await other.token({ tenant: 'north' }))).toMatchObject({
    tenant: { id: 'south' },
  });
});

test('a token without a tenant is accepted where its issuer has a fixed tenant', async () => {
  const { one, signIn } = await openTwo();
  expect(await signIn.check(await one.token({ tenant: undefined }))).toMatchObject({
    tenant: { id: 'north' },
  });
});

test('B1 tokens are refused where the fixed tenant is disabled or unknown', async () => {
  const { one, other, tenants, signIn } = await openTwo({ tenant: 'west' });
  expect(await signIn.check(await other.token())).toBeUndefined();
  const token = await one.token();
  expect(await signIn.check(token)).toMatchObject({ id: 'ada' });
  tenants.putTenant({ id: 'north', disabled: true });
  expect(await signIn.check(token)).toBeUndefined();
});

test('B1 a token of one issuer that was signed with the key of another is refused', async () => {
  const { one, other, signIn } = await openTwo();
  expect(await signIn.check(await other.token({ iss: one.url }))).toBeUndefined();
  expect(await signIn.check(await one.token({ iss: other.url }))).toBeUndefined();
  // Keys of both in one pool would take it, so this test can fail.
  const key = await importJWK(other.publicKey, 'ES384');
  expect((await jwtVerify(await other.token({ iss: one.url }), key)).payload.iss).toBe(one.url);
});

test('B1 a token is refused if another issuer signed it with a key of the same id and algorithm', async () => {
  const [one, other] = [await startIssuer(), await startIssuer()];
  const tenants = new MapIdentities('north', 'south');
  const issuers = [one, other].map(({ url }) => ({ issuer: url, audience }));
  const signIn = createJwtSignIn({ issuers, tenants });
  expect(await signIn.check(await one.token())).toMatchObject({ id: 'ada' });
  expect(await signIn.check(await other.token())).toMatchObject({ id: 'ada' });
  expect(await signIn.check(await other.token({ iss: one.url }))).toBeUndefined();
});

test('B1 the required claims of one issuer apply to its own tokens only', async () => {
  const elsewhere = 'https://elsewhere.example/mcp';
  const { one, other, signIn } = await openTwo({ audience: elsewhere, requiredScopes: ['more'] });
  expect(await signIn.check(await one.token({ aud: elsewhere }))).toBeUndefined();
  expect(await signIn.check(await other.token())).toBeUndefined();
  await expect(signIn.check(await other.token({ aud: elsewhere }))).rejects.toMatchObject({
    code: 'insufficient_scope',
  });
  expect(await signIn.check(await one.token({ scope: '' }))).toMatchObject({ id: 'ada' });
});

test('B2 a token signed with the public key of an issuer as a shared secret is refused, for every issuer', async () => {
  const { one, other, signIn } = await openTwo();
  const pem = await exportSPKI(
    (await importJWK(other.publicKey, 'ES384', { extractable: true })) as CryptoKey,
  );
  for (const { url } of [one, other]) {
    const [, payload] = (await one.token({ iss: url })).split('.');
    const head = Buffer.from('{"alg":"HS256","kid":"one"}').toString('base64url');
    const signature = createHmac('sha256', pem).update(`${head}.${payload}`).digest('base64url');
    const token = `${head}.${payload}.${signature}`;
    expect(await signIn.check(token)).toBeUndefined();
    // A check that lets the token choose the algorithm is fooled by it, so this test can fail.
    expect((await jwtVerify(token, Buffer.from(pem))).payload.iss).toBe(url);
  }
});

test('B2 an algorithm that is allowed for one issuer only is refused for the other', async () => {
  const narrow = await openTwo({ algorithms: ['ES256'] });
  expect(await narrow.signIn.check(await narrow.other.token())).toBeUndefined();
  expect(await narrow.signIn.check(await narrow.one.token())).toMatchObject({ id: 'ada' });
  const wide = await openTwo();
  expect(await wide.signIn.check(await wide.other.token())).toMatchObject({ id: 'ada' });
});

test.each(['__proto__', 'constructor', '', null, 1, ['x'], { x: 1 }, undefined])(
  'B1 a token of the issuer %j is refused, and no issuer is asked',
  async (iss) => {
    const { one, other, signIn } = await openTwo();
    expect(await signIn.check(await one.token({ iss }))).toBeUndefined();
    expect([one.asked, other.asked]).toEqual([[], []]);
  },
);

test('B2 an issuer that cannot be reached does not affect callers of the other issuer', async () => {
  const { one, other, signIn } = await openTwo();
  one.documents.clear();
  one.answer = (_request, response) => void response.destroy();
  expect(await signIn.check(await one.token())).toBeUndefined();
  expect(await signIn.check(await other.token())).toMatchObject({ id: 'ada' });
});

test('a verified token is found in the cache, with several issuers as with one', async () => {
  const clock = createFakeClock(Date.now());
  const [one, other] = [await startIssuer(), await startIssuer()];
  const tenants = new MapIdentities('north', 'south');
  const issuers = [one, other].map(({ url }) => ({ issuer: url, audience }));
  const signIn = createJwtSignIn({ issuers, tenants, clock });
  for (const issuer of [one, other]) {
    const token = await issuer.token();
    const caller = await signIn.check(token);
    const [asked, lookups] = [issuer.asked.length, tenants.lookups];
    for (let i = 0; i < 100; i++) expect(signIn.check(token)).toBe(caller);
    expect([issuer.asked.length, tenants.lookups]).toEqual([asked, lookups]);
  }
});

test.each<[string, readonly IssuerOptions[]]>([
  ['no issuer', []],
  [
    'the same issuer twice',
    [
      { issuer: 'https://id.example', audience },
      { issuer: 'https://id.example', audience: 'x' },
    ],
  ],
  [
    'a tenant and a claim for it',
    [{ issuer: 'https://id.example', audience, tenant: 'a', tenantClaim: 'b' }],
  ],
  ['an empty tenant', [{ issuer: 'https://id.example', audience, tenant: '' }]],
])('%s is refused at setup', (_what, issuers) => {
  expect(() => createJwtSignIn({ issuers, tenants: new MapIdentities() })).toThrow(/issuers|tenant/);
});

test('a gateway names all of its issuers to clients, and the scopes that all of them need', async () => {
  const [one, other] = [await startIssuer(), await startIssuer()];
  const jwt = [
    { issuer: one.url, audience, tenant: 'north', requiredScopes: ['tools', 'more'] },
    { issuer: other.url, audience, tenant: 'south', requiredScopes: ['tools'] },
  ];
  const crib = await openCrib({
    config: { auth: { jwt }, server: { publicUrl: 'https://tools.example.com' } },
  });
  const host = 'tools.example.com';
  const path = '/.well-known/oauth-protected-resource';
  const { body } = await ask(crib, { method: 'GET', path, headers: { host } });
  expect(JSON.parse(body)).toMatchObject({
    authorization_servers: [one.url, other.url],
    scopes_supported: ['tools'],
  });
  const authorization = `Bearer ${await other.token()}`;
  expect((await ask(crib, { headers: { host, authorization } })).status).toBe(200);
});
