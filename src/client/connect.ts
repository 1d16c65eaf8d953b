import { ToolcribError } from '../base/errors.ts';
import { Client } from './client.ts';
import { HttpFailure } from './errors.ts';
import { HttpTransport, type HttpParts } from './http/http-transport.ts';
import { SseTransport } from './http/sse-transport.ts';
import type { HttpOptions } from './options.ts';
import type { Transport } from './transport.ts';

/** Connects to a server over HTTP. */
export async function connect(url: string | URL, options: HttpOptions = {}): Promise<Client> {
  const address = readAddress(url);
  if (options.transport === 'sse') return openOver(address, oldOptions(options), SseTransport);
  try {
    return await openOver(address, options, HttpTransport);
  } catch (error) {
    // A server that takes no handshake at this address may be one of the first revision, which takes it elsewhere.
    const mayBeOld = error instanceof HttpFailure && [400, 404, 405].includes(error.status);
    if (
      !mayBeOld ||
      options.transport === 'http' ||
      !['auto', 'legacy', undefined].includes(options.protocol)
    )
      throw error;
    return openOver(address, oldOptions(options), SseTransport).catch(() => {
      throw error;
    });
  }
}

async function openOver(
  url: URL,
  options: HttpOptions,
  TransportClass: new (parts: HttpParts) => Transport,
): Promise<Client> {
  const client = new Client({
    options,
    address: url.href,
    // A slow server is waited for: only its answer says what it speaks.
    probeMs: undefined,
    transport: (needs) => new TransportClass({ url, options, ...needs }),
  });
  await client.open();
  return client;
}

// This transport came and went with the handshake.
function oldOptions(options: HttpOptions): HttpOptions {
  const { protocol = 'auto' } = options;
  return protocol === 'auto' || protocol === 'modern' ? { ...options, protocol: 'legacy' } : options;
}

function readAddress(url: string | URL): URL {
  const address = URL.canParse(String(url)) ? new URL(url) : undefined;
  if (!address || !/^https?:$/.test(address.protocol))
    throw new ToolcribError('invalid_setup', 'A server is reached at an http or https address.');
  if (address.username !== '' || address.password !== '')
    throw new ToolcribError('invalid_setup', 'Put credentials into "headers", not into the address.');
  address.hash = '';
  return address;
}
