import { createClientSignIn, type ClientSignIn, type SignInOptions } from 'toolcrib/sign-in';

/** What a scenario tells its client. */
export type ScenarioContext = Readonly<Record<string, string>>;

/** The sign-in a scenario of the suite is about, with a browser that needs no person. */
export async function signInFor(
  scenario: string,
  server: string,
  context: ScenarioContext,
): Promise<ClientSignIn> {
  return createClientSignIn({
    server,
    // The suite wants to see this one and does not serve it.
    clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
    open: visit,
    ...(await optionsOf(scenario, server, context)),
  });
}

async function visit(url: string): Promise<void> {
  const page = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(10_000) });
  await fetch(page.headers.get('location')!, { signal: AbortSignal.timeout(10_000) });
}

async function optionsOf(
  scenario: string,
  server: string,
  context: ScenarioContext,
): Promise<Partial<SignInOptions>> {
  const client = { id: context['client_id']!, secret: context['client_secret']! };
  switch (scenario) {
    case 'auth/pre-registration':
      return { client, issuer: context['issuer']! };
    case 'auth/client-credentials-basic':
      return { client, issuer: await namedIssuer(server), grant: { kind: 'client_credentials' } };
    case 'auth/client-credentials-jwt': {
      const { private_key_pem: privateKey = '', signing_algorithm: algorithm = '' } = context;
      return { client: { id: client.id, privateKey, algorithm }, grant: { kind: 'client_credentials' } };
    }
    case 'auth/wif-jwt-bearer': {
      const assertion = (): string => context['valid_jwt']!;
      const issuer = await namedIssuer(server);
      return { client: { id: client.id }, issuer, grant: { kind: 'workload', assertion } };
    }
    case 'auth/enterprise-managed-authorization': {
      const provider = { tokenEndpoint: context['idp_token_endpoint']!, clientId: context['idp_client_id']! };
      const idToken = (): string => context['idp_id_token']!;
      const issuer = await namedIssuer(server);
      return { client, issuer, grant: { kind: 'enterprise', provider, idToken } };
    }
    default:
      return {};
  }
}

// No secret is sent to an issuer the operator did not name, and these scenarios name none.
async function namedIssuer(server: string): Promise<string> {
  const { origin, pathname } = new URL(server);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const metadata = (await response.json()) as { readonly authorization_servers: readonly [string] };
  return metadata.authorization_servers[0];
}
