import { expect, test } from 'vitest';
import { runClientScenario } from './client-scenario.ts';
import { listClientScenarios, type ClientScenario } from './suite.ts';

const TOKEN_ENDPOINT = ['token-endpoint-auth-basic', 'token-endpoint-auth-post', 'token-endpoint-auth-none'];
const BOTH = [
  'metadata-default',
  'metadata-var1',
  'metadata-var2',
  'metadata-var3',
  'basic-cimd',
  'scope-from-www-authenticate',
  'scope-from-scopes-supported',
  'scope-omitted-when-undefined',
  'scope-step-up',
  'scope-retry-limit',
  'pre-registration',
  ...TOKEN_ENDPOINT,
];
const NEWEST = [
  'resource-mismatch',
  'offline-access-scope',
  'offline-access-not-supported',
  'authorization-server-migration',
  'metadata-issuer-mismatch',
  'iss-supported',
  'iss-not-advertised',
  'iss-supported-missing',
  'iss-wrong-issuer',
  'iss-unexpected',
  'iss-normalized',
];
const OLDEST = ['2025-03-26-oauth-metadata-backcompat', '2025-03-26-oauth-endpoint-fallback'];
const EXTENSIONS = [
  'client-credentials-jwt',
  'client-credentials-basic',
  'enterprise-managed-authorization',
  'dpop',
  'dpop-nonce',
  'wif-jwt-bearer',
];
// In these a client that goes on would be wrong.
const REFUSED =
  /^(scope-retry-limit|resource-mismatch|metadata-issuer-mismatch|iss-(supported-missing|wrong-issuer|unexpected|normalized))$/;

const all: readonly ClientScenario[] = [
  ...TOKEN_ENDPOINT.map((name) => [name, '2025-06-18'] as const),
  ...BOTH.map((name) => [name, '2025-11-25'] as const),
  ...[...BOTH, ...NEWEST].map((name) => [name, '2026-07-28'] as const),
  ...OLDEST.map((name) => [name, '2025-03-26'] as const),
  ...EXTENSIONS.map((name) => [name, undefined] as const),
];

test('no scenario of signing in of the official suite is left out', async () => {
  const listed = (await listClientScenarios()).filter(([name]) => name.startsWith('auth/'));
  const ours = all.map(([name, revision]) => String([`auth/${name}`, revision]));
  expect(ours.toSorted()).toEqual(listed.map(String).toSorted());
});

test.each(all)(
  'a client signs in as auth/%s of the official suite requires (%s)',
  { timeout: 60_000 },
  async (name, revision) => {
    const command = '--import jiti/register test/conformance/auth-client.ts';
    const { problems, exits } = await runClientScenario(command, `auth/${name}`, revision);
    expect(problems).toEqual([]);
    expect(exits).toBe(REFUSED.test(name) ? '1\n' : '0\n');
  },
);
