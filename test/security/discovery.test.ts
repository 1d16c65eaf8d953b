import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { IssuerOptions } from '../../src/auth/issuer.ts';
import { createJwtSignIn } from '../../src/auth/jwt-sign-in.ts';
import type { CredentialSignIn } from '../../src/auth/sign-in.ts';
import { MapIdentities } from './identities.ts';
import { audience, startIssuer, type Issuer } from './issuer.ts';

const OPENID = '/.well-known/openid-configuration';

function signInOf(issuer: Issuer, options: Partial<IssuerOptions> = {}): CredentialSignIn {
  const tenants = new MapIdentities('north');
  return createJwtSignIn({ issuer: issuer.url, audience, tenants, ...options });
}

test('the keys of an issuer are found through its OpenID document', async () => {
  const issuer = await startIssuer();
  issuer.documents.set(OPENID, { issuer: issuer.url, jwks_uri: `${issuer.url}/protocol/certs` });
  expect(await signInOf(issuer).check(await issuer.token())).toMatchObject({ id: 'ada' });
  expect(issuer.asked).toEqual([OPENID, '/protocol/certs']);
});

test('the documents of an issuer with a path are found below it, or as OAuth metadata in front of it', async () => {
  for (const path of [
    '/realms/acme/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server/realms/acme',
  ]) {
    const issuer = await startIssuer();
    const iss = `${issuer.url}/realms/acme`;
    issuer.documents.clear();
    issuer.documents.set(path, { issuer: iss, jwks_uri: `${issuer.url}/certs` });
    const signIn = signInOf(issuer, { issuer: iss });
    expect(await signIn.check(await issuer.token({ iss }))).toMatchObject({ id: 'ada' });
    expect(issuer.asked.slice(-2)).toEqual([path, '/certs']);
  }
});

test('an issuer is the same with and without a slash at its end', async () => {
  const issuer = await startIssuer();
  const iss = `${issuer.url}/`;
  issuer.documents.set(OPENID, { issuer: iss, jwks_uri: `${issuer.url}/certs` });
  const signIn = signInOf(issuer, { issuer: iss });
  expect(await signIn.check(await issuer.token({ iss }))).toMatchObject({ id: 'ada' });
  expect(await signIn.check(await issuer.token())).toBeUndefined();
});

test('the keys of an issuer without documents are found at the usual place', async () => {
  const issuer = await startIssuer();
  issuer.documents.clear();
  expect(await signInOf(issuer).check(await issuer.token())).toMatchObject({ id: 'ada' });
  expect(issuer.asked.at(-1)).toBe('/.well-known/jwks.json');
});

// The keys are correct and where the document says, so that each refusal has the reason of its line.
test.each<[string, (issuer: Issuer) => unknown]>([
  ['is of another issuer', ({ url }) => ({ issuer: 'https://id.evil.example', jwks_uri: `${url}/keys` })],
  ['is of an issuer with a slash more', ({ url }) => ({ issuer: `${url}/`, jwks_uri: `${url}/keys` })],
  ['is of a list of issuers', ({ url }) => ({ issuer: [url], jwks_uri: `${url}/keys` })],
  ['names no issuer', ({ url }) => ({ jwks_uri: `${url}/keys` })],
  ['names no keys', ({ url }) => ({ issuer: url })],
  ['names keys that are no address', ({ url }) => ({ issuer: url, jwks_uri: '/keys' })],
  ['names a list of places', ({ url }) => ({ issuer: url, jwks_uri: [`${url}/keys`] })],
  [
    'names a place with a password',
    ({ url }) => ({ issuer: url, jwks_uri: `${url.replace('://', '://a:b@')}/keys` }),
  ],
  ['names keys in a file', ({ url }) => ({ issuer: url, jwks_uri: 'file:///etc/keys.json' })],
  ['is a list', ({ url }) => [{ issuer: url, jwks_uri: `${url}/keys` }]],
  ['is text', () => '<html>'],
  ['is empty', () => ' '],
])('B2 tokens of an issuer whose OpenID document %s are refused', async (_what, document) => {
  const issuer = await startIssuer();
  issuer.documents.set(OPENID, document(issuer));
  expect(await signInOf(issuer).check(await issuer.token())).toBeUndefined();
  expect(issuer.fetches()).toBe(0);
});

test('B2 control: with a correct document the tokens are accepted', async () => {
  const issuer = await startIssuer();
  issuer.documents.set(OPENID, JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` }));
  expect(await signInOf(issuer).check(await issuer.token())).toMatchObject({ id: 'ada' });
});

/** A host that answers for its own document in some way, and has a good one and good keys elsewhere. */
async function startHost(status: number, keys: readonly object[]): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const http = createServer((request, response) => {
    asked.push(request.url!);
    const origin = `http://${request.headers.host}`;
    if (request.url === OPENID) response.writeHead(status, { location: `${origin}/moved` }).end();
    else response.end(JSON.stringify({ issuer: origin, jwks_uri: `${origin}/keys`, keys }));
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void http.close());
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, asked };
}

test.each<[string, number]>([
  ['leads elsewhere', 302],
  ['fails', 500],
  ['is forbidden', 403],
])(
  'B2 tokens of an issuer whose document %s are refused, and no other place is tried',
  async (_what, status) => {
    const issuer = await startIssuer();
    const host = await startHost(status, [issuer.publicKey]);
    const token = await issuer.token({ iss: host.url });
    expect(await signInOf(issuer, { issuer: host.url }).check(token)).toBeUndefined();
    expect(host.asked).toEqual([OPENID]);
    // Where the operator says where the keys are, no document is asked, so this test can fail.
    const named = signInOf(issuer, { issuer: host.url, jwks: `${host.url}/keys` });
    expect(await named.check(token)).toMatchObject({ id: 'ada' });
  },
);

test.each(['http://127.0.0.1', 'http://localhost'])(
  'B6 a document cannot make this server send requests into its own network, to %s',
  async (origin) => {
    const issuer = await startIssuer();
    const inside = await startIssuer();
    const elsewhere = `${origin}:${new URL(inside.url).port}/keys`;
    inside.publish([issuer.publicKey]);
    issuer.documents.set(OPENID, { issuer: issuer.url, jwks_uri: elsewhere });
    expect(await signInOf(issuer).check(await issuer.token())).toBeUndefined();
    expect(inside.asked).toEqual([]);
    // What the operator names is asked wherever it is, so this test can fail.
    const named = signInOf(issuer, { jwks: `${inside.url}/keys` });
    expect(await named.check(await issuer.token())).toMatchObject({ id: 'ada' });
  },
);

test('an issuer may publish its keys on another public host', async () => {
  const issuer = await startIssuer();
  const asked: string[] = [];
  const signIn = createJwtSignIn({
    issuer: 'https://id.example',
    audience,
    tenants: new MapIdentities('north'),
    async fetch({ href }, { origin }) {
      asked.push(`${href} for ${origin}`);
      const keys = { keys: [issuer.publicKey] };
      const document = { issuer: 'https://id.example', jwks_uri: 'https://keys.example/v3/certs' };
      const text = JSON.stringify(href.endsWith('certs') ? keys : document);
      return { text, maxAgeSeconds: undefined };
    },
  });
  expect(await signIn.check(await issuer.token({ iss: 'https://id.example' }))).toMatchObject({ id: 'ada' });
  expect(asked).toEqual([
    `https://id.example${OPENID} for https://id.example`,
    'https://keys.example/v3/certs for https://id.example',
  ]);
});
