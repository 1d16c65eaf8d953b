import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../src/testing.ts';
import { createKeySignIn } from '../../src/auth/key-sign-in.ts';
import { createJwtSignIn } from '../../src/auth/jwt-sign-in.ts';
import { callBody } from './attack.ts';
import { Client, Events } from './client.ts';
import { MapIdentities, pepper } from './identities.ts';
import { audience, startIssuer } from './issuer.ts';
import { ask, keyed, type Keyed } from './keyed.ts';

const bearer = (key: string): { authorization: string } => ({ authorization: `Bearer ${key}` });

/** A stream that is open, and can be waited on until the server ends it. */
type Open = (target: Keyed, key: string) => Promise<Events>;

const openSubscription: Open = async (target, key) => {
  const client = new Client(target);
  const request = client.modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
  const response = await client.open({ ...request, headers: { ...request.headers, ...bearer(key) } });
  const events = new Events(response);
  expect(await events.next()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
  return events;
};

const openSession = async (target: Keyed, key: string): Promise<string> => {
  const params = { protocolVersion: '2025-06-18', clientInfo: { name: 'x', version: '1' }, capabilities: {} };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const { headers } = await ask(target, { headers: bearer(key), body });
  return String(headers['mcp-session-id']);
};

const follow = async (target: Keyed, key: string, session: string): Promise<Events> =>
  new Events(
    await new Client(target).open({ method: 'GET', headers: { ...bearer(key), 'mcp-session-id': session } }),
  );

const openSessionStream: Open = async (target, key) => follow(target, key, await openSession(target, key));

const openOldStream: Open = async (target, key) => {
  const events = new Events(
    await new Client(target).open({ method: 'GET', path: '/sse', headers: bearer(key) }),
  );
  expect(await events.nextData()).toContain('/messages');
  return events;
};

const streams: readonly [what: string, open: Open][] = [
  ['a subscription', openSubscription],
  ['the stream of a session', openSessionStream],
  ['the old stream', openOldStream],
];

// What is still open has said nothing by the time a later request is answered.
async function isOpen(target: Keyed, events: Events, key: string): Promise<boolean> {
  const ended = rest(events).then(() => false);
  const later = ask(target, { headers: bearer(key) }).then(() => true);
  return Promise.race([ended, later]);
}

async function rest(events: Events): Promise<number> {
  let count = 0;
  while ((await events.nextData()) !== undefined) count++;
  return count;
}

describe.each(streams)('%s', (_what, open) => {
  test('B8 ends when its key is revoked, and the streams of others stay', async () => {
    const target = await keyed({ sse: true });
    const [mine, other] = [target.identities.addKey(), target.identities.addKey()];
    const [gone, stays] = [await open(target, mine), await open(target, other)];
    target.identities.changeKey(mine, { revokedAt: 1 });
    expect(await rest(gone)).toBeLessThan(2);
    expect((await ask(target, { headers: bearer(mine) })).status).toBe(401);
    expect(await isOpen(target, stays, other)).toBe(true);
  });

  test.each<[string, (target: Keyed, key: string) => void]>([
    ['its tenant is disabled', ({ identities }) => identities.putTenant({ id: 'north', disabled: true })],
    ['its rights change', ({ identities }, key) => identities.changeKey(key, { roles: ['less'] })],
  ])('B8 ends when %s', async (_why, change) => {
    const target = await keyed({ sse: true });
    const key = target.identities.addKey();
    const events = await open(target, key);
    change(target, key);
    expect(await rest(events)).toBeLessThan(2);
  });

  test('B8 ends within five seconds of the expiry of its key', async () => {
    const clock = createFakeClock();
    const { target, identities } = await keyedWith(clock);
    const key = identities.addKey({ expiresAt: clock.now() + 1_000 });
    const events = await open(target, key);
    clock.advance(6_000);
    expect(await rest(events)).toBeLessThan(2);
  });

  test('B8 ends once the store has been unreachable for too long', async () => {
    const clock = createFakeClock();
    const { target, identities } = await keyedWith(clock);
    const events = await open(target, identities.addKey());
    identities.isDown = true;
    for (let i = 0; i < 70; i++) {
      clock.advance(1_000);
      await new Promise(setImmediate);
    }
    expect(await rest(events)).toBeLessThan(2);
  });

  test('B8 control: stays open where revocations are not watched', async () => {
    const target = await keyed({ sse: true });
    target.server.dismissals.clear();
    const [key, other] = [target.identities.addKey(), target.identities.addKey()];
    const events = await open(target, key);
    target.identities.changeKey(key, { revokedAt: 1 });
    expect(await isOpen(target, events, other)).toBe(true);
  });
});

async function keyedWith(clock: ReturnType<typeof createFakeClock>) {
  const identities = new MapIdentities('north', 'south');
  const signIn = createKeySignIn({ identities, pepper, clock });
  const target = await keyed({ sse: true, signIn });
  return { target, identities };
}

test('B8 a stream opened with another key of the same caller ends with that key, and the session continues', async () => {
  const target = await keyed();
  const [one, two] = [target.identities.addKey(), target.identities.addKey()];
  const session = await openSession(target, one);
  const events = await follow(target, two, session);
  target.identities.changeKey(two, { revokedAt: 1 });
  expect(await rest(events)).toBe(0);
  expect(await isOpen(target, await follow(target, one, session), one)).toBe(true);
});

test('A9 a session whose key was revoked is closed for other keys of the same caller too', async () => {
  const target = await keyed();
  const [one, two] = [target.identities.addKey(), target.identities.addKey()];
  const session = await openSession(target, one);
  const call = () => ask(target, { headers: { ...bearer(two), 'mcp-session-id': session } });
  expect((await call()).status).toBe(200);
  target.identities.changeKey(one, { revokedAt: 1 });
  await new Promise(setImmediate);
  expect((await call()).status).toBe(404);
});

test.each([
  ['not run when its key was revoked before', true],
  ['run when its key is still good', false],
])('B8 a call with a slow body is %s', async (_what, isRevoked) => {
  const clock = createFakeClock();
  const target = await keyed({ clock });
  const key = target.identities.addKey();
  const body = callBody('2025-06-18');
  const socket = connect({ port: target.port, host: '127.0.0.1' });
  const answer = new Promise<string>((resolve) => {
    socket.once('data', (chunk: Buffer) => resolve(chunk.toString()));
  });
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${target.port}\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
  );
  while (target.identities.lookups === 0) await new Promise(setImmediate);
  if (isRevoked) target.identities.changeKey(key, { revokedAt: 1 });
  clock.advance(1_500);
  socket.write(body.slice(10));
  expect((await answer).slice(0, 12)).toBe(isRevoked ? 'HTTP/1.1 401' : 'HTTP/1.1 200');
  socket.destroy();
  expect(target.runs()).toBe(isRevoked ? 0 : 1);
});

test('B8 disabling a tenant ends the streams of callers that used a token', async () => {
  const issuer = await startIssuer();
  const tenants = new MapIdentities('north');
  const target = await keyed({ signIn: createJwtSignIn({ issuer: issuer.url, audience, tenants }) });
  const events = await openSubscription(target, await issuer.token());
  tenants.putTenant({ id: 'north', disabled: true });
  expect(await rest(events)).toBeLessThan(2);
});

test('dismiss ends the streams and calls of the chosen callers only', async () => {
  const target = await keyed();
  const key = target.identities.addKey();
  const events = await openSubscription(target, key);
  target.server.dismiss(({ id }) => id === 'ada');
  expect(await rest(events)).toBe(1);
  expect((await ask(target, { headers: bearer(key) })).status).toBe(200);
});
