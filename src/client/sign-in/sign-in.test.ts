import { expect, test } from 'vitest';
import { protectedCall, startSite, visit } from '../../../test/sign-in-site.ts';
import { createFakeClock } from '../../testing.ts';
import { memoryCredentials } from './credential-store.ts';

test('a person signs in once, and later requests carry the token', async () => {
  const { authority, server, url, signIn } = await startSite();
  const one = signIn();
  expect(await protectedCall(one, url)).toBe(200);
  expect(await protectedCall(one, url)).toBe(200);
  expect(authority.at('/authorize')).toHaveLength(1);
  const [page] = authority.at('/authorize');
  expect(Object.fromEntries(page!.form)).toMatchObject({
    response_type: 'code',
    code_challenge_method: 'S256',
    resource: url,
  });
  expect(page!.form.has('scope')).toBe(false);
  expect(authority.at('/token')[0]!.form.get('resource')).toBe(url);
  expect(server.at('/mcp').map(({ headers }) => headers.authorization !== undefined)).toEqual([
    false,
    true,
    true,
  ]);
});

test('without a browser the page is handed out, and the pasted address finishes the sign-in', async () => {
  const { url, authority, server, signIn } = await startSite();
  const one = signIn({ open: undefined });
  const outcome = await protectedCall(one, url);
  if (typeof outcome === 'number') throw new Error('It must not be let in.');
  expect(outcome).toMatchObject({ kind: 'needs_sign_in', remedy: expect.stringContaining('browser') });
  expect(outcome.url).toContain(`${authority.url}/authorize?`);
  expect(await protectedCall(one, url)).toEqual(outcome);
  await one.finish(await visit(outcome.url));
  expect(await protectedCall(one, url)).toBe(200);
  expect(server.at('/mcp')).toHaveLength(3);
  expect(authority.at('/register')).toHaveLength(1);
});

test('ten requests that are refused at once open one page', async () => {
  const { authority, url, signIn } = await startSite();
  const one = signIn();
  expect(await Promise.all(Array.from({ length: 10 }, () => protectedCall(one, url)))).toEqual(
    Array(10).fill(200),
  );
  expect(authority.at('/authorize')).toHaveLength(1);
});

test('a token is renewed ahead of its end, once, however many ask', async () => {
  const { authority, url, signIn } = await startSite();
  const clock = createFakeClock();
  const store = memoryCredentials();
  const one = signIn({ clock, store });
  expect(await protectedCall(one, url)).toBe(200);
  const other = signIn({ clock, store });
  await other.headers({ url, method: 'POST' });
  clock.advance(3_545_000);
  await Promise.all([one, one, other, other].map(async (each) => each.headers({ url, method: 'POST' })));
  const renewals = authority.at('/token').filter(({ form }) => form.get('grant_type') === 'refresh_token');
  expect(renewals).toHaveLength(1);
  expect(renewals[0]!.form.get('resource')).toBe(url);
  const newest = { authorization: `Bearer ${authority.tokens.at(-1)}` };
  expect(await one.headers({ url, method: 'POST' })).toEqual(newest);
  expect(await other.headers({ url, method: 'POST' })).toEqual(newest);
});
