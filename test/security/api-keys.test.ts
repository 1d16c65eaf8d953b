import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createApiKey } from '../../src/auth/api-key.ts';
import { createKeySignIn } from '../../src/auth/key-sign-in.ts';
import { createFakeClock } from '../../src/testing.ts';
import { MapIdentities, pepper } from './identities.ts';
import { ask, keyed } from './keyed.ts';

const bearer = (key: string): { authorization: string } => ({ authorization: `Bearer ${key}` });

function setUp(identities = new MapIdentities('north', 'south')) {
  const clock = createFakeClock();
  const logged: string[] = [];
  const signIn = createKeySignIn({
    identities,
    pepper,
    clock,
    log: (level, message) => logged.push(`${level} ${message}`),
  });
  return { clock, identities, signIn, logged };
}

test('a key identifies its caller, tenant and rights, always as the same frozen object', async () => {
  const { identities, signIn } = setUp();
  const key = identities.addKey({ id: 'k1', scopes: ['tools'], roles: ['support'] });
  const caller = await signIn.check(key);
  expect(caller).toEqual({
    id: 'ada',
    tenant: { id: 'north', name: 'north', data: {} },
    scopes: ['tools'],
    roles: ['support'],
    credential: 'k1',
  });
  expect(signIn.check(key)).toBe(caller);
  expect(identities.lookups).toBe(1);
  expect(Object.isFrozen(caller) && Object.isFrozen(caller?.tenant) && Object.isFrozen(caller?.roles)).toBe(
    true,
  );
});

test('two keys of one caller have different credential ids', async () => {
  const { identities, signIn } = setUp();
  const [one, two] = [await signIn.check(identities.addKey()), await signIn.check(identities.addKey())];
  expect(one?.id).toBe(two?.id);
  expect(one?.credential).not.toBe(two?.credential);
});

test('B8 a hundred thousand keys with a wrong checksum cause no lookup', () => {
  const { identities, signIn } = setUp();
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const bytes = randomBytes(100_000 * 36);
  let named = 0;
  for (let i = 0; i < 100_000; i++) {
    let text = '';
    for (let j = 0; j < 36; j++) text += digits[bytes[i * 36 + j]! % 62];
    if (signIn.check(`tck_${text}`) !== undefined) named++;
  }
  expect([named, identities.lookups]).toEqual([0, 0]);
});

test('B8 control: a well-formed key is looked up', async () => {
  const { identities, signIn } = setUp();
  expect(await signIn.check(createApiKey())).toBeUndefined();
  expect(identities.lookups).toBe(1);
});

test.each([
  ['a revoked key', { revokedAt: 1 }],
  ['an expired key', { expiresAt: Date.UTC(2025, 11, 31) }],
  ['a key that expires now', { expiresAt: Date.UTC(2026, 0, 1) }],
  ['a key of a tenant that is not there', { tenant: 'west' }],
  ['a key that is kept under another hash', { hash: 'x' }],
])('B3 %s is refused', async (_what, change) => {
  const { identities, signIn } = setUp();
  expect(await signIn.check(identities.addKey(change))).toBeUndefined();
});

test('B3 a key of a disabled tenant is refused, and a key of another tenant is accepted', async () => {
  const { identities, signIn } = setUp();
  identities.putTenant({ id: 'south', disabled: true });
  expect(await signIn.check(identities.addKey({ tenant: 'south' }))).toBeUndefined();
  expect(await signIn.check(identities.addKey())).toMatchObject({ id: 'ada' });
});

test('a key that expires while it is cached is refused from that moment', async () => {
  const { identities, signIn, clock } = setUp();
  const key = identities.addKey({ expiresAt: clock.now() + 1_000 });
  expect(await signIn.check(key)).toBeDefined();
  clock.advance(1_000);
  expect(signIn.check(key)).toBeUndefined();
});

describe.each([['at once', false] as const, ['later', true] as const])(
  'with a store that answers %s',
  (_when, isFar) => {
    test('B8 a revoked key is refused at once when the store reports the revocation', async () => {
      const { identities, signIn } = setUp();
      identities.isFar = isFar;
      const key = identities.addKey();
      await signIn.check(key);
      identities.changeKey(key, { revokedAt: 1 });
      expect(await signIn.check(key)).toBeUndefined();
    });

    test('B8 a revoked key is refused after five seconds, even when the store reports nothing', async () => {
      const { identities, signIn, clock } = setUp();
      identities.isFar = isFar;
      const key = identities.addKey();
      await signIn.check(key);
      identities.changeKey(key, { revokedAt: 1 }, { quietly: true });
      clock.advance(5_000);
      expect(await signIn.check(key)).toBeUndefined();
    });

    test('a key whose rights changed gives a new caller object with the new rights', async () => {
      const { identities, signIn } = setUp();
      identities.isFar = isFar;
      const key = identities.addKey({ roles: ['admin'] });
      const before = await signIn.check(key);
      identities.changeKey(key, { roles: [] });
      const after = await signIn.check(key);
      expect([before?.roles, after?.roles]).toEqual([['admin'], []]);
    });
  },
);

