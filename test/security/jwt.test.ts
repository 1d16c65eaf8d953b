import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { exportJWK, exportSPKI, generateKeyPair, importJWK, jwtVerify, type CryptoKey } from 'jose';
import { expect, test } from 'vitest';
import type { FetchedDocument } from '../../src/auth/fetch-document.ts';
import type { IssuerOptions } from '../../src/auth/issuer.ts';
import { createJwtSignIn, type TokenParts } from '../../src/auth/jwt-sign-in.ts';
import type { CredentialSignIn } from '../../src/auth/sign-in.ts';
import { createFakeClock } from '../../src/testing.ts';
import { openCrib } from '../gateway.ts';
import { MapIdentities } from './identities.ts';
import { audience, sign, startIssuer, type Issuer } from './issuer.ts';
import { ask, keyed, type Keyed } from './keyed.ts';

interface SetUp {
  readonly issuer: Issuer;
  readonly tenants: MapIdentities;
  readonly signIn: CredentialSignIn;
}

async function setUp(options: Partial<IssuerOptions & TokenParts> = {}): Promise<SetUp> {
  const issuer = await startIssuer();
  const tenants = new MapIdentities('north', 'south');
  const jwks = `${issuer.url}/keys`;
  const signIn = createJwtSignIn({ issuer: issuer.url, audience, jwks, tenants, ...options });
  return { issuer, tenants, signIn };
}

const resource = { url: 'https://tools.example.com/mcp', authorizationServers: ['https://id.example.com'] };
const metadataUrl = 'https://tools.example.com/.well-known/oauth-protected-resource/mcp';

async function serve(options: Partial<IssuerOptions & TokenParts> = {}): Promise<SetUp & { target: Keyed }> {
  const parts = await setUp(options);
  return { ...parts, target: await keyed({ signIn: parts.signIn, resource }) };
}

const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const seconds = (): number => Math.floor(Date.now() / 1_000);

test('a token identifies its caller, tenant, scopes and roles', async () => {
  const { issuer, signIn } = await setUp();
  expect(await signIn.check(await issuer.token({ scope: 'b a', roles: ['support'] }))).toEqual({
    id: 'ada',
    tenant: { id: 'north', name: 'north', data: {} },
    scopes: ['a', 'b'],
    roles: ['support'],
  });
  expect(await signIn.check(await issuer.token({ scope: undefined, scp: ['c'] }))).toMatchObject({
    scopes: ['c'],
  });
});

test('tokens with the same rights give the same caller object, and a token with other rights gives another', async () => {
  const { issuer, signIn } = await setUp();
  const token = await issuer.token({ jti: '1' });
  const caller = await signIn.check(token);
  expect(signIn.check(token)).toBe(caller);
  expect(await signIn.check(await issuer.token({ jti: '2' }))).toBe(caller);
  expect(await signIn.check(await issuer.token({ scope: 'other' }))).not.toBe(caller);
  expect(await signIn.check(await issuer.token({ sub: 'bob' }))).toMatchObject({ id: 'bob' });
});

test.each(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'])(
  'a token signed with %s is accepted',
  async (alg) => {
    const issuer = await startIssuer(alg);
    const signIn = createJwtSignIn({ issuer: issuer.url, audience, tenants: new MapIdentities('north') });
    expect(await signIn.check(await issuer.token())).toMatchObject({ id: 'ada' });
  },
);

const now = seconds();
const wrong: readonly [what: string, claims: Record<string, unknown>, header?: Record<string, unknown>][] = [
  ['for another audience', { aud: 'https://other.example/mcp' }],
  ['without an audience', { aud: undefined }],
  ['for our address and a slash', { aud: `${audience}/` }],
  ['for an address that begins with ours', { aud: `${audience}.evil` }],
  ['for our address in capitals', { aud: audience.toUpperCase() }],
  ['for a list of other audiences', { aud: ['https://other.example/mcp', `${audience}/`] }],
  ['of another issuer', { iss: 'https://id.evil.example' }],
  ['of an issuer with a slash more', { iss: 'slash' }],
  ['without an issuer', { iss: undefined }],
  ['that has expired', { exp: now - 61 }],
  ['without an end', { exp: undefined }],
  ['that is not good yet', { nbf: now + 3_600 }],
  ['without a tenant', { tenant: undefined }],
  ['of an unknown tenant', { tenant: 'west' }],
  ['of a tenant called constructor', { tenant: 'constructor' }],
  ['whose tenant is a list', { tenant: ['north'] }],
  ['whose tenant is empty', { tenant: '' }],
  ['without a subject', { sub: undefined }],
  ['whose subject is empty', { sub: '' }],
  ['whose subject holds half a character', { sub: 'ada\ud800' }],
];

