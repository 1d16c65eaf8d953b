import { expect, test } from 'vitest';
import { createApiKey } from '../../src/auth/api-key.ts';
import { createJwtSignIn } from '../../src/auth/jwt-sign-in.ts';
import { createKeySignIn } from '../../src/auth/key-sign-in.ts';
import { refusalLimits } from '../../src/auth/refused-sign-ins.ts';
import { combine, type RequestHead, type SignIn } from '../../src/auth/sign-in.ts';
import { createFakeClock } from '../../src/testing.ts';
import { openCrib } from '../gateway.ts';
import { MapIdentities, pepper } from './identities.ts';
import { audience, startIssuer } from './issuer.ts';
import { ask } from './keyed.ts';

interface Entry {
  readonly level: string;
  readonly message: string;
  readonly facts: unknown;
}

async function setUp() {
  const clock = createFakeClock(Date.now());
  const identities = new MapIdentities('north', 'south');
  const issuer = await startIssuer();
  const entries: Entry[] = [];
  const log = (level: string, message: string, facts?: unknown): void =>
    void entries.push({ level, message, facts });
  const signIn = combine(
    [
      createKeySignIn({ identities, pepper, clock, log }),
      createJwtSignIn({ issuer: issuer.url, audience, tenants: identities, clock, log, typ: 'at+jwt' }),
    ],
    { clock, log },
  );
  /** What the log says of a request that is refused. */
  const told = async (headers: RequestHead['headers'], target = '/mcp'): Promise<string> => {
    const before = entries.length;
    expect(await signIn.authenticate({ target, headers })).toBeUndefined();
    await expect.poll(() => entries.length).toBe(before + 1);
    clock.advance(refusalLimits.windowMs);
    return entries.at(-1)!.message;
  };
  return { clock, identities, issuer, entries, signIn, told, log };
}

const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });

test('the log says what is wrong with a key', async () => {
  const { identities, told, clock } = await setUp();
  const since = new Date(clock.now()).toISOString();
  const add = (record: object): string => identities.addKey({ id: 'key_7', ...record });
  const key = add({});
  expect(await told(bearer(createApiKey()))).toBe('Sign-in refused: key: unknown key.');
  expect(await told({ 'x-api-key': createApiKey() })).toBe('Sign-in refused: key: unknown key.');
  expect(await told(bearer(`${key.slice(0, -1)}!`))).toContain(
    'Authorization is not "Bearer" and one credential',
  );
  expect(await told(bearer(key.slice(0, -1)))).toContain('key: it is mistyped or cut off');
  expect(await told(bearer(add({ revokedAt: clock.now() })))).toContain('key_7 was revoked at 20');
  expect(await told(bearer(add({ expiresAt: Date.parse(since) })))).toContain(`key_7 expired at ${since}`);
  expect(await told(bearer(add({ tenant: 'west' })))).toContain('of a tenant that is gone, west');
  identities.putTenant({ id: 'south', disabled: true });
  expect(await told(bearer(add({ tenant: 'south' })))).toContain('of a tenant that is disabled, south');
});

test('the log says what is wrong with a token', async () => {
  const { issuer, identities, told, clock } = await setUp();
  const at = { typ: 'at+jwt' };
  const tell = async (
    claims: Record<string, unknown>,
    header: Record<string, unknown> = at,
  ): Promise<string> =>
    (await told(bearer(await issuer.token(claims, header)))).replace('Sign-in refused: token: ', '');
  const seconds = Math.floor(clock.now() / 1_000);
  expect(await tell({ aud: 'https://other.example' })).toBe(
    `audience is "https://other.example", wanted "${audience}".`,
  );
  expect(await tell({ iss: 'https://id.evil.example' })).toBe(
    `issuer is "https://id.evil.example", wanted "${issuer.url}".`,
  );
  expect(await tell({ exp: seconds - 100 })).toMatch(/^expired at 20.*Z\.$/);
  expect(await tell({ nbf: seconds + 3_600 })).toMatch(/^not good before 20.*Z\.$/);
  expect(await tell({ exp: undefined })).toBe('its claim exp is missing.');
  expect(await tell({ tenant: undefined })).toContain('no tenant claim: tenant is not a text');
  expect(await tell({ sub: 7 })).toContain('no caller claim: sub is not a text');
  expect(await tell({ tenant: 'west' })).toBe('there is no tenant "west".');
  expect(await tell({}, { typ: 'JWT' })).toBe('type is "JWT", wanted "at+jwt".');
  expect(await tell({}, { ...at, kid: 'two' })).toBe('its issuer has no key "two" for "ES256".');
  identities.putTenant({ id: 'north', disabled: true });
  expect(await tell({})).toBe('its tenant "north" is disabled.');
  const [head, body] = (await issuer.token({}, at)).split('.');
  expect(await told(bearer(`${head}.${body}.${'A'.repeat(86)}`))).toContain("not made with the issuer's key");
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  expect(await told(bearer(`${none}.${body}.AA`))).toContain('signed with "none", wanted RS256, PS256');
  expect(await told(bearer('abc'))).toContain('it is neither a key nor a token');
});

test('the log says that the keys of an issuer cannot be read', async () => {
  const { issuer, signIn, entries } = await setUp();
  issuer.documents.set('/.well-known/openid-configuration', { issuer: 'https://other.example' });
  await signIn.authenticate({ target: '/mcp', headers: bearer(await issuer.token()) });
  await expect.poll(() => entries.map(({ message }) => message)).toHaveLength(2);
  expect(entries[0]).toMatchObject({
    level: 'error',
    message: `The keys of ${issuer.url} cannot be read, so its tokens are refused.`,
    facts: { cause: { message: expect.stringContaining('about another issuer') } },
  });
  expect(entries[1]!.message).toContain('token: the keys of its issuer cannot be read');
});

