import { expect, test } from 'vitest';
import { protectedCall, startSite, visit } from '../../../test/sign-in-site.ts';
import { createFakeClock } from '../../testing.ts';
import { memoryCredentials } from './credential-store.ts';

test('a person signs in once, and later requests have the token', async () => {
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

test('without a browser the program gets the page, and the pasted address finishes the sign-in', async () => {
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

test('ten requests that are refused at the same time open one page', async () => {
  const { authority, url, signIn } = await startSite();
  const one = signIn();
  expect(await Promise.all(Array.from({ length: 10 }, () => protectedCall(one, url)))).toEqual(
    Array(10).fill(200),
  );
  expect(authority.at('/authorize')).toHaveLength(1);
});

test('a token is renewed before it expires, once for all requests', async () => {
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

test('a refused token is renewed once, and a person is asked only if that does not help', async () => {
  const { authority, url, signIn } = await startSite();
  const one = signIn();
  expect(await protectedCall(one, url)).toBe(200);
  authority.tokens.length = 0;
  expect(await protectedCall(one, url)).toBe(200);
  expect(authority.at('/token').map(({ form }) => form.get('grant_type'))).toEqual([
    'authorization_code',
    'refresh_token',
  ]);

  authority.tokens.length = 0;
  authority.answers.set('/token', ({ form }) =>
    form.get('grant_type') === 'refresh_token'
      ? { status: 400, body: { error: 'invalid_grant' } }
      : undefined,
  );
  expect(await protectedCall(one, url)).toBe(200);
  expect(authority.at('/authorize')).toHaveLength(2);
});

test('a token that cannot be renewed yet is used until it expires', async () => {
  const { authority, url, signIn } = await startSite();
  const clock = createFakeClock();
  const one = signIn({ clock });
  expect(await protectedCall(one, url)).toBe(200);
  authority.answers.set('/token', () => ({ status: 503 }));
  clock.advance(3_545_000);
  const sent = { authorization: `Bearer ${authority.tokens[0]}` };
  expect(await one.headers({ url, method: 'POST' })).toEqual(sent);
  expect(await one.headers({ url, method: 'POST' })).toEqual(sent);
  expect(authority.at('/token')).toHaveLength(2);
  clock.advance(60_000);
  expect(await one.headers({ url, method: 'POST' })).toEqual({});
});

test('after a token ended that cannot be renewed, a person is asked, and the next token is renewed again', async () => {
  const { authority, url, signIn } = await startSite();
  const clock = createFakeClock();
  const one = signIn({ clock });
  expect(await protectedCall(one, url)).toBe(200);
  authority.answers.set('/token', ({ form }) =>
    form.has('refresh_token') ? { status: 400, body: { error: 'invalid_grant' } } : undefined,
  );
  clock.advance(3_545_000);
  expect(await protectedCall(one, url)).toBe(200);
  clock.advance(60_000);
  expect(await protectedCall(one, url)).toBe(200);
  expect(authority.at('/authorize')).toHaveLength(2);
  authority.answers.clear();
  clock.advance(3_545_000);
  expect(await one.headers({ url, method: 'POST' })).toEqual({
    authorization: `Bearer ${authority.tokens[2]}`,
  });
});

test('new scopes are requested together with the earlier ones', async () => {
  const { authority, server, url, signIn } = await startSite();
  server.challenge += ', scope="read"';
  authority.metadata = { scopes_supported: ['read', 'write', 'offline_access'] };
  const one = signIn();
  expect(await protectedCall(one, url)).toBe(200);
  const [token] = authority.tokens;
  server.answers.set('/mcp', ({ headers }) =>
    headers.authorization === `Bearer ${token}`
      ? { status: 403, headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="write"' } }
      : undefined,
  );
  expect(await protectedCall(one, url)).toBe(200);
  expect(authority.at('/authorize').map(({ form }) => form.get('scope'))).toEqual([
    'read offline_access',
    'read offline_access write',
  ]);
});

test('a server that asks again for a granted scope causes an error', async () => {
  const { authority, server, url, signIn } = await startSite();
  server.challenge += ', scope="read"';
  server.answers.set('/mcp', ({ headers }) =>
    headers.authorization === undefined
      ? undefined
      : { status: 403, headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="read"' } },
  );
  await expect(protectedCall(signIn(), url)).rejects.toThrow('use another account');
  expect(authority.at('/authorize')).toHaveLength(1);
});

test('the client is the registered one, else the one with a metadata document, else it registers once', async () => {
  const { authority, url, signIn } = await startSite();
  const clientMetadataUrl = 'https://client.example.com/client.json';
  authority.metadata = { client_id_metadata_document_supported: true };
  expect(await protectedCall(signIn({ client: { id: 'mine' }, clientMetadataUrl }), url)).toBe(200);
  expect(await protectedCall(signIn({ clientMetadataUrl }), url)).toBe(200);
  authority.metadata = {};
  const store = memoryCredentials();
  expect(await protectedCall(signIn({ clientMetadataUrl, store, account: 'ada' }), url)).toBe(200);
  expect(await protectedCall(signIn({ clientMetadataUrl, store, account: 'bob' }), url)).toBe(200);

  expect(authority.at('/register')).toHaveLength(1);
  expect(JSON.parse(authority.at('/register')[0]!.body)).toMatchObject({
    client_name: 'Toolcrib',
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  });
  const used = authority.at('/authorize').map(({ form }) => form.get('client_id'));
  expect(used.slice(0, 2)).toEqual(['mine', clientMetadataUrl]);
  expect(used[2]).toBe(used[3]);
});

test('a browser that does not open, or a person who does not answer, is an error, and the listener is closed', async () => {
  const { url, signIn } = await startSite();
  const pages: string[] = [];
  const broken = signIn({ open: () => Promise.reject(new Error('no display')) });
  expect(await protectedCall(broken, url)).toMatchObject({ kind: 'needs_sign_in' });
  const lonely = signIn({ open: (page) => void pages.push(page), patienceMs: 50 });
  await expect(protectedCall(lonely, url)).rejects.toThrow('Nobody signed in');
  const redirect = new URL(pages[0]!).searchParams.get('redirect_uri')!;
  await expect(fetch(redirect)).rejects.toThrow('fetch failed');
});

test('closing ends a sign-in that is in progress', async () => {
  const { url, signIn } = await startSite();
  let opened = (): void => {};
  const isOpen = new Promise<void>((resolve) => {
    opened = resolve;
  });
  const one = signIn({ open: () => opened() });
  const ended = protectedCall(one, url).catch((error: unknown) => String(error));
  await isOpen;
  await one.close();
  expect(await ended).toContain('given up');
});

test('signing out forgets the token and revokes it', async () => {
  const { authority, url, signIn } = await startSite();
  authority.metadata = { revocation_endpoint: `${authority.url}/revoke` };
  const one = signIn();
  expect(await protectedCall(one, url)).toBe(200);
  await one.signOut();
  expect(await one.headers({ url, method: 'POST' })).toEqual({});
  expect(authority.at('/revoke')[0]!.form.get('token')).toBe(`refresh-${authority.tokens[0]}`);
});

test('a server of 2025-03-26 is its own authorization server, with metadata or without', async () => {
  for (const hasMetadata of [true, false]) {
    const { authority: both, signIn } = await startSite();
    const url = `${both.url}/mcp`;
    both.answers.set('/mcp', ({ headers }) => ({
      status: headers.authorization === `Bearer ${both.tokens.at(-1)}` ? 200 : 401,
    }));
    if (!hasMetadata) both.answers.set('/.well-known/oauth-authorization-server', () => ({ status: 404 }));
    both.redirected = hasMetadata ? {} : { iss: undefined };
    expect(await protectedCall(signIn({ server: url }), url)).toBe(200);
    expect(both.at('/authorize')[0]!.form.get('resource')).toBe(url);
  }
});