test.each(wrong)('B1 a token %s is refused', async (_what, claims) => {
  const { issuer, target } = await serve();
  const iss = claims['iss'] === 'slash' ? { iss: `${issuer.url}/` } : {};
  const { status, headers } = await ask(target, {
    headers: bearer(await issuer.token({ ...claims, ...iss })),
  });
  expect([status, headers['www-authenticate'], target.runs()]).toEqual([
    401,
    `Bearer error="invalid_token", resource_metadata="${metadataUrl}"`,
    0,
  ]);
});

test('B1 control: the same token without the fault is accepted', async () => {
  const { issuer, target } = await serve();
  expect((await ask(target, { headers: bearer(await issuer.token()) })).status).toBe(200);
  expect(target.runs()).toBe(1);
});

test('B1 a tenant whose name has an unpaired surrogate is refused, even if a similar tenant exists', async () => {
  const issuer = await startIssuer();
  const tenants = new MapIdentities('north\ud800', 'north\ufffd');
  const signIn = createJwtSignIn({ issuer: issuer.url, audience, tenants });
  expect(await signIn.check(await issuer.token({ tenant: 'north\ud800' }))).toBeUndefined();
  expect(await signIn.check(await issuer.token({ tenant: 'north\ufffd' }))).toMatchObject({ id: 'ada' });
});

test('B1 control: a check without the audience accepts a token for another server', async () => {
  const { issuer } = await setUp();
  const token = await issuer.token({ aud: 'https://other.example/mcp' });
  const key = await importJWK(issuer.publicKey, 'ES256');
  expect((await jwtVerify(token, key, { issuer: issuer.url })).payload.sub).toBe('ada');
});

test('B1 a token for several audiences is accepted if one of them is this server', async () => {
  const { issuer, signIn } = await setUp();
  expect(await signIn.check(await issuer.token({ aud: ['https://other.example', audience] }))).toMatchObject({
    id: 'ada',
  });
});

test('B1 an ID token is refused where access tokens are marked as such', async () => {
  const { issuer, signIn } = await setUp({ typ: 'at+jwt' });
  expect(await signIn.check(await issuer.token({}, { typ: 'JWT' }))).toBeUndefined();
  expect(await signIn.check(await issuer.token())).toBeUndefined();
  expect(await signIn.check(await issuer.token({}, { typ: 'at+jwt' }))).toMatchObject({ id: 'ada' });
});

test('B1 a token that another issuer signed with a key of the same name is refused', async () => {
  const { issuer, signIn } = await setUp();
  const other = await startIssuer();
  expect(await signIn.check(await other.token({ iss: issuer.url }))).toBeUndefined();
  expect(await signIn.check(await other.token())).toBeUndefined();
});

test('B1 the challenge for a token without enough scopes names exactly the missing scopes', async () => {
  const { issuer, target } = await serve({ requiredScopes: ['tools', 'audit', 'more'] });
  const { status, headers } = await ask(target, { headers: bearer(await issuer.token({ scope: 'tools' })) });
  expect([status, headers['www-authenticate'], target.runs()]).toEqual([
    403,
    `Bearer error="insufficient_scope", scope="audit more", resource_metadata="${metadataUrl}"`,
    0,
  ]);
  const enough = await issuer.token({ scope: 'more audit tools' });
  expect((await ask(target, { headers: bearer(enough) })).status).toBe(200);
});

test('B1 a request without a token is told where to get one, without an error code', async () => {
  const { target } = await serve();
  const { status, headers } = await ask(target);
  expect([status, headers['www-authenticate']]).toEqual([401, `Bearer resource_metadata="${metadataUrl}"`]);
});

test('B1 the challenge of a gateway names the scopes that a token must have', async () => {
  const issuer = await startIssuer();
  const jwt = { issuer: issuer.url, audience, jwks: `${issuer.url}/jwks`, requiredScopes: ['tools', 'more'] };
  const crib = await openCrib({
    config: { auth: { jwt }, server: { publicUrl: 'https://tools.example.com' } },
  });
  const host = 'tools.example.com';
  const told = async (headers: Record<string, string>): Promise<unknown[]> => {
    const { status, headers: answered } = await ask(crib, { headers: { host, ...headers } });
    return [status, answered['www-authenticate']];
  };
  const wanted = `scope="tools more", resource_metadata="${metadataUrl}"`;
  expect(await told({})).toEqual([401, `Bearer ${wanted}`]);
  expect(await told(bearer('wrong'))).toEqual([401, `Bearer error="invalid_token", ${wanted}`]);
});

