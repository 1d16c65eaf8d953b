import { expect, test } from 'vitest';
import { startPeer } from '../../../test/authorization-server.ts';
import { protectedCall, startSite, visit, visitAndReturn, type Site } from '../../../test/sign-in-site.ts';
import { memoryCredentials } from './credential-store.ts';
import { createClientSignIn } from './sign-in.ts';

const failed = { code: 'sign_in_failed' };

/** A sign-in that works; each attack below changes one part of it. */
test('control: the site of these attacks lets an honest client in', async () => {
  const { url, signIn } = await startSite();
  expect(await protectedCall(signIn(), url)).toBe(200);
});

test.each<readonly [string, Record<string, string | undefined>]>([
  ['names another issuer', { iss: 'https://evil.example.com' }],
  ['names the issuer with a slash more', { iss: 'slash' }],
  ['names an empty issuer', { iss: '' }],
  ['names no issuer although the server promised to', { iss: undefined }],
  ['has another state', { state: 'forged' }],
  ['has no state', { state: undefined }],
  [
    'is an error of another issuer',
    { iss: 'https://evil.example.com', error: 'access_denied', code: undefined },
  ],
])('an authorization code is not used when the response %s', async (_what, redirected) => {
  const { authority, url, signIn } = await startSite();
  authority.redirected = redirected['iss'] === 'slash' ? { iss: `${authority.url}/` } : redirected;
  const one = signIn({ open: undefined });
  const outcome = await protectedCall(one, url);
  if (typeof outcome === 'number') throw new Error('It must not be let in.');
  const finishing = one.finish(await visit(outcome.url));
  await expect(finishing).rejects.toMatchObject(failed);
  await expect(finishing).rejects.not.toThrow(/access_denied/);
  expect(authority.at('/token')).toEqual([]);
});

test('the issuer in a response is checked even if the server did not announce it', async () => {
  const { authority, url, signIn } = await startSite();
  authority.metadata = { authorization_response_iss_parameter_supported: undefined };
  authority.redirected = { iss: 'https://evil.example.com' };
  await expect(protectedCall(signIn(), url)).rejects.toMatchObject(failed);
  authority.redirected = { iss: '' };
  await expect(protectedCall(signIn(), url)).rejects.toMatchObject(failed);
  expect(authority.at('/token')).toEqual([]);
  authority.redirected = { iss: undefined };
  expect(await protectedCall(signIn(), url)).toBe(200);
});

/** Where an honest server that does not name itself would send the code of a sign-in that another one began. */
async function mixedUp(honest: Site, page: string): Promise<string> {
  const { searchParams: begun } = new URL(page);
  const registered = await registeredAt(honest);
  const own = new URL(begun.get('redirect_uri')!);
  own.pathname = registered.pathname;
  const asked = new URL(`${honest.authority.url}/authorize?${begun.toString()}`);
  asked.searchParams.set('redirect_uri', own.href);
  return visit(asked.href);
}

// The same program has signed in there before.
async function registeredAt({ authority, url, signIn }: Site): Promise<URL> {
  expect(await protectedCall(signIn(), url)).toBe(200);
  const { body } = authority.at('/register')[0]!;
  return new URL((JSON.parse(body) as { redirect_uris: [string] }).redirect_uris[0]);
}

test('a code of an issuer that does not name itself is not sent to another issuer', async () => {
  const [honest, evil] = await Promise.all([startSite(), startSite()]);
  for (const { authority } of [honest, evil])
    authority.metadata = { authorization_response_iss_parameter_supported: undefined };
  honest.authority.redirected = { iss: undefined };
  const open = async (page: string): Promise<void> => {
    expect((await fetch(await mixedUp(honest, page))).status).toBe(404);
  };
  const waiting = evil.signIn({ open, patienceMs: 300 });
  await expect(protectedCall(waiting, evil.url)).rejects.toMatchObject(failed);
  const pasting = evil.signIn({ open: undefined });
  const outcome = await protectedCall(pasting, evil.url);
  if (typeof outcome === 'number') throw new Error('It must not be let in.');
  await expect(pasting.finish(await mixedUp(honest, outcome.url))).rejects.toThrow(
    /another authorization server/,
  );
  expect(evil.authority.at('/token')).toEqual([]);
});

