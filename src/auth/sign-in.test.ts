import { expect, test, vi } from 'vitest';
import { localCaller } from '../core/caller.ts';
import { createApiKey } from './api-key.ts';
import { combine, credentialOf, Departures, type CredentialSignIn } from './sign-in.ts';

const key = createApiKey();
const head = (headers: Record<string, string>, target = '/mcp') => ({ target, headers });

test.each([
  ['a bearer key', { authorization: `Bearer ${key}` }, key],
  ['a bearer token', { authorization: 'Bearer a.b.c' }, 'a.b.c'],
  ['a scheme in other letters', { authorization: 'bEARER a.b.c' }, 'a.b.c'],
  ['a key in its own header', { 'x-api-key': key }, key],
  ['nothing', {}, undefined],
  ['a scheme and nothing else', { authorization: 'Bearer' }, undefined],
  ['a scheme and a blank', { authorization: 'Bearer ' }, undefined],
  ['another scheme', { authorization: 'Basic YTpi' }, undefined],
  ['two credentials in one header', { authorization: `Bearer ${key}, Bearer a.b.c` }, undefined],
  ['a token where only keys belong', { 'x-api-key': 'a.b.c' }, undefined],
  ['a key and garbage', { 'x-api-key': key, authorization: 'Bearer x' }, undefined],
  ['a key and another scheme', { 'x-api-key': key, authorization: 'Basic YTpi' }, undefined],
  ['the same key twice', { 'x-api-key': key, authorization: `Bearer ${key}` }, undefined],
])('B3 the credential of %s', (_what, headers, credential) => {
  expect(credentialOf(head(headers as Record<string, string>))).toBe(credential);
});

test.each([
  `/mcp?api_key=${key}`,
  `/mcp?API_KEY=x`,
  `/mcp?access_token=a.b.c`,
  `/mcp?x=${key}`,
  `/mcp?${key}`,
  `/mcp?a=1&%61pi_key=${key}`,
  `/mcp?a=1;api_key=${key}`,
  `/mcp?a=1;api_key=x`,
  `/mcp?a=1%3Bapi_key=${key}`,
  `/mcp?foo=Bearer%20${key}`,
  `/mcp?foo=Bearer+${key}`,
  `/mcp?foo=%22%74ck_${key.slice(4)}%22`,
  `/mcp?foo=id${key}`,
])('B8 a request to %s counts as one without a credential, whatever its headers say', (target) => {
  expect(credentialOf(head({ authorization: `Bearer ${key}` }, target))).toBeUndefined();
});

test('any other query is not treated as a credential', () => {
  for (const target of ['/messages?sessionId=1', '/messages?sessionId=Zatck_b-cd_eF', '/mcp?a=1;b=2'])
    expect(credentialOf(head({ 'x-api-key': key }, target))).toBe(key);
});

const fake = (kind: 'key' | 'token', known: string): CredentialSignIn => ({
  kind,
  check: (credential) => (credential === known ? localCaller : undefined),
  whyNot: () => 'unknown',
  authenticate: () => undefined,
  explain: () => 'unknown',
  onRevoked: () => () => {},
  close: () => {},
});

test('keys and tokens are told apart by their prefix, and every sign-in of the kind is tried', async () => {
  const { authenticate } = combine([fake('token', 'a.b.c'), fake('token', 'd.e.f'), fake('key', key)]);
  expect(await authenticate(head({ authorization: 'Bearer d.e.f' }))).toBe(localCaller);
  expect(await authenticate(head({ authorization: `Bearer ${key}` }))).toBe(localCaller);
  expect(await authenticate(head({ authorization: 'Bearer g.h.i' }))).toBeUndefined();
  expect(
    combine([fake('token', key)]).authenticate(head({ authorization: `Bearer ${key}` })),
  ).toBeUndefined();
});

test('callers that ended are reported together, and once more later', async () => {
  const departures = new Departures();
  const other = { ...localCaller };
  const listener = vi.fn();
  departures.listen(listener);
  departures.add(localCaller);
  departures.add(other);
  await Promise.resolve();
  expect(listener).toHaveBeenCalledTimes(1);
  const [isGone] = listener.mock.calls[0]!;
  expect([isGone(localCaller), isGone(other), isGone({ ...localCaller })]).toEqual([true, true, false]);
  departures.repeat();
  departures.repeat();
  expect(listener).toHaveBeenCalledTimes(2);
});