test('B1 when a tenant is disabled, its valid tokens are refused', async () => {
  const { issuer, signIn, tenants } = await setUp();
  const token = await issuer.token();
  expect(await signIn.check(token)).toBeDefined();
  tenants.putTenant({ id: 'north', disabled: true });
  expect(await signIn.check(token)).toBeUndefined();
});

test('a cached token is refused once it has expired', async () => {
  const clock = createFakeClock(Date.now());
  const { issuer, signIn } = await setUp({ clock, clockToleranceSeconds: 0 });
  const token = await issuer.token();
  expect(await signIn.check(token)).toBeDefined();
  clock.advance(601_000);
  expect(await signIn.check(token)).toBeUndefined();
});

test('B2 a token that says it is not signed is refused, and the issuer is not asked', async () => {
  const { issuer, signIn } = await setUp();
  const [, payload] = (await issuer.token()).split('.');
  for (const alg of ['none', 'None', 'NONE', 'nOnE', 'HS256', 'HS512', 'RS1', '', undefined]) {
    for (const signature of ['', 'AA']) {
      const token = `${encode({ alg, kid: 'one' })}.${payload}.${signature}`;
      expect(await signIn.check(token)).toBeUndefined();
    }
  }
  expect(issuer.fetches()).toBe(0);
});

test('B2 a token signed with the public key as a shared secret is refused', async () => {
  const { issuer, signIn } = await setUp();
  const pem = await exportSPKI(
    (await importJWK(issuer.publicKey, 'ES256', { extractable: true })) as CryptoKey,
  );
  const [, payload] = (await issuer.token()).split('.');
  for (const secret of [pem, JSON.stringify(issuer.publicKey)]) {
    const signed = `${encode({ alg: 'HS256', kid: 'one' })}.${payload}`;
    const token = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
    expect(await signIn.check(token)).toBeUndefined();
    // A check that lets the token choose the algorithm is fooled by it, so this test can fail.
    expect((await jwtVerify(token, Buffer.from(secret))).payload.sub).toBe('ada');
  }
});

test('B2 a shared secret that the issuer publishes by mistake is not accepted as a key', async () => {
  const { issuer, signIn } = await setUp();
  const secret = Buffer.alloc(32, 7);
  issuer.publish([
    issuer.publicKey,
    { kty: 'oct', kid: 'two', alg: 'HS256', k: secret.toString('base64url') },
  ]);
  for (const kid of ['two', 'one', undefined]) {
    const token = await sign(secret, { iss: issuer.url }, { alg: 'HS256', ...(kid && { kid }) });
    expect(await signIn.check(token)).toBeUndefined();
    // A check that lets the token choose the algorithm is fooled by it, so this test can fail.
    expect((await jwtVerify(token, secret)).payload.sub).toBe('ada');
  }
  expect(await signIn.check(await issuer.token())).toMatchObject({ id: 'ada' });
});

test('B2 a key of 512 bits is not accepted', async () => {
  const { issuer, signIn } = await setUp();
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 512 });
  issuer.publish([
    { ...(publicKey.export({ format: 'jwk' }) as object), kty: 'RSA', kid: 'weak', alg: 'RS256' },
  ]);
  const { createSign } = await import('node:crypto');
  const [, payload] = (await issuer.token()).split('.');
  const signed = `${encode({ alg: 'RS256', kid: 'weak' })}.${payload}`;
  const signature = createSign('sha256').update(signed).sign(privateKey).toString('base64url');
  expect(await signIn.check(`${signed}.${signature}`)).toBeUndefined();
});

test('B2 a signature of zeros or of the wrong length is refused', async () => {
  const { issuer, signIn } = await setUp();
  const [header, payload] = (await issuer.token()).split('.');
  for (const length of [64, 63, 65, 1, 0, 72]) {
    expect(
      await signIn.check(`${header}.${payload}.${Buffer.alloc(length).toString('base64url')}`),
    ).toBeUndefined();
  }
});

test('B2 a cached token is refused with another signature, and still accepted with its own', async () => {
  const { issuer, signIn } = await setUp();
  const token = await issuer.token();
  const caller = await signIn.check(token);
  const [header, payload, signature] = token.split('.');
  const other = `${header}.${payload}.${signature!.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))}`;
  expect(await signIn.check(other)).toBeUndefined();
  expect(await signIn.check(`${header}.${payload}.AAAA`)).toBeUndefined();
  expect(signIn.check(token)).toBe(caller);
});

