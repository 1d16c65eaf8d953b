import { createClientSignIn, type SignInOptions } from 'toolcrib/sign-in';

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const server = process.argv.at(-1)!;
const revision = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] ?? '2025-11-25';
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Readonly<
  Record<string, string>
>;
const clientInfo = { name: 'toolcrib-conformance', version: '1.0.0' };
const isModern = revision >= '2026';

const signIn = createClientSignIn({
  server,
  // The suite wants to see this one and does not serve it.
  clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
  open: visit,
  ...(await optionsOf(process.env['MCP_CONFORMANCE_SCENARIO'] ?? '')),
});

try {
  if (!isModern) {
    await send({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: revision, capabilities: {}, clientInfo },
    });
    await send({ method: 'notifications/initialized' });
  }
  await send({ id: 2, method: 'tools/list', params: {} });
  await send({ id: 3, method: 'tools/call', params: { name: 'test-tool', arguments: {} } });
} catch (error) {
  // The whole stack would hold the line of the bundle.
  console.error(String(error));
  process.exitCode = 1;
} finally {
  await signIn.close();
}

async function send(message: Message, retries = 0): Promise<void> {
  const request = {
    url: server,
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', ...withMeta(message) }),
  };
  const sent = await signIn.headers(request);
  const response = await fetch(server, {
    ...request,
    headers: { ...protocolHeaders(message), ...sent },
    signal: AbortSignal.timeout(10_000),
  });
  await response.text();
  if (response.ok) return;
  if (response.status !== 401 && response.status !== 403) throw new Error(`Status ${response.status}`);
  const outcome = await signIn.challenged({
    status: response.status,
    url: server,
    method: 'POST',
    wwwAuthenticate: response.headers.get('www-authenticate') ?? undefined,
    dpopNonce: response.headers.get('dpop-nonce') ?? undefined,
    sent,
    retries,
  });
  if (outcome !== 'retry') throw new Error(outcome.reason);
  await send(message, retries + 1);
}

function withMeta(message: Message): Message {
  if (!isModern) return message;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': clientInfo,
  };
  return { ...message, params: { ...message.params, _meta } };
}

function protocolHeaders({ method, params }: Message): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(method !== 'initialize' && { 'mcp-protocol-version': revision }),
    ...(isModern && { 'mcp-method': method }),
    ...(isModern && typeof params?.['name'] === 'string' && { 'mcp-name': params['name'] }),
  };
}

/** Signs in as a browser would: goes to the page and on to where it leads. */
async function visit(url: string): Promise<void> {
  const page = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(10_000) });
  await fetch(page.headers.get('location')!, { signal: AbortSignal.timeout(10_000) });
}

async function optionsOf(scenario: string): Promise<Partial<SignInOptions>> {
  const client = { id: context['client_id']!, secret: context['client_secret']! };
  switch (scenario) {
    case 'auth/pre-registration':
      return { client, issuer: context['issuer']! };
    case 'auth/client-credentials-basic':
      return { client, issuer: await namedIssuer(), grant: { kind: 'client_credentials' } };
    case 'auth/client-credentials-jwt':
      return {
        client: {
          id: client.id,
          privateKey: context['private_key_pem']!,
          algorithm: context['signing_algorithm']!,
        },
        grant: { kind: 'client_credentials' },
      };
    case 'auth/wif-jwt-bearer':
      return {
        client: { id: client.id },
        issuer: await namedIssuer(),
        grant: { kind: 'workload', assertion: () => context['valid_jwt']! },
      };
    case 'auth/enterprise-managed-authorization':
      return {
        client,
        issuer: await namedIssuer(),
        grant: {
          kind: 'enterprise',
          provider: {
            tokenEndpoint: context['idp_token_endpoint']!,
            clientId: context['idp_client_id']!,
          },
          idToken: () => context['idp_id_token']!,
        },
      };
    default:
      return {};
  }
}

// No secret is sent to an issuer the operator did not name, and these scenarios name none.
async function namedIssuer(): Promise<string> {
  const { origin, pathname } = new URL(server);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const metadata = (await response.json()) as { readonly authorization_servers: readonly [string] };
  return metadata.authorization_servers[0];
}
