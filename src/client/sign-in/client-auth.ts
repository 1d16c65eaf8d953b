import { importPKCS8, type CryptoKey } from 'jose';
import { ClientSecretPost, None, PrivateKeyJwt, type ClientAuth } from 'oauth4webapi';
import { signInFailed } from './failure.ts';
import type { ServerMetadata } from './server-metadata.ts';

/** A client the authorization server knows, with what it proves itself by. */
export interface KnownClient {
  readonly id: string;
  readonly secret?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly algorithm?: string | undefined;
  /** How it was registered to prove itself, if that was said. */
  readonly method?: string | undefined;
}

/**
 * How a client proves itself at the token endpoint: as it was registered, else by the best way the server and the
 * client both have.
 */
export async function clientAuth(client: KnownClient, server: ServerMetadata): Promise<ClientAuth> {
  const method = methodFor(client, server);
  switch (method) {
    case 'private_key_jwt':
      return PrivateKeyJwt(await readKey(client));
    case 'client_secret_basic':
      return basic(client);
    case 'client_secret_post':
      return ClientSecretPost(client.secret!);
    default:
      return None();
  }
}

function methodFor(client: KnownClient, server: ServerMetadata): string {
  // RFC 8414: a server that lists no methods takes the secret in the header.
  const offered = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const possible = [
    ...(client.privateKey === undefined ? [] : ['private_key_jwt']),
    ...(client.secret === undefined ? [] : ['client_secret_basic', 'client_secret_post']),
    'none',
  ];
  if (client.method !== undefined && possible.includes(client.method)) return client.method;
  const method = possible.find((each) => offered.includes(each));
  if (method !== undefined) return method;
  if (possible.length === 1) return 'none';
  throw signInFailed(
    `The authorization server takes none of the client's proofs; it takes ${offered.join(', ').slice(0, 200)}.`,
  );
}

async function readKey({ privateKey, algorithm }: KnownClient): Promise<CryptoKey> {
  try {
    return await importPKCS8(privateKey ?? '', algorithm ?? 'ES256');
  } catch {
    throw signInFailed(
      "The client's private key cannot be read; give it as PEM (PKCS 8), with its algorithm.",
    );
  }
}

// RFC 6749, appendix B, with no more escapes than it asks for: many servers do not undo them.
function basic({ id, secret = '' }: KnownClient): ClientAuth {
  return (...[, , , headers]) => {
    const pair = [id, secret].map(formEncode).join(':');
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
  };
}

function formEncode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