test('B2 a token cannot choose where its key is fetched', async () => {
  const { issuer, signIn } = await setUp();
  const evil = await startIssuer();
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = await exportJWK(publicKey);
  evil.publish([{ ...jwk, kid: 'one' }]);
  for (const pointer of [
    { jwk },
    { jku: `${evil.url}/jwks.json` },
    { x5u: `${evil.url}/cert.pem` },
    { x5c: ['AAAA'] },
  ]) {
    const token = await sign(privateKey, { iss: issuer.url }, { alg: 'ES256', kid: 'one', ...pointer });
    expect(await signIn.check(token)).toBeUndefined();
  }
  expect(evil.fetches()).toBe(0);
});

test('B2 a token with a "crit" header is refused', async () => {
  const { issuer, signIn } = await setUp();
  const [, payload] = (await issuer.token()).split('.');
  for (const crit of [['exp'], ['b64'], [], 'x', [1]]) {
    const token = `${encode({ alg: 'ES256', kid: 'one', crit, b64: true })}.${payload}.AAAA`;
    expect(await signIn.check(token)).toBeUndefined();
  }
  expect(issuer.fetches()).toBe(0);
});

test.each([
  ['a path', '../../x'],
  ['SQL', "' OR 1=1; --"],
  ['ten kilobytes', 'k'.repeat(10_000)],
  ['a magic name', '__proto__'],
  ['an object', { a: 1 }],
  ['a number', 1],
])('B2 a key id that is %s finds no key', async (_what, kid) => {
  const { issuer, signIn } = await setUp();
  expect(await signIn.check(await issuer.token({}, { kid }))).toBeUndefined();
  expect(await signIn.check(await issuer.token())).toMatchObject({ id: 'ada' });
});

test('B2 ten thousand invented key ids cause one request to the issuer', async () => {
  const { issuer, signIn } = await setUp();
  const [, payload, signature] = (await issuer.token()).split('.');
  for (let i = 0; i < 10_000; i += 500) {
    const tokens = Array.from(
      { length: 500 },
      () => `${encode({ alg: 'ES256', kid: randomUUID() })}.${payload}.${signature}`,
    );
    const named = await Promise.all(tokens.map(async (token) => signIn.check(token)));
    expect(named.filter(Boolean)).toEqual([]);
  }
  expect(issuer.fetches()).toBe(1);
});

test('B2 a new key of the issuer is found, with at most one request in thirty seconds', async () => {
  const clock = createFakeClock(Date.now());
  const { issuer, signIn } = await setUp({ clock });
  expect(await signIn.check(await issuer.token())).toBeDefined();
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  issuer.publish([issuer.publicKey, { ...(await exportJWK(publicKey)), kid: 'two', alg: 'ES256' }]);
  const token = await sign(privateKey, { iss: issuer.url }, { alg: 'ES256', kid: 'two' });
  expect(await signIn.check(token)).toBeUndefined();
  clock.advance(29_900);
  expect(await signIn.check(token)).toBeUndefined();
  expect(issuer.fetches()).toBe(1);
  clock.advance(100);
  expect(await signIn.check(token)).toMatchObject({ id: 'ada' });
  expect(issuer.fetches()).toBe(2);
});

test('B2 a key that the issuer withdrew is accepted for an hour at most', async () => {
  const clock = createFakeClock(Date.now());
  const { issuer, signIn } = await setUp({ clock, clockToleranceSeconds: 60 });
  issuer.answer = (_request, response) =>
    response
      .setHeader('cache-control', 'max-age=999999999')
      .end(JSON.stringify({ keys: [issuer.publicKey] }));
  const claims = { exp: seconds() + 100_000 };
  const seen = await issuer.token({ ...claims, jti: '1' });
  expect(await signIn.check(seen)).toBeDefined();
  issuer.answer = (_request, response) => response.end('{"keys":[]}');
  clock.advance(3_600_000);
  expect(await signIn.check(seen)).toBeUndefined();
  expect(await signIn.check(await issuer.token({ ...claims, jti: '2' }))).toBeUndefined();
});

test('B2 a cached token is refused as soon as its key is no longer published', async () => {
  const clock = createFakeClock(Date.now());
  const { issuer, signIn } = await setUp({ clock });
  const token = await issuer.token({ exp: seconds() + 100_000 });
  const caller = await signIn.check(token);
  issuer.publish([]);
  clock.advance(500_000);
  // While the keys are still valid no call waits: new ones are read in the background.
  expect(signIn.check(token)).toBe(caller);
  await expect.poll(() => signIn.check(token)).toBeUndefined();
});