test('the local listener ignores a response with another state', async () => {
  const { authority, url, signIn } = await startSite();
  const open = async (page: string): Promise<void> => {
    const right = new URL(await visit(page));
    const forged = new URL(right);
    forged.searchParams.set('state', 'forged');
    expect((await fetch(forged)).status).toBe(404);
    expect((await fetch(new URL('/elsewhere', right))).status).toBe(404);
    expect((await fetch(right)).status).toBe(200);
  };
  expect(await protectedCall(signIn({ open }), url)).toBe(200);
  expect(authority.at('/token')).toHaveLength(1);
});

test('an authorization response can be used once', async () => {
  const { authority, url, signIn } = await startSite();
  const one = signIn({ open: undefined });
  const outcome = await protectedCall(one, url);
  if (typeof outcome === 'number') throw new Error('It must not be let in.');
  const answer = await visit(outcome.url);
  await one.finish(answer);
  await expect(one.finish(answer)).rejects.toMatchObject(failed);
  expect(authority.at('/token')).toHaveLength(1);
});

test('a stolen code is refused without the PKCE verifier', async () => {
  const { authority, url, signIn } = await startSite();
  let stolen = '';
  const open = async (page: string): Promise<void> => {
    stolen = await visit(page);
  };
  const one = signIn({ open, patienceMs: 300 });
  await expect(protectedCall(one, url)).rejects.toMatchObject(failed);
  const { searchParams } = new URL(stolen);
  const redeemed = await fetch(`${authority.url}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'authorization_code', code: searchParams.get('code')! }),
  });
  expect(redeemed.status).toBe(400);
});

test('an authorization server without PKCE by S256 is not used', async () => {
  for (const methods of [undefined, ['plain']]) {
    const { authority, url, signIn } = await startSite();
    authority.metadata = { code_challenge_methods_supported: methods };
    await expect(protectedCall(signIn(), url)).rejects.toMatchObject(failed);
    expect(authority.at('/authorize')).toEqual([]);
  }
});

test.each([
  ['another host', () => 'https://evil.example.com/mcp'],
  ['another port', ({ url }: Site) => url.replace(/:\d+/, ':1')],
  ['another path', ({ server }: Site) => `${server.url}/mc`],
  ['a deeper path', ({ url }: Site) => `${url}/admin`],
  ['a fragment', ({ url }: Site) => `${url}#x`],
])('no authorization is requested when the metadata is about %s', async (_what, resource) => {
  const site = await startSite();
  site.server.metadata = { resource: resource(site) };
  await expect(protectedCall(site.signIn(), site.url)).rejects.toMatchObject(failed);
  expect(site.authority.seen).toEqual([]);
});

test('B6 metadata of another issuer is not used', async () => {
  const { authority, url, signIn } = await startSite();
  authority.metadata = { issuer: 'https://evil.example.com' };
  await expect(protectedCall(signIn(), url)).rejects.toMatchObject(failed);
  expect(authority.seen.map(({ path }) => path)).toEqual(['/.well-known/oauth-authorization-server']);
});

test.each([301, 302, 303, 307, 308])(
  'B6 a redirect with status %i is not followed, neither for metadata nor with a secret',
  async (status) => {
    const thief = await startPeer(() => ({ body: { access_token: 'x', token_type: 'Bearer' } }));
    const places = ['/.well-known/oauth-authorization-server', '/register', '/token'];
    for (const place of places) {
      const { authority, url, signIn } = await startSite();
      authority.answers.set(place, () => ({ status, headers: { location: `${thief.url}${place}` } }));
      await expect(protectedCall(signIn(), url)).rejects.toMatchObject(failed);
    }
    const { server, url, signIn } = await startSite();
    const metadata = '/.well-known/oauth-protected-resource/mcp';
    server.answers.set(metadata, () => ({ status, headers: { location: `${thief.url}${metadata}` } }));
    await expect(protectedCall(signIn(), url)).rejects.toMatchObject(failed);
    expect(thief.seen).toEqual([]);

    const near = await startSite();
    near.authority.answers.set('/token', () => ({ status, headers: { location: '/moved' } }));
    await expect(protectedCall(near.signIn(), near.url)).rejects.toMatchObject(failed);
    expect(near.authority.at('/moved')).toEqual([]);
  },
);

test.each([
  'javascript:alert(1)',
  'file:///etc/passwd',
  'https://as.example.com/$(id)',
  'https://as.example.com/a;b',
  'https://as.example.com/`id`',
  'https://user:word@as.example.com/',
  'http://as.example.com/authorize',
  `https://as.example.com/${'a'.repeat(1_000_000)}`,
  '',
])('B6 a page with an address such as %.40s is not opened', async (page) => {
  const { authority, url, signIn } = await startSite();
  authority.metadata = { authorization_endpoint: page };
  const opened: string[] = [];
  await expect(
    protectedCall(signIn({ patienceMs: 50, open: (each) => void opened.push(each) }), url),
  ).rejects.toMatchObject(failed);
  expect(opened).toEqual([]);
});

test('B6 a remote server cannot make the client request local addresses', async () => {
  const inside = await startPeer(() => ({ body: {} }));
  const asked: string[] = [];
  const network = {
    resolve: (host: string) => {
      asked.push(host);
      return Promise.resolve([host === 'mcp.example.com' ? '203.0.113.7' : '127.0.0.1']);
    },
  };
  const signIn = createClientSignIn({ server: 'https://mcp.example.com/mcp', network });
  const challenge = (at: string): Promise<unknown> =>
    signIn.challenged({
      status: 401,
      wwwAuthenticate: `Bearer resource_metadata="${at}"`,
      url: 'https://mcp.example.com/mcp',
      method: 'POST',
      sent: {},
      retries: 0,
    });
  const { port } = new URL(inside.url);
  await expect(challenge(`${inside.url}/metadata`)).rejects.toMatchObject(failed);
  await expect(challenge(`https://127.0.0.1:${port}/metadata`)).rejects.toMatchObject(failed);
  await expect(challenge(`https://localhost:${port}/metadata`)).rejects.toMatchObject(failed);
  await expect(challenge(`https://rebound.example.com:${port}/metadata`)).rejects.toMatchObject(failed);
  await expect(challenge('https://169.254.169.254/latest')).rejects.toMatchObject(failed);
  expect(asked).toEqual(['rebound.example.com']);
  expect(inside.seen).toEqual([]);
  await signIn.close();
});

test('B6 a client secret is sent to the issuer that the operator named, and to no other', async () => {
  const { authority, url, signIn, server } = await startSite();
  const thief = await startSite();
  authority.metadata = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
  thief.authority.metadata = authority.metadata;
  const client = { id: 'me', secret: 'hush' };
  const grant = { kind: 'client_credentials' } as const;
  expect(await protectedCall(signIn({ client, grant, issuer: authority.url }), url)).toBe(200);
  const basic = `Basic ${Buffer.from('me:hush').toString('base64')}`;
  expect(authority.at('/token')[0]!.headers.authorization).toBe(basic);

  server.metadata = { authorization_servers: [thief.authority.url] };
  await expect(protectedCall(signIn({ client, grant, issuer: authority.url }), url)).rejects.toThrow(
    `The server names ${thief.authority.url}`,
  );
  await expect(protectedCall(signIn({ client, grant }), url)).rejects.toThrow('set it as the issuer');
  expect(thief.authority.seen).toEqual([]);
});

test('a token and a registration are not used at another authorization server', async () => {
  const first = await startSite();
  const second = await startSite();
  const one = first.signIn();
  expect(await protectedCall(one, first.url)).toBe(200);
  const secrets = [...first.authority.tokens, first.authority.at('/authorize')[0]!.form.get('client_id')!];
  first.server.metadata = { authorization_servers: [second.authority.url] };
  first.authority.tokens.length = 0;
  first.server.answers.set('/mcp', ({ headers }) =>
    second.authority.tokens.some((token) => headers.authorization === `Bearer ${token}`) ? {} : undefined,
  );
  expect(await protectedCall(one, first.url)).toBe(200);
  expect(second.authority.at('/register')).toHaveLength(1);
  const sent = JSON.stringify(second.authority.seen);
  for (const secret of secrets) expect(sent).not.toContain(secret);
});

test('B6 a refresh token is sent to its own issuer only, even if the client id is the same', async () => {
  const first = await startSite();
  const second = await startSite();
  const known = { client_id_metadata_document_supported: true };
  first.authority.metadata = known;
  second.authority.metadata = known;
  const one = first.signIn({ clientMetadataUrl: 'https://client.example.com/client.json' });
  expect(await protectedCall(one, first.url)).toBe(200);
  const [token = ''] = first.authority.tokens;
  first.server.metadata = { authorization_servers: [second.authority.url] };
  first.authority.tokens.length = 0;
  first.server.answers.set('/mcp', ({ headers }) =>
    second.authority.tokens.some((each) => headers.authorization === `Bearer ${each}`) ? {} : undefined,
  );
  expect(await protectedCall(one, first.url)).toBe(200);
  expect(second.authority.at('/authorize')).toHaveLength(1);
  expect(JSON.stringify(second.authority.seen)).not.toContain(token);
});

test('B6 another origin gets no token, and cannot request one', async () => {
  const { url, signIn } = await startSite();
  const one = signIn();
  expect(await protectedCall(one, url)).toBe(200);
  expect(await one.headers({ url, method: 'GET' })).toHaveProperty('authorization');
  const { port } = new URL(url);
  for (const other of [
    'https://evil.example.com/mcp',
    `http://127.0.0.1:${Number(port) + 1}/mcp`,
    `https://127.0.0.1:${port}/mcp`,
    `http://localhost:${port}/mcp`,
    `http://127.0.0.1:${port}@evil.example.com/mcp`,
    'no address',
  ]) {
    expect(await one.headers({ url: other, method: 'GET' })).toEqual({});
    const challenge = {
      status: 401,
      wwwAuthenticate: 'Bearer',
      method: 'GET',
      sent: {},
      retries: 0,
    } as const;
    await expect(one.challenged({ ...challenge, url: other })).rejects.toMatchObject(failed);
  }
});

test('the token of one account is not used for another', async () => {
  const { authority, url, signIn } = await startSite();
  const store = memoryCredentials();
  expect(await protectedCall(signIn({ store, account: 'ada' }), url)).toBe(200);
  expect(await signIn({ store, account: 'ada' }).headers({ url, method: 'POST' })).toHaveProperty(
    'authorization',
  );
  expect(await signIn({ store, account: 'bob' }).headers({ url, method: 'POST' })).toEqual({});
  expect(await protectedCall(signIn({ store, account: 'bob' }), url)).toBe(200);
  expect(authority.at('/authorize')).toHaveLength(2);
});

test('a token of another type, or one that would break out of its header, is not used', async () => {
  for (const granted of [
    { access_token: 'a\r\nx-admin: yes' },
    { access_token: 'a b' },
    { access_token: 'a'.repeat(20_000) },
    { token_type: 'mac' },
    { token_type: 'DPoP' },
  ]) {
    const { authority, url, signIn } = await startSite();
    authority.granted = granted;
    await expect(protectedCall(signIn(), url)).rejects.toMatchObject(failed);
  }
});

test('an error holds neither a token nor a code', async () => {
  const { authority, url, signIn } = await startSite();
  authority.granted = {
    access_token: 'very secret token',
    expires_in: 'soon',
    refresh_token: 'very secret too',
  };
  const error = (await protectedCall(signIn(), url).catch((thrown: unknown) => thrown)) as Error;
  const code = authority.at('/token')[0]!.form.get('code')!;
  const { inspect } = await import('node:util');
  const shown = inspect(error, { depth: 20, showHidden: true });
  expect(shown).toContain('sign_in_failed');
  for (const secret of ['very secret', code]) expect(shown).not.toContain(secret);
});

test('an endless or oversized response ends the sign-in', async () => {
  const { authority, url, signIn } = await startSite();
  authority.metadata = { filler: 'x'.repeat(300_000) };
  await expect(protectedCall(signIn(), url)).rejects.toMatchObject(failed);
});

test('a server that always asks for more scopes gets a few attempts at most', async () => {
  const { authority, server, url, signIn } = await startSite();
  let wanted = 0;
  server.answers.set('/mcp', ({ headers }) =>
    headers.authorization === undefined
      ? undefined
      : {
          status: 403,
          headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="more-${++wanted}"` },
        },
  );
  await expect(protectedCall(signIn({ open: visitAndReturn }), url)).rejects.toMatchObject(failed);
  expect(authority.at('/authorize').length).toBeLessThanOrEqual(3);
});
