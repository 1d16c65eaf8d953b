import { createHash } from 'node:crypto';
import {
  calculateJwkThumbprint,
  decodeJwt,
  decodeProtectedHeader,
  exportPKCS8,
  generateKeyPair,
  importJWK,
  jwtVerify,
} from 'jose';
import { expect, test } from 'vitest';
import { startPeer, type Seen } from '../../../test/authorization-server.ts';
import { protectedCall, startSite, type Site } from '../../../test/sign-in-site.ts';
import { createFakeClock } from '../../testing.ts';
import { memoryCredentials } from './credential-store.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

test('a program signs in with its private key, without a person', async () => {
  const { authority, url, signIn } = await startSite();
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  authority.metadata = { token_endpoint_auth_methods_supported: ['private_key_jwt'] };
  const client = { id: 'robot', privateKey: await exportPKCS8(privateKey) };
  const grant = { kind: 'client_credentials' } as const;
  expect(await protectedCall(signIn({ client, grant }), url)).toBe(200);
  const [{ form }] = authority.at('/token') as [Seen];
  expect(Object.fromEntries(form)).toMatchObject({ grant_type: 'client_credentials', resource: url });
  const { payload } = await jwtVerify(form.get('client_assertion')!, publicKey, { audience: authority.url });
  expect(payload).toMatchObject({ iss: 'robot', sub: 'robot' });
  expect(authority.at('/authorize')).toEqual([]);
});

test.each([
  ['client_secret_basic', (seen: Seen) => seen.headers.authorization === basic('me:a%2Fb+c-d')],
  ['client_secret_post', (seen: Seen) => seen.form.get('client_secret') === 'a/b c-d'],
])('a client secret is sent by %s where the server requires it', async (method, isRight) => {
  const { authority, url, signIn } = await startSite();
  authority.metadata = { token_endpoint_auth_methods_supported: [method] };
  const client = { id: 'me', secret: 'a/b c-d' };
  const one = signIn({ client, grant: { kind: 'client_credentials' }, issuer: authority.url });
  expect(await protectedCall(one, url)).toBe(200);
  expect(authority.at('/token').map(isRight)).toEqual([true]);
});

test('a token without a person is renewed before it expires', async () => {
  const { authority, url, signIn } = await startSite();
  const clock = createFakeClock();
  authority.granted = { refresh_token: undefined };
  const client = { id: 'me', secret: 'hush' };
  authority.metadata = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
  const one = signIn({ client, grant: { kind: 'client_credentials' }, issuer: authority.url, clock });
  expect(await protectedCall(one, url)).toBe(200);
  clock.advance(3_545_000);
  expect(await one.headers({ url, method: 'POST' })).toEqual({
    authorization: `Bearer ${authority.tokens[1]}`,
  });
  expect(authority.at('/token')).toHaveLength(2);
});

test('a workload presents the token of its platform, and a refusal is final', async () => {
  const { authority, url, signIn } = await startSite();
  const asked: string[] = [];
  const assertion = (issuer: string): string => {
    asked.push(issuer);
    return 'token-of-the-platform';
  };
  const grant = { kind: 'workload', assertion } as const;
  expect(await protectedCall(signIn({ grant, issuer: authority.url }), url)).toBe(200);
  const [{ form }] = authority.at('/token') as [Seen];
  expect(Object.fromEntries(form)).toEqual({
    grant_type: JWT_BEARER,
    assertion: 'token-of-the-platform',
    resource: url,
  });
  expect(asked).toEqual([authority.url]);

  authority.answers.set('/token', () => ({
    status: 400,
    body: { error: 'unauthorized_client', error_description: 'not \u001b[31myou' },
  }));
  await expect(protectedCall(signIn({ grant, issuer: authority.url }), url)).rejects.toThrow(
    'unauthorized_client (not ?[31myou)',
  );
  expect(authority.at('/token')).toHaveLength(2);
});