test('B3 while the store is down a cached key is accepted for sixty seconds, and then all keys are refused', async () => {
  const { identities, signIn, clock, logged } = setUp();
  const key = identities.addKey();
  const caller = await signIn.check(key);
  identities.isDown = true;
  clock.advance(59_000);
  expect(await signIn.check(key)).toBe(caller);
  clock.advance(2_000);
  expect(await signIn.check(key)).toBeUndefined();
  expect(await signIn.check(key)).toBeUndefined();
  expect(logged).toEqual(['error API keys cannot be looked up, so callers are refused.']);
  identities.isDown = false;
  expect(await signIn.check(key)).toEqual(caller);
});

test('the last use of a key is stored once a minute', async () => {
  const { identities, signIn, clock } = setUp();
  const keys = [identities.addKey({ id: 'k1' }), identities.addKey({ id: 'k2' })];
  for (const key of keys) for (let i = 0; i < 3; i++) await signIn.check(key);
  clock.advance(2_000);
  for (const key of keys) await signIn.check(key);
  clock.advance(20_000);
  expect(identities.touched.map(({ ids }) => ids)).toEqual([['k1', 'k2']]);
  clock.advance(40_000);
  await signIn.check(keys[0]!);
  clock.advance(2_000);
  expect(identities.touched.map(({ ids }) => ids)).toEqual([['k1', 'k2'], ['k1']]);
});

test.each([
  ['nothing', ''],
  ['a short text', 'changeme'],
  ['31 bytes', 'x'.repeat(31)],
])('B4 a pepper of %s is refused when the server is set up', (_what, text) => {
  expect(() => createKeySignIn({ identities: new MapIdentities(), pepper: text })).toThrow(
    'at least 32 bytes',
  );
});

describe('over HTTP', () => {
  test('a key is accepted as a bearer token and in X-API-Key', async () => {
    const target = await keyed();
    const key = target.identities.addKey();
    expect((await ask(target, { headers: bearer(key) })).status).toBe(200);
    expect((await ask(target, { headers: { 'x-api-key': key } })).status).toBe(200);
    expect(target.source.calls.map(({ caller }) => caller.credential)).toEqual(['key-1', 'key-1']);
  });

  test.each([
    ['alone', () => ({})],
    ['beside the same key in a header', bearer],
  ])('B8 a key in the URL is refused, %s, and is in no log', async (_what, headers) => {
    const target = await keyed({ sse: true });
    const key = target.identities.addKey();
    for (const path of [
      `/mcp?api_key=${key}`,
      `/mcp?key=${key}`,
      `/mcp?a=1;api_key=${key}`,
      `/mcp?foo=Bearer%20${key}`,
      `/messages?sessionId=1&api_key=${key}`,
    ]) {
      const { status, body } = await ask(target, { path, headers: headers(key) });
      expect([status, body.includes(key)]).toEqual([401, false]);
    }
    expect(target.runs()).toBe(0);
    expect(target.logged.join('\n')).not.toContain(key);
  });

  test('B8 control: a check that reads keys from the URL accepts it', async () => {
    const target = await keyed({
      authenticate: ({ target: address }) =>
        target.signIn.authenticate({
          target: '/mcp',
          headers: { 'x-api-key': new URLSearchParams(address.split('?')[1]).get('api_key') ?? '' },
        }),
    });
    const key = target.identities.addKey();
    expect((await ask(target, { path: `/mcp?api_key=${key}` })).status).toBe(200);
  });

  test('A16 a thousand requests with a thousand claimed addresses count as one caller', async () => {
    const target = await keyed();
    const key = target.identities.addKey();
    for (let i = 0; i < 1_000; i++) {
      const address = `203.0.113.${i % 256}`;
      const headers = {
        ...bearer(key),
        'x-forwarded-for': address,
        'x-real-ip': address,
        forwarded: `for=${address}`,
      };
      await ask(target, { headers });
    }
    expect(target.runs()).toBe(1_000);
    expect(new Set(target.source.calls.map(({ caller }) => caller)).size).toBe(1);
  });

  test('A16 control: a check that trusts the claimed address sees a caller for each', async () => {
    const { signIn } = setUp();
    const target = await keyed({
      signIn,
      authenticate: ({ headers }) => ({
        id: String(headers['x-forwarded-for']),
        tenant: { id: 'north', name: 'North', data: {} },
        scopes: [],
        roles: [],
      }),
    });
    for (let i = 0; i < 3; i++) await ask(target, { headers: { 'x-forwarded-for': `203.0.113.${i}` } });
    expect(new Set(target.source.calls.map(({ caller }) => caller.id)).size).toBe(3);
  });
});