test('a cached token needs no new check while the issuer publishes the same keys', async () => {
  const clock = createFakeClock(Date.now());
  let reads = 0;
  const fetch = async (): Promise<FetchedDocument> => {
    reads++;
    return { text: JSON.stringify({ keys: [issuer.publicKey] }), maxAgeSeconds: 600 };
  };
  const { issuer, signIn } = await setUp({ clock, fetch });
  const token = await issuer.token({ exp: seconds() + 100_000 });
  const caller = await signIn.check(token);
  for (let i = 0; i < 5; i++) {
    clock.advance(500_000);
    expect(signIn.check(token)).toBe(caller);
    await new Promise(setImmediate);
  }
  expect(reads).toBe(6);
});

test('B2 while the issuer cannot be reached, cached tokens are accepted only as long as its keys are', async () => {
  const clock = createFakeClock(Date.now());
  const { issuer, signIn } = await setUp({ clock });
  const token = await issuer.token({ exp: seconds() + 100_000 });
  const caller = await signIn.check(token);
  issuer.answer = (_request, response) => void response.destroy();
  clock.advance(599_000);
  expect(signIn.check(token)).toBe(caller);
  clock.advance(1_000);
  expect(await signIn.check(token)).toBeUndefined();
  issuer.answer = undefined;
  clock.advance(1_000);
  expect(await signIn.check(token)).toBe(caller);
});

type Answers = (response: ServerResponse, keys: string, request: IncomingMessage) => void;

// The keys themselves are correct in every case, so that each refusal has the reason of its line.
test.each<[string, Answers]>([
  [
    'redirects',
    (response, keys, { headers }) =>
      response.writeHead(302, { location: `http://${headers.host}/other` }).end(keys),
  ],
  ['answers with an error', (response, keys) => response.writeHead(500).end(keys)],
  ['answers with part of its keys', (response, keys) => response.writeHead(206).end(keys)],
  ['answers with text', (response) => response.end('<html>')],
  ['answers with no keys', (response) => response.end('{}')],
  ['answers with null keys', (response, keys) => response.end(keys.replace('[', '[null,'))],
  [
    'answers with more than a hundred keys',
    (response, keys) => response.end(keys.replace('[', `[${'{"kty":"EC"},'.repeat(100)}`)),
  ],
  [
    'compresses its keys',
    (response, keys) => response.setHeader('content-encoding', 'gzip').end(gzipSync(keys)),
  ],
  [
    'says that its keys are compressed',
    (response, keys) => response.setHeader('content-encoding', 'gzip').end(keys),
  ],
  ['answers without end', (response, keys) => response.end(keys + ' '.repeat(300_000))],
  ['hangs up', (response) => void response.destroy()],
])('B2 tokens are refused if their issuer %s', async (_what, answer) => {
  const { issuer, signIn } = await setUp();
  issuer.answer = (request, response) =>
    answer(response, JSON.stringify({ keys: [issuer.publicKey] }), request);
  expect(await signIn.check(await issuer.token())).toBeUndefined();
  expect(issuer.fetches()).toBe(1);
});

test('B2 control: an issuer that answers with the same keys, up to the limit, has its tokens accepted', async () => {
  const { issuer, signIn } = await setUp();
  issuer.answer = (_request, response) => {
    const keys = [...Array.from({ length: 99 }, () => ({ kty: 'EC' })), issuer.publicKey];
    response.end(JSON.stringify({ keys }).padEnd(262_144));
  };
  expect(await signIn.check(await issuer.token())).toMatchObject({ id: 'ada' });
});

test('A7 the keys are requested without compression', async () => {
  const { issuer, signIn } = await setUp();
  let encoding: unknown;
  issuer.answer = (request, response) => {
    encoding = request.headers['accept-encoding'];
    response.end('{"keys":[]}');
  };
  await signIn.check(await issuer.token());
  expect(encoding).toBe('identity');
});

test.each<[string, Partial<IssuerOptions & TokenParts>, string]>([
  ['a symmetric algorithm', { algorithms: ['RS256', 'HS256'] }, 'HS256'],
  ['no signature', { algorithms: ['none'] }, 'none'],
  ['no audience', { audience: '' }, 'audience'],
  ['an empty list of audiences', { audience: [] }, 'audience'],
  ['an issuer over plain HTTP', { issuer: 'http://id.example.com' }, 'https'],
  ['keys over plain HTTP', { jwks: 'http://id.example.com/keys' }, 'https'],
  ['keys in a file', { jwks: 'file:///etc/keys.json' }, 'https'],
])('B2 %s is refused at setup', (_what, change, said) => {
  const good = { issuer: 'https://id.example.com', audience, tenants: new MapIdentities() };
  expect(() => createJwtSignIn({ ...good, ...change })).toThrow(said);
});
