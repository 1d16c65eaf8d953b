import { systemClock } from '../base/clock.ts';
import { ToolcribError } from '../base/errors.ts';
import { Client } from './client.ts';
import { HttpFailure } from './errors.ts';
import { HttpTransport, type HttpParts } from './http/http-transport.ts';
import { SseTransport } from './http/sse-transport.ts';
import { ConnectLimit } from './opening/connect-limit.ts';
import { defaultTimeouts, type HttpOptions } from './options.ts';
import type { Transport } from './transport.ts';

// What an old server answers on its own transport says more than its answer on the newer one.
const TELLING: ReadonlySet<string> = new Set(['needs_sign_in', 'sign_in_failed', 'refused']);

/** Connects to a server over HTTP. */
export async function connect(url: string | URL, options: HttpOptions = {}): Promise<Client> {
  const address = readAddress(url);
  checkHeaders(options.headers ?? {});
  const { clock = systemClock, timeouts, transport, protocol = 'auto' } = options;
  const limit = new ConnectLimit(clock, timeouts?.connectMs ?? defaultTimeouts.connectMs);
  const overSse = (): Promise<Client> =>
    openOver(SseTransport, { address, limit, options: oldOptions(options) });
  if (transport === 'sse') return overSse();
  try {
    return await openOver(HttpTransport, { address, limit, options });
  } catch (error) {
    // A server that takes no handshake at this address may be one of the first revision, which takes it elsewhere.
    const mayBeOld = error instanceof HttpFailure && [400, 404, 405].includes(error.status);
    if (!mayBeOld || transport === 'http' || !['auto', 'legacy'].includes(protocol)) throw error;
    return overSse().catch((other: unknown) => {
      throw other instanceof ToolcribError && TELLING.has(other.code) ? other : error;
    });
  }
}

interface Way {
  readonly address: URL;
  readonly options: HttpOptions;
  /** For all ways together. */
  readonly limit: ConnectLimit;
}

async function openOver(
  TransportClass: new (parts: HttpParts) => Transport,
  { address: url, options, limit }: Way,
): Promise<Client> {
  const client = new Client({
    options,
    address: url.href,
    // A slow server is waited for: only its answer says what it speaks.
    probeMs: undefined,
    limit,
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

// One that cannot be sent would look like a connection that fails; its value may be a secret.
function checkHeaders(headers: Readonly<Record<string, string>>): void {
  const odd = Object.entries(headers).find(
    ([name, value]) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value),
  );
  if (odd)
    throw new ToolcribError(
      'invalid_setup',
      `The header ${JSON.stringify(odd[0])} holds a character that cannot be sent, such as the end of a line.`,
    );
}

function readAddress(url: string | URL): URL {
  const address = URL.canParse(String(url)) ? new URL(url) : undefined;
  if (!address || !/^https?:$/.test(address.protocol))
    throw new ToolcribError('invalid_setup', 'A server is reached at an http or https address.');
  if (address.username !== '' || address.password !== '')
    throw new ToolcribError('invalid_setup', 'Put credentials into a header, not into the address.');
  address.hash = '';
  return address;
}