test('with an identity provider of the organisation, an ID token is exchanged for an assertion', async () => {
  const { authority, url, signIn } = await startSite();
  const jag = { access_token: 'the-assertion', token_type: 'N_A', issued_token_type: '' };
  const provider = await startPeer(() => ({ body: jag }));
  const grant = {
    kind: 'enterprise',
    provider: { tokenEndpoint: `${provider.url}/token`, clientId: 'at-the-provider' },
    idToken: () => 'the-id-token',
  } as const;
  const options = { client: { id: 'me' }, issuer: authority.url, grant };
  await expect(protectedCall(signIn(options), url)).rejects.toThrow('another kind');
  expect(authority.at('/token')).toEqual([]);

  jag.issued_token_type = 'urn:ietf:params:oauth:token-type:id-jag';
  expect(await protectedCall(signIn(options), url)).toBe(200);
  expect(Object.fromEntries(provider.seen.at(-1)!.form)).toMatchObject({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience: authority.url,
    resource: url,
    subject_token: 'the-id-token',
    client_id: 'at-the-provider',
  });
  expect(authority.at('/token')[0]!.form.get('assertion')).toBe('the-assertion');
});

async function startBoundSite(): Promise<Site & { readonly proofs: Seen[] }> {
  const site = await startSite();
  const { authority, server } = site;
  authority.metadata = { dpop_signing_alg_values_supported: ['ES256'] };
  authority.granted = { token_type: 'DPoP' };
  const metadata = `${server.url}/.well-known/oauth-protected-resource/mcp`;
  server.challenge = `DPoP resource_metadata="${metadata}"`;
  authority.answers.set('/token', ({ headers }) =>
    decodeJwt(String(headers['dpop']))['nonce'] === 'as-nonce'
      ? undefined
      : { status: 400, headers: { 'dpop-nonce': 'as-nonce' }, body: { error: 'use_dpop_nonce' } },
  );
  const proofs: Seen[] = [];
  server.answers.set('/mcp', (seen) => {
    if (seen.headers.authorization !== `DPoP ${authority.tokens.at(-1)}`) return undefined;
    proofs.push(seen);
    if (decodeJwt(String(seen.headers['dpop']))['nonce'] === 'rs-nonce') return { status: 200 };
    const challenge = `DPoP error="use_dpop_nonce", resource_metadata="${metadata}"`;
    return { status: 401, headers: { 'www-authenticate': challenge, 'dpop-nonce': 'rs-nonce' } };
  });
  return { ...site, proofs };
}

test('a token is bound to a key where the server requires it, and every request has a new proof', async () => {
  const { authority, url, signIn, proofs } = await startBoundSite();
  const store = memoryCredentials();
  const one = signIn({ store });
  expect(await protectedCall(one, url)).toBe(200);
  expect(await protectedCall(one, url)).toBe(200);
  expect(await protectedCall(signIn({ store }), url)).toBe(200);
  expect(authority.at('/authorize')).toHaveLength(1);
  const jkt = authority.at('/authorize')[0]!.form.get('dpop_jkt');

  const ids = new Set<unknown>();
  for (const { headers } of proofs) {
    const proof = String(headers['dpop']);
    const { jwk } = decodeProtectedHeader(proof);
    const { payload } = await jwtVerify(proof, await importJWK(jwk!, 'ES256'));
    expect(payload).toMatchObject({
      htm: 'POST',
      htu: url,
      ath: createHash('sha256').update(authority.tokens[0]!).digest('base64url'),
      content_digest: `sha-256=:${createHash('sha256').update('{}').digest('base64')}:`,
    });
    expect(await calculateJwkThumbprint(jwk!)).toBe(jkt);
    expect(jwk).not.toHaveProperty('d');
    ids.add(payload.jti);
  }
  expect(ids.size).toBe(proofs.length);
});

test('a token without a binding is not used where a bound one is required', async () => {
  const { authority, url, signIn } = await startBoundSite();
  authority.granted = { token_type: 'Bearer' };
  await expect(protectedCall(signIn(), url)).rejects.toThrow('not bound');
  authority.metadata = {};
  await expect(protectedCall(signIn(), url)).rejects.toThrow('gives none');
});

test('an invalid setup is refused at once', async () => {
  const { signIn } = await startSite();
  expect(() => signIn({ server: 'ftp://example.com' })).toThrow('https://');
  expect(() => signIn({ grant: { kind: 'client_credentials' } })).toThrow('registered client');
  expect(() => signIn({ clientMetadataUrl: 'https://example.com' })).toThrow('with a path');
});

function basic(pair: string): string {
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}
