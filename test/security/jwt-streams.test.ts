import { expect, test } from 'vitest';
import { createJwtSignIn } from '../../src/auth/jwt-sign-in.ts';
import type { CredentialSignIn, IsGone } from '../../src/auth/sign-in.ts';
import type { Caller } from '../../src/core/caller.ts';
import { createFakeClock, type FakeClock } from '../../src/testing.ts';
import { Client, Events } from './client.ts';
import { MapIdentities } from './identities.ts';
import { audience, startIssuer, type Issuer } from './issuer.ts';
import { ask, keyed, type Keyed } from './keyed.ts';

interface SetUp {
  readonly clock: FakeClock;
  readonly issuer: Issuer;
  readonly signIn: CredentialSignIn;
  /** A token that ends so many seconds from now. */
  readonly token: (lastsSeconds: number, claims?: Readonly<Record<string, unknown>>) => Promise<string>;
}

async function setUp(): Promise<SetUp> {
  const clock = createFakeClock(Math.ceil(Date.now() / 1_000) * 1_000);
  const issuer = await startIssuer();
  const tenants = new MapIdentities('north', 'south');
  const signIn = createJwtSignIn({ issuer: issuer.url, audience, tenants, clock });
  let count = 0;
  return {
    clock,
    issuer,
    signIn,
    token: (lasts, claims) =>
      issuer.token({ exp: clock.now() / 1_000 + lasts, jti: String(++count), ...claims }),
  };
}

/** Whether listeners were notified that a caller's access has ended. */
function follow(signIn: CredentialSignIn): (caller: Caller | undefined) => boolean {
  let heard: IsGone = () => false;
  signIn.onRevoked((isGone) => {
    heard = isGone;
  });
  return (caller) => heard(caller!);
}

const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });

test("B1 a caller's streams end within five seconds of the expiry of its token, and not before", async () => {
  const { clock, signIn, token } = await setUp();
  const isGone = follow(signIn);
  const caller = await signIn.check(await token(30));
  const other = await signIn.check(await token(300, { sub: 'bob' }));
  clock.advance(29_999);
  await Promise.resolve();
  expect([isGone(caller), isGone(other)]).toEqual([false, false]);
  clock.advance(5_000);
  await Promise.resolve();
  expect([isGone(caller), isGone(other)]).toEqual([true, false]);
});

test('B1 a caller that renews its token in time keeps its streams until the later token expires', async () => {
  const { clock, signIn, token } = await setUp();
  const isGone = follow(signIn);
  const caller = await signIn.check(await token(30));
  expect(await signIn.check(await token(90))).toBe(caller);
  expect(await signIn.check(await token(10))).toBe(caller);
  clock.advance(85_000);
  await Promise.resolve();
  expect(isGone(caller)).toBe(false);
  clock.advance(10_000);
  await Promise.resolve();
  expect(isGone(caller)).toBe(true);
});

test('B1 a caller that returns with a new token after the old one expired is accepted', async () => {
  const { clock, signIn, token } = await setUp();
  const isGone = follow(signIn);
  const before = await signIn.check(await token(30));
  clock.advance(35_000);
  const after = await signIn.check(await token(30));
  await Promise.resolve();
  expect(after).toEqual(before);
  expect([isGone(before), isGone(after)]).toEqual([true, false]);
});

test('B1 a token that is accepted within the clock tolerance ends its streams when the tolerance is over', async () => {
  const { clock, signIn, token } = await setUp();
  const isGone = follow(signIn);
  const late = await token(30);
  const before = await signIn.check(late);
  clock.advance(40_000);
  const caller = await signIn.check(late);
  clock.advance(45_000);
  await Promise.resolve();
  expect([isGone(before), isGone(caller)]).toEqual([true, false]);
  expect(await signIn.check(late)).toBe(caller);
  clock.advance(10_000);
  await Promise.resolve();
  expect([await signIn.check(late), isGone(caller)]).toEqual([undefined, true]);
});

test('B1 setting the clock back does not restore access that has ended', async () => {
  const { clock, issuer, token } = await setUp();
  let setBackMs = 0;
  const signIn = createJwtSignIn({
    issuer: issuer.url,
    audience,
    tenants: new MapIdentities('north'),
    clock: { ...clock, now: () => clock.now() - setBackMs },
  });
  const isGone = follow(signIn);
  const seen = await token(30);
  const before = await signIn.check(seen);
  clock.advance(35_000);
  await Promise.resolve();
  setBackMs = 30_000;
  const after = await signIn.check(seen);
  expect([isGone(before), isGone(after)]).toEqual([true, false]);
});

test('B1 a stream that is opened just as its token expires is ended soon after', async () => {
  const { clock, signIn, token } = await setUp();
  let told = 0;
  signIn.onRevoked(() => told++);
  await signIn.check(await token(30));
  clock.advance(30_000);
  await Promise.resolve();
  const before = told;
  clock.advance(2_000);
  expect([before, told]).toEqual([1, 2]);
});

/** A stream that is open, and can be waited on until the server ends it. */
type Open = (target: Keyed, token: string) => Promise<Events>;

const openSubscription: Open = async (target, token) => {
  const client = new Client(target);
  const request = client.modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
  const response = await client.open({ ...request, headers: { ...request.headers, ...bearer(token) } });
  const events = new Events(response);
  expect(await events.next()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
  return events;
};

const openSessionStream: Open = async (target, token) => {
  const params = { protocolVersion: '2025-06-18', clientInfo: { name: 'x', version: '1' }, capabilities: {} };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const { headers } = await ask(target, { headers: bearer(token), body });
  const session = { ...bearer(token), 'mcp-session-id': String(headers['mcp-session-id']) };
  return new Events(await new Client(target).open({ method: 'GET', headers: session }));
};

const openOldStream: Open = async (target, token) => {
  const client = new Client(target);
  const events = new Events(await client.open({ method: 'GET', path: '/sse', headers: bearer(token) }));
  expect(await events.nextData()).toContain('/messages');
  return events;
};

async function hasEnded(events: Events): Promise<true> {
  while ((await events.nextData()) !== undefined);
  return true;
}

test.each<[what: string, open: Open]>([
  ['a subscription', openSubscription],
  ['the stream of a session', openSessionStream],
  ['the old stream', openOldStream],
])(
  'B1 %s ends when the token it was opened with expires, and stays open with a later token',
  async (_what, open) => {
    const { clock, signIn, token } = await setUp();
    const target = await keyed({ sse: true, signIn });
    const [short, long] = [await token(30), await token(600, { sub: 'bob' })];
    const [mine, stays] = [await open(target, short), await open(target, long)];
    expect((await ask(target, { headers: bearer(await token(120)) })).status).toBe(200);
    const ended = hasEnded(mine);
    clock.advance(60_000);
    const later = ask(target, { headers: bearer(long) }).then(({ status }) => status);
    expect(await Promise.race([ended, later])).toBe(200);
    clock.advance(65_000);
    expect(await ended).toBe(true);
    const last = ask(target, { headers: bearer(long) }).then(({ status }) => status);
    expect(await Promise.race([hasEnded(stays), last])).toBe(200);
  },
);