test('the log says that there is no credential, or one too many', async () => {
  const { identities, entries, told } = await setUp();
  const key = identities.addKey();
  expect(await told({})).toBe('Sign-in refused: no credential was sent.');
  expect(entries.at(-1)!.level).toBe('info');
  expect(await told({ ...bearer(key), 'x-api-key': key })).toContain('there are two');
  expect(entries.at(-1)!.level).toBe('warn');
  expect(await told({}, `/mcp?api_key=${key}`)).toContain('a credential is in the address');
  expect(await told({ authorization: 'Basic YTpi' })).toContain('Authorization is not "Bearer"');
  expect(await told({ 'x-api-key': 'secret' })).toContain('X-API-Key holds no key');
});

test('the log says when a kind of credential is not accepted', async () => {
  const { identities, entries, log, clock } = await setUp();
  const only = combine([createKeySignIn({ identities, pepper, clock })], { log, clock });
  expect(await only.authenticate({ target: '/mcp', headers: bearer('a.b.c') })).toBeUndefined();
  await expect.poll(() => entries.at(-1)?.message).toBe('Sign-in refused: token: none is taken here.');
});

test('an accepted caller leaves no log entry', async () => {
  const { identities, issuer, entries, signIn } = await setUp();
  const token = await issuer.token({}, { typ: 'at+jwt' });
  for (const credential of [identities.addKey(), token, token])
    expect(await signIn.authenticate({ target: '/mcp', headers: bearer(credential) })).toBeDefined();
  await new Promise(setImmediate);
  expect(entries).toEqual([]);
});

async function flood(signIn: SignIn, headers: RequestHead['headers'], count: number): Promise<void> {
  for (let i = 0; i < count; i++) await signIn.authenticate({ target: '/mcp', headers });
  await new Promise(setImmediate);
}

test('a flood of one kind of failure makes a few log entries in ten seconds, is counted, and hides no other kind', async () => {
  const { clock, identities, entries, signIn, told } = await setUp();
  await flood(signIn, bearer(createApiKey()), 1_000);
  expect(entries).toHaveLength(refusalLimits.entries);
  // The reasons of those without an entry are not looked up.
  const lookups = identities.lookups;
  await flood(signIn, bearer(`tck_${'x'.repeat(36)}`), 100);
  expect([entries.length, identities.lookups]).toEqual([refusalLimits.entries, lookups]);
  expect(await told(bearer('a.b.c'))).toContain('token: ');
  clock.advance(refusalLimits.windowMs);
  await flood(signIn, bearer(createApiKey()), 1);
  expect(entries.at(-1)!.facts).toEqual({ alsoRefused: 1_095 });
});

test('C2 no credential is in the log, whatever is wrong with it', async () => {
  const { identities, issuer, entries, signIn, clock } = await setUp();
  const key = identities.addKey({ revokedAt: 1 });
  const tokens = await Promise.all(
    [{}, { aud: 'x' }, { exp: 1 }, { tenant: 'west' }].map((claims) => issuer.token(claims)),
  );
  for (const credential of [key, `${key}x`, createApiKey(), 'opaque-secret-value', ...tokens]) {
    for (const headers of [bearer(credential), { 'x-api-key': credential }, { authorization: credential }])
      await flood(signIn, headers, 1);
    await signIn.authenticate({ target: `/mcp?access_token=${credential}`, headers: {} });
    clock.advance(refusalLimits.windowMs);
  }
  await expect.poll(() => entries.length).toBe(32);
  const text = JSON.stringify(entries);
  expect(text).not.toMatch(/opaque-secret-value/);
  for (const credential of [key, ...tokens.flatMap((token) => token.split('.').slice(1))])
    expect(text).not.toContain(credential.slice(0, 20));
});

test('C2 text of a token is logged short, quoted and without control characters', async () => {
  const { issuer, told } = await setUp();
  const iss = `https://x\u001b[2J\n{"level":"error"}\u202e${'y'.repeat(1_000)}`;
  const message = await told(bearer(await issuer.token({ iss })));
  // oxlint-disable-next-line no-control-regex -- that is what must not be there
  expect(message).not.toMatch(/[\u0000-\u001f\u202e]/);
  expect(message.length).toBeLessThan(400);
});

test('a store that does not answer leaves a log entry without a reason, and delays no request', async () => {
  const { identities, entries, signIn, clock } = await setUp();
  identities.findKey = () => new Promise(() => {});
  const refused = signIn.authenticate({ target: '/mcp', headers: bearer(createApiKey()) });
  clock.advance(3_000);
  expect(await refused).toBeUndefined();
  await new Promise(setImmediate);
  clock.advance(refusalLimits.reasonMs);
  await expect.poll(() => entries.at(-1)?.message).toContain('why could not be found out');
});

test('a gateway logs the reason, and the client gets no more than before', async () => {
  const crib = await openCrib();
  const { status, headers, body } = await ask(crib, { headers: bearer(createApiKey()) });
  expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer error="invalid_token"']);
  expect(body).not.toContain('unknown key');
  await expect
    .poll(() => crib.logged.map(({ message }) => message))
    .toContain('Sign-in refused: key: unknown key.');
});
