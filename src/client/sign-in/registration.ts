import { z } from 'zod';
import { parseJson } from '../../base/parse-json.ts';
import type { KnownClient } from './client-auth.ts';
import { failedStep, quoted, signInFailed } from './failure.ts';
import { isLoopback } from '../../base/loopback.ts';
import type { SignInOutbound } from './outbound.ts';
import type { SignInOptions } from './options.ts';
import type { ServerMetadata } from './server-metadata.ts';
import type { KeptClient, Vault } from './vault.ts';

/** What finding or registering a client takes. */
export interface Registrar {
  readonly options: Pick<SignInOptions, 'client' | 'clientMetadataUrl' | 'clientName'>;
  readonly vault: Vault;
  readonly outbound: SignInOutbound;
  readonly now: number;
}

const NAME = 'Toolcrib';

const answerSchema = z.object({
  client_id: z.string().min(1).max(4_096),
  client_secret: z.string().max(4_096).optional(),
  client_secret_expires_at: z.number().optional(),
  token_endpoint_auth_method: z.string().max(100).optional(),
});

const errorSchema = z.object({ error: z.string(), error_description: z.string().optional() });

/**
 * The client to sign in as: the one registered by hand, else the one with a metadata document, else one that registers
 * itself.
 */
export async function obtainClient(
  server: ServerMetadata,
  redirectUri: string,
  registrar: Registrar,
): Promise<KnownClient> {
  const { options, vault, now } = registrar;
  if (options.client) return options.client;
  if (options.clientMetadataUrl !== undefined && takesDocuments(server))
    return { id: options.clientMetadataUrl, method: 'none' };
  const kept = await vault.client(server.issuer);
  if (kept?.redirectUri === redirectUri && !hasEnded(kept, now)) return kept;
  if (server.registration_endpoint === undefined) {
    throw signInFailed(
      `The authorization server ${server.issuer} lets no client register itself; register one there and give its id.`,
    );
  }
  const client = await register(
    server.registration_endpoint,
    metadataFor(server, redirectUri, options),
    registrar,
  );
  const registered = { ...client, redirectUri };
  await vault.keepClient(server.issuer, registered);
  return registered;
}

/** Whether a client registers itself at an authorization server, and so says itself where the browser comes back to. */
export function registersItself(server: ServerMetadata, options: Registrar['options']): boolean {
  return !options.client && !(options.clientMetadataUrl !== undefined && takesDocuments(server));
}

/** The client that tokens were given to, if it is still known. */
export async function clientOfTokens(
  clientId: string,
  issuer: string,
  { options, vault, now }: Registrar,
): Promise<KnownClient | undefined> {
  if (options.client?.id === clientId) return options.client;
  if (options.clientMetadataUrl === clientId) return { id: clientId, method: 'none' };
  const kept = await vault.client(issuer);
  return kept?.id === clientId && !hasEnded(kept, now) ? kept : undefined;
}

function takesDocuments(server: ServerMetadata): boolean {
  const methods = server.token_endpoint_auth_methods_supported;
  return server.client_id_metadata_document_supported === true && methods?.includes('none') === true;
}

function hasEnded({ expiresAt }: KeptClient, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

function metadataFor(
  server: ServerMetadata,
  redirectUri: string,
  { clientName = NAME }: Registrar['options'],
): Readonly<Record<string, unknown>> {
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const preferred = ['none', 'client_secret_basic', 'client_secret_post'];
  return {
    client_name: clientName,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: preferred.find((method) => methods.includes(method)) ?? 'none',
    application_type: isLoopback(new URL(redirectUri).hostname) ? 'native' : 'web',
  };
}

async function register(
  endpoint: string,
  metadata: Readonly<Record<string, unknown>>,
  { outbound }: Registrar,
): Promise<Omit<KeptClient, 'redirectUri'>> {
  const what = 'The authorization server did not register the client';
  try {
    const response = await outbound.fetch(endpoint, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify(metadata),
    });
    if (response.status === 404 || response.status === 405)
      throw signInFailed(`${what}: ${notThere(endpoint)}`);
    const answer = parseJson(await response.text());
    if (response.status === 201 || response.status === 200) return fromAnswer(answerSchema.parse(answer));
    const { error, error_description } = errorSchema.parse(answer);
    throw signInFailed(`${what}: ${quoted(error, error_description)} Register one there and give its id.`);
  } catch (error) {
    throw failedStep(what, error);
  }
}

// Servers that take keys alone publish nothing, and so do old ones that sign in: only the request can tell.
function notThere(endpoint: string): string {
  const where = new URL(endpoint).href;
  return `${where} is not there. The server may take keys alone: give it one. Else register a client and give its id.`;
}

function fromAnswer(answer: z.infer<typeof answerSchema>): Omit<KeptClient, 'redirectUri'> {
  const { client_secret_expires_at: ends = 0 } = answer;
  return {
    id: answer.client_id,
    secret: answer.client_secret,
    method: answer.token_endpoint_auth_method,
    expiresAt: ends > 0 ? ends * 1_000 : undefined,
  };
}
